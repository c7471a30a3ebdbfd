/*
 * What the host does in a scenario, command by command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "draw.h"
#include "scenario.h"
#include "schemes.h"

#include <stdlib.h>
#include <string.h>

#define MOST_KINDS 3
#define TRIES 6
#define MOST_RELOADS 4 /* each may be followed by the rest of it, twice */

/* What a stretch of commands is like: few features, and those much. */
typedef struct {
    unsigned share[SCARP_OP__COUNT];
    uint32_t first, sectors;  /* where */
    uint32_t align;           /* sectors; 1: anywhere */
    uint32_t most, trim;      /* sectors of a command; of a deallocation */
    bool in_order, down;
    unsigned fua, late;       /* percent */
    int64_t soonest_ns, latest_ns; /* after its arrival: a deadline */
    uint32_t streams;
    unsigned hot;             /* percent to a tenth of it */
    bool exact;               /* each as large as most */
    int64_t gap_ns;
    unsigned burst;           /* commands without a gap */
    uint32_t at;              /* in_order: the next */
    /* Jobs beside a load (has_jobs()). */
    uint32_t stride, cold, load; /* units of a job: cold modulo stride */
    unsigned lanes, jobs;       /* jobs; percent of the commands */
    unsigned job_reads, reads;  /* percent of theirs; of the load's */
} Stretch;

typedef struct {
    Draw *draw;
    Scenario *s;
    uint32_t sectors, unit, streams; /* of the drive */
    const Theme *theme;
    /* Between stretches: few kinds of steps, and those often. */
    StepKind kind[MOST_KINDS];
    unsigned n_kinds, reloads;
    char *scheme[MOST_KINDS]; /* that are switched to, one after the other */
    unsigned n_schemes;
} Writer;

static void draw_shares(Draw *d, Stretch *x)
{
    static const unsigned writes[] = { 100, 100, 90, 70, 50, 10 };
    unsigned left = 100;

    memset(x->share, 0, sizeof(x->share));
    x->share[SCARP_OP_WRITE] = writes[draw_below(d, G_N_ELEMENTS(writes))];
    left -= x->share[SCARP_OP_WRITE];
    if (draw_chance(d, 30)) {
        x->share[SCARP_OP_FLUSH] = DRAW_OF(d, 1, 10, 40);
    }
    if (draw_chance(d, 30)) {
        x->share[SCARP_OP_DEALLOCATE] = DRAW_OF(d, 1, 10, 60);
    }
    if (draw_chance(d, 20)) {
        x->share[SCARP_OP_WRITE_ZEROES] = DRAW_OF(d, 1, 10, 60);
    }
    x->share[SCARP_OP_READ] = left;
}

static void draw_stretch(Writer *w, Stretch *x)
{
    Draw *d = w->draw;
    uint32_t unit = w->unit;

    memset(x, 0, sizeof(*x));
    draw_shares(d, x);
    x->sectors = draw_chance(d, 60) ? w->sectors
                                    : draw_scale(d, 1, w->sectors);
    x->align = draw_chance(d, 50) ? unit : DRAW_OF(d, 1, 1, 2, 4 * unit);
    x->most = draw_chance(d, 50) ? unit
                                 : DRAW_OF(d, 1, unit + 1, 2 * unit, 4 * unit,
                                           16 * unit, 64 * unit);
    x->most = MIN(x->most, MOST_SECTORS / 4);
    x->trim = draw_chance(d, 70) ? x->most
                                 : MAX(x->sectors / DRAW_OF(d, 1, 4, 16), 1);
    if (draw_chance(d, 20)) { /* one upon the other, in flight */
        x->sectors = MIN(x->most * DRAW_OF(d, 1, 2, 4), w->sectors);
    }
    x->first = draw_below(d, w->sectors - x->sectors + 1);
    x->in_order = draw_chance(d, 15);
    x->fua = draw_chance(d, 30) ? DRAW_OF(d, 2, 30, 100) : 0;
    x->late = draw_chance(d, 25) ? DRAW_OF(d, 5, 50, 100) : 0;
    x->soonest_ns = 1;
    x->latest_ns = 2000000000;
    x->streams = draw_chance(d, 70) ? w->streams : 1;
    x->hot = draw_chance(d, 25) ? DRAW_OF(d, 50, 80, 95) : 0;
    x->exact = draw_chance(d, 40);
    x->gap_ns = draw_chance(d, 40) ? draw_scale(d, 1, 100000000) : 0;
    x->burst = draw_chance(d, 50) ? draw_scale(d, 1, 64) : 1;
}

/* What the theme wants of it. */
static void adapt(Writer *w, Stretch *x)
{
    Draw *d = w->draw;
    unsigned *share = x->share;

    switch (w->theme->host) {
    case HOST_PARTS:
        memset(share, 0, sizeof(x->share));
        share[SCARP_OP_WRITE] = 100;
        x->align = x->most = w->unit;
        x->exact = x->in_order = true;
        x->down = draw_chance(d, 40);
        x->streams = 1;
        break;
    case HOST_READS:
        share[SCARP_OP_READ] = share[SCARP_OP_WRITE] = 100;
        x->most = w->unit;
        break;
    case HOST_UNITS:
        share[SCARP_OP_WRITE] = 100;
        share[SCARP_OP_READ] = DRAW_OF(d, 0, 50, 100);
        x->first = 0;
        x->sectors = w->sectors;
        x->align = x->most = w->unit;
        x->in_order = false;
        x->gap_ns = 0;
        break;
    case HOST_FORCED:
        share[SCARP_OP_WRITE] = share[SCARP_OP_DEALLOCATE] = 100;
        x->sectors = MIN(w->sectors - x->first, 64 * w->unit);
        x->align = w->unit;
        x->most = 32 * w->unit;
        x->exact = x->in_order = false;
        x->gap_ns = 0;
        x->fua = 70;
        break;
    case HOST_LATE:
        memset(share, 0, sizeof(x->share));
        if (draw_chance(d, 50)) {
            share[SCARP_OP_WRITE] = 100;
        } else {
            share[SCARP_OP_WRITE] = 5;
            share[SCARP_OP_READ] = 100;
            share[SCARP_OP_DEALLOCATE] = DRAW_OF(d, 20, 60);
        }
        x->first = 0;
        x->sectors = w->sectors;
        x->align = w->unit;
        x->most = DRAW_OF(d, 1, 4) * w->unit;
        x->trim = w->sectors / DRAW_OF(d, 16, 64) + 1;
        x->hot = 0;
        x->late = DRAW_OF(d, 30, 60, 100);
        x->soonest_ns = 100000;
        x->latest_ns = 10000000;
        break;
    case HOST_READING:
        memset(share, 0, sizeof(x->share));
        share[SCARP_OP_READ] = 100;
        share[SCARP_OP_WRITE] = DRAW_OF(d, 1, 1, 5);
        x->first = 0;
        x->sectors = x->most = w->sectors;
        x->exact = x->in_order = false;
        x->gap_ns = 0;
        x->late = 0;
        break;
    case HOST_TURNS:
        memset(share, 0, sizeof(x->share));
        share[draw_chance(d, 40) ? SCARP_OP_READ : SCARP_OP_WRITE] = 100;
        x->first = 0;
        x->sectors = w->sectors;
        x->align = w->unit;
        x->most = share[SCARP_OP_READ] ? w->unit : 32 * w->unit;
        x->exact = x->in_order = false;
        x->gap_ns = 0;
        x->fua = x->late = 0;
        break;
    case HOST_TRIMS:
        memset(share, 0, sizeof(x->share));
        share[SCARP_OP_WRITE] = 100;
        share[SCARP_OP_DEALLOCATE] = DRAW_OF(d, 300, 1000, 10000);
        x->first = 0;
        x->sectors = w->sectors;
        x->align = x->most = w->unit;
        x->trim = DRAW_OF(d, 1, 4, 64, 512) * w->unit;
        x->exact = true;
        x->in_order = false;
        x->gap_ns = 0;
        break;
    case HOST_OVER:
        share[SCARP_OP_READ] = share[SCARP_OP_WRITE] = 100;
        share[SCARP_OP_DEALLOCATE] = DRAW_OF(d, 0, 20, 60);
        x->align = x->most = w->unit;
        x->hot = 80;
        x->fua = DRAW_OF(d, 0, 30, 60);
        break;
    default:
        break;
    }
}

static void put(Writer *w, Step step)
{
    g_array_append_val(w->s->steps, step);
}

static uint64_t number(const Writer *w, const char *key, uint64_t fallback)
{
    const char *text = scenario_key(w->s, key);

    return text ? strtoull(text, NULL, 10) : fallback;
}

static bool has_jobs(const Writer *w)
{
    return w->theme && w->theme->host >= HOST_SPLIT;
}

/*
 * Units go to dies and planes in turn, whatever the mapping.  Those of the
 * jobs lie in one, those of the load in another one, in all others, or in all.
 */
static void draw_jobs(Writer *w, Stretch *x)
{
    Draw *d = w->draw;
    uint32_t dies = number(w, "geometry.channels", 1) *
                    number(w, "geometry.chips_per_channel", 1) *
                    number(w, "geometry.dies_per_chip", 1);
    uint32_t planes = number(w, "geometry.planes_per_die", 1);
    uint32_t entries = number(w, "ftl.map_cache_bytes", 128) / 8;

    x->streams = 1;
    x->at = 0;
    x->lanes = DRAW_OF(d, 1, 1, 2, 5);
    x->jobs = DRAW_OF(d, 5, 10, 30);
    x->job_reads = DRAW_OF(d, 0, 0, 50);
    x->reads = DRAW_OF(d, 0, 0, 50, 90, 100, 100);
    x->stride = DRAW_OF(d, MAX(dies, 2), MAX(planes, 2),
                        MAX(dies * planes, 2));
    x->cold = draw_chance(d, 75) ? DRAW_OF(d, 0, x->stride - 1)
                                 : draw_below(d, x->stride);
    x->load = draw_chance(d, 40) ? x->stride
                                 : draw_below(d, x->stride + 2);
    switch (w->theme->host) {
    case HOST_AGAIN:
        x->lanes = 3;
        x->jobs = 60;
        x->job_reads = DRAW_OF(d, 0, 50, 100);
        break;
    case HOST_ONE:
        x->job_reads = x->reads = 0;
        x->load = DRAW_OF(d, 1, 1, 2, 8);
        break;
    case HOST_ENTRIES:
        x->load = DRAW_OF(d, entries, entries, entries + 1, 2 * entries);
        x->stride = MAX(w->sectors / w->unit / x->load, 1);
        x->in_order = draw_chance(d, 70);
        x->reads = DRAW_OF(d, 0, 0, 50);
        break;
    default:
        break;
    }
}

/* Of the host whose load is split. */
static uint32_t split_unit(Writer *w, const Stretch *x, bool job)
{
    Draw *d = w->draw;
    uint32_t units = w->sectors / w->unit;
    uint32_t unit = draw_below(d, MAX(units / x->stride, 1)) * x->stride;

    if (job) {
        return unit + x->cold;
    }
    if (x->load < x->stride) {
        return unit + x->load;
    }
    unit += draw_below(d, x->stride);
    if (x->load == x->stride && unit % x->stride == x->cold) {
        unit++;
    }
    return unit;
}

static void draw_of_job(Writer *w, Stretch *x)
{
    Draw *d = w->draw;
    bool job = draw_chance(d, x->jobs);
    bool read = draw_chance(d, job ? x->job_reads : x->reads);
    Step step = { .lane = job ? draw_from(d, 1, x->lanes) : 0,
                  .sectors = w->unit };
    uint32_t unit = draw_below(d, w->sectors / w->unit);

    switch (w->theme->host) {
    case HOST_AGAIN:
        /* Most of a job is the one that writes; the last one waits. */
        if (step.lane) {
            unit = x->cold;
            step.lane = draw_chance(d, 70) ? 1 : step.lane;
            read = step.lane > 1 && read;
            if (step.lane == x->lanes && !read) {
                step.sectors = MAX(w->unit / 2, 1);
            }
        } else {
            read = true;
        }
        break;
    case HOST_ONE:
        if (!job) {
            unit = x->cold + draw_below(d, x->load);
        }
        break;
    case HOST_ENTRIES:
        if (!job) {
            unit = (x->in_order ? x->at++ % x->load : draw_below(d, x->load)) *
                   x->stride;
        }
        break;
    default:
        unit = split_unit(w, x, job);
        break;
    }
    step.kind = read ? SCARP_OP_READ : SCARP_OP_WRITE;
    step.sector = unit % (w->sectors / w->unit) * w->unit;
    put(w, step);
}

static void draw_pace(Writer *w, const Stretch *x)
{
    Draw *d = w->draw;
    Step pace = { .kind = STEP_PACE };

    pace.sector = DRAW_OF(d, 1, 1, 2, 4, 8, 16, 64, 200);
    if (w->theme) {
        pace.sector = MAX(pace.sector, w->theme->depth);
    }
    if (has_jobs(w)) {
        /* The bound for a command's age grows with what is in flight. */
        pace.sector = DRAW_OF(d, 1, 1, 2, 4) * w->theme->depth;
        put(w, pace);
        return;
    }
    if (x->gap_ns && draw_chance(d, 40)) {
        pace.open = true;
        pace.sector = MOST_DEPTH;
    }
    put(w, pace);
}

static ScarpOp draw_op(Draw *d, const Stretch *x)
{
    unsigned sum = 0, at;

    for (int i = 0; i < SCARP_OP__COUNT; i++) {
        sum += x->share[i];
    }
    at = draw_below(d, sum);
    for (int i = 0; i < SCARP_OP__COUNT; i++) {
        if (at < x->share[i]) {
            return i;
        }
        at -= x->share[i];
    }
    g_assert_not_reached();
}

static void draw_command(Writer *w, Stretch *x, unsigned number)
{
    Draw *d = w->draw;
    Step step = { .kind = (uint8_t)draw_op(d, x) };
    uint32_t range = x->hot && draw_chance(d, x->hot)
                         ? MAX(x->sectors / 10, 1) : x->sectors;

    step.sectors = step.kind == (StepKind)SCARP_OP_DEALLOCATE ? x->trim
                                                              : x->most;
    if (!x->exact) {
        step.sectors = draw_from(d, 1, step.sectors);
    }
    if (x->align > 1) {
        step.sectors = (step.sectors + x->align - 1) / x->align * x->align;
    }
    step.sector = x->in_order ? x->at : draw_below(d, range);
    step.sector -= step.sector % x->align;
    step.sector += x->first;
    if (x->in_order) {
        x->at = (x->at + (x->down ? x->sectors - step.sectors % x->sectors
                                  : step.sectors)) % x->sectors;
    }
    step.sector %= w->sectors;
    step.sectors = MIN(step.sectors, w->sectors - step.sector);
    step.fua = draw_chance(d, x->fua);
    step.stream = draw_below(d, x->streams);
    step.gap_ns = x->gap_ns && number % x->burst == 0
                      ? (int64_t)draw_below(d, 2 * x->gap_ns) + 1 : 0;
    if (draw_chance(d, x->late)) {
        step.deadline_ns = draw_scale(d, x->soonest_ns, x->latest_ns);
    }
    put(w, step);
}

static uint32_t add_text(Scenario *s, char *text)
{
    g_ptr_array_add(s->texts, text);
    return s->texts->len - 1;
}

static char *scheme_text(const char *scheme, const char *params)
{
    return g_strdup_printf("%s %s", scheme, params ? params : "-");
}

/* Mostly one that the drive accepts. */
static char *new_scheme(Writer *w)
{
    const Scenario *s = w->s;

    for (int i = 0;; i++) {
        g_autofree char *scheme = NULL;
        g_autofree char *params = NULL;
        ScarpDrive *drive;

        schemes_draw(w->draw, &scheme, &params);
        drive = scenario_build(s, NULL, scheme, params, s->seed, NULL, NULL);
        if (drive) {
            scarp_drive_free(drive);
        }
        if (drive || i == TRIES) {
            return scheme_text(scheme, params);
        }
    }
}

/* Mostly one that was there before: back and forth. */
static char *other_scheme(Writer *w)
{
    Draw *d = w->draw;

    if (!w->n_schemes || draw_chance(d, 30)) {
        return new_scheme(w);
    }
    return g_strdup(w->scheme[draw_below(d, w->n_schemes)]);
}

/* What an image may be loaded with. */
static char *other_keys(Draw *d)
{
    static const char *const keys[] = {
        "nand.multiplane=1", "nand.cache=1", "nand.copyback=1",
        "nand.suspend_program=1", "nand.suspend_erase=1",
        "timing.erase_ns=1000", "timing.program_ns=20000", "timing.read_ns=0",
        "controller.buffer_bytes=65536", "controller.buffer_bytes=0",
        "controller.slots=2", "controller.queue=2", "controller.reads_first=0",
        "controller.reads_first_limit=1",
        "gc.separate_active_block=0", "gc.separate_active_block=1",
        "gc.trigger_free_blocks=1", "gc.trigger_free_blocks=2",
        "gc.background_free_blocks=8", "gc.wear_spread_erases=1",
        "gc.after_reads=1", "ftl.allocation=dynamic", "ftl.allocation=cwdp",
        "ftl.allocation=pdwc", "ftl.map_cache_bytes=128",
        "ftl.map_cache_bytes=65536", "ftl.log_blocks=1", "ftl.log_blocks=2",
        "ftl.streams=2", "ftl.parity_stripes=2", "nand.endurance_erases=3",
        "ftl.mapping=page", "ftl.mapping=demand",
    };
    GString *text = g_string_new(NULL);

    for (unsigned n = draw_below(d, 4); n; n--) {
        g_string_append_printf(text, "%s%s", text->len ? "," : "",
                               keys[draw_below(d, G_N_ELEMENTS(keys))]);
    }
    if (!text->len) {
        g_string_append_c(text, '-');
    }
    return g_string_free(text, false);
}

/* What the theme wants between two stretches: a few steps. */
static void put_between(Writer *w)
{
    g_autofree char *text = theme_pick(w->draw, w->theme->between);
    g_auto(GStrv) steps = g_strsplit(text, ";", -1);

    for (char **step = steps; *step; step++) {
        if (!strcmp(*step, "scheme")) {
            g_autofree char *its = other_scheme(w);
            g_autofree char *line = g_strdup_printf("scheme %s", its);

            scenario_add_step(w->s, line);
        } else if (!g_str_has_prefix(*step, "reload ") ||
                   w->reloads++ < MOST_RELOADS) {
            bool is_step = scenario_add_step(w->s, *step);

            g_assert_true(is_step);
        }
    }
}

static void draw_kinds(Writer *w)
{
    static const StepKind kinds[] = {
        STEP_SCHEME, STEP_SCHEME, STEP_RELOAD, STEP_DRAIN, STEP_COLLECT,
        STEP_HOLD, STEP_RESET, STEP_IDLE,
    };
    Draw *d = w->draw;

    w->n_kinds = draw_from(d, 1, MOST_KINDS);
    for (unsigned i = 0; i < w->n_kinds; i++) {
        w->kind[i] = kinds[draw_below(d, G_N_ELEMENTS(kinds))];
    }
    if (scenario_key(w->s, "nand.power_cuts")) {
        w->kind[0] = STEP_POWER_CUT;
    }
    w->n_schemes = draw_from(d, 1, MOST_KINDS);
    w->scheme[0] = scheme_text(w->s->scheme, w->s->params);
    for (unsigned i = 1; i < w->n_schemes; i++) {
        w->scheme[i] = new_scheme(w);
    }
}

static void draw_reload(Writer *w, Step *step)
{
    Draw *d = w->draw;
    g_autofree char *keys = other_keys(d);
    g_autofree char *scheme = draw_chance(d, 50) ? g_strdup("- -")
                                                 : other_scheme(w);

    if (w->reloads++ >= MOST_RELOADS) {
        step->kind = STEP_DRAIN;
    } else if (draw_chance(d, 50)) { /* as it is: the same future */
        step->text = add_text(w->s, g_strdup("- - - -"));
    } else {
        step->text = add_text(w->s, g_strdup_printf(
            "%s %s %s", scheme, draw_chance(d, 50) ? "-" : "77", keys));
    }
}

/* Between two stretches. */
static void draw_other(Writer *w)
{
    Draw *d = w->draw;
    Step step = { .kind = w->kind[draw_below(d, w->n_kinds)] };

    switch (step.kind) {
    case STEP_SCHEME:
        step.text = add_text(w->s, other_scheme(w));
        break;
    case STEP_RELOAD:
        draw_reload(w, &step);
        break;
    case STEP_POWER_CUT:
        step.sectors = draw_scale(d, 1, 400) - 1;
        if (draw_chance(d, 25)) {
            step.stream = draw_from(d, 1, 3);
            step.sector = draw_scale(d, 1, 400) - 1;
        }
        break;
    case STEP_COLLECT:
        step.sectors = DRAW_OF(d, 1, 2, 3, 8, 1000000);
        break;
    case STEP_HOLD:
    case STEP_IDLE:
        step.gap_ns = draw_scale(d, 1, 10000000000);
        break;
    default:
        break;
    }
    put(w, step);
}

/*
 * The host closes reclaim units behind some of its writes. The draw is one of
 * its own, so the other steps are those of a drive without such units.
 */
static void add_closes(Scenario *s, uint64_t streams)
{
    Draw own = { .state = s->seed * 1000003 + s->steps->len };
    unsigned percent = DRAW_OF(&own, 0, 0, 1, 5, 20);
    GArray *steps = g_array_new(false, true, sizeof(Step));

    for (guint i = 0; i < s->steps->len; i++) {
        const Step *step = &g_array_index(s->steps, Step, i);

        g_array_append_val(steps, *step);
        if (step->kind == (StepKind)SCARP_OP_WRITE &&
            draw_chance(&own, percent)) {
            Step close = { .kind = STEP_CLOSE,
                           .stream = draw_chance(&own, 70)
                               ? step->stream : draw_below(&own, streams) };

            g_array_append_val(steps, close);
        }
    }
    g_array_unref(s->steps);
    s->steps = steps;
}

void scenario_draw_steps(Scenario *s, const ScarpDrive *drive, Draw *d,
                         const Theme *theme)
{
    Writer w = { .draw = d, .s = s, .theme = theme,
                 .sectors = scarp_drive_logical_bytes(drive) / SECTOR,
                 .unit = scarp_drive_unit_bytes(drive) / SECTOR,
                 .streams = scarp_drive_streams(drive) };
    bool others = draw_chance(d, 60) || scenario_key(s, "nand.power_cuts");
    unsigned stretches = others ? DRAW_OF(d, 2, 3, 5, 8, 13, 30)
                                : DRAW_OF(d, 1, 1, 2, 3, 5, 8);
    unsigned commands = DRAW_OF(d, 100, 300, 350, 400, 600, 1000);

    if (others) {
        draw_kinds(&w);
    }
    if (theme) {
        commands = MAX(commands, theme->commands);
        if (theme->between) {
            stretches = MAX(stretches, DRAW_OF(d, 6, 6, 30));
        }
        if (has_jobs(&w)) {
            stretches = MIN(stretches, DRAW_OF(d, 1, 1, 2));
        }
    }
    for (unsigned i = 0; i < stretches; i++) {
        Stretch x;
        unsigned n = MAX(commands / stretches, 8);

        if (i && others) {
            for (unsigned k = draw_from(d, 1, 2); k; k--) {
                draw_other(&w);
            }
        }
        if (i && theme && theme->between) {
            put_between(&w);
        }
        draw_stretch(&w, &x);
        if (theme) {
            adapt(&w, &x);
        }
        if (has_jobs(&w)) {
            draw_jobs(&w, &x);
        }
        draw_pace(&w, &x);
        for (unsigned k = 0; k < n; k++) {
            if (has_jobs(&w)) {
                draw_of_job(&w, &x);
            } else {
                draw_command(&w, &x, k);
            }
        }
    }
    if (scarp_unit_stats(drive)) {
        add_closes(s, w.streams);
    }
    for (unsigned i = 0; i < w.n_schemes; i++) {
        g_free(w.scheme[i]);
    }
}
