/*
 * A scenario, step by step, under the laws that any drive keeps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "run.h"
#include "bound.h"
#include "laws.h"
#include "model.h"
#include "schemes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    ScarpCmd cmd;
    uint8_t *data;
    uint64_t room; /* bytes at data */
    int64_t submit_ns;
    uint64_t number;
} Slot;

typedef struct {
    const Scenario *s;
    ScarpDrive *drive;
    Model *model;
    RunResult *result;
    GPtrArray *idle, *all; /* Slot */
    uint32_t in_flight, depth;
    bool open;
    int64_t submitted_ns, completed_ns;
    int64_t held_ns; /* until then no collection begins by itself */
    Bound bound;
    int64_t waits_ns;    /* a policy's own, and deadlines: the longest */
    int64_t progress_ns; /* when something completed, or was idle, last */
    uint64_t outstanding_sectors;
    uint64_t outstanding_units, units, block_units;
    uint64_t steps_left; /* until something must have come of them */
    uint32_t drives;     /* loaded from images */
    bool switched;       /* it is not as the scenario says any more */
    bool is_twin;        /* only there to be compared with another one */
    bool ended;          /* every step has been made */
    Own own;
} Run;

static bool run_steps(Run *r, guint from, GError **error);

static bool fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool fail(GError **error, const char *format, ...)
{
    va_list arguments;
    g_autofree char *text = NULL;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, SCARP_ERROR, SCARP_ERROR_VALUE, text);
    return false;
}

/* Far more than the whole drive, collected several times over, needs. */
static void set_limit(Run *r)
{
    r->steps_left = 200000 + 100 * r->units +
                    100 * MIN(r->outstanding_units, 10000) * r->block_units;
}

static void know_size(Run *r)
{
    const char *pages = scenario_key(r->s, "geometry.pages_per_block");
    const char *bytes = scenario_key(r->s, "geometry.page_bytes");

    r->units = scarp_drive_logical_bytes(r->drive) /
               scarp_drive_unit_bytes(r->drive);
    r->block_units = (pages ? strtoull(pages, NULL, 10) : 4) *
                     (bytes ? strtoull(bytes, NULL, 10) : SECTOR) /
                     scarp_drive_unit_bytes(r->drive);
    bound_know(&r->bound, r->s, scarp_drive_logical_bytes(r->drive));
    r->waits_ns += schemes_waits_ns(r->s->scheme, r->s->params);
    set_limit(r);
}

/* Whether something should have completed by then. */
static bool check_progress(const Run *r, int64_t ns, GError **error)
{
    int64_t limit_ns = bound_ns(&r->bound, r->in_flight,
                                r->outstanding_sectors) + 2 * r->waits_ns;

    if (r->in_flight && ns - r->progress_ns > limit_ns) {
        return fail(error, "late: nothing has completed for %" G_GINT64_FORMAT
                    " ns, of %u commands with %" G_GUINT64_FORMAT " sectors; "
                    "at most %" G_GINT64_FORMAT, ns - r->progress_ns,
                    r->in_flight, r->outstanding_sectors, limit_ns);
    }
    return true;
}

static void keep_row(Run *r, const ScarpCmd *cmd)
{
    const Slot *slot = cmd->opaque;
    GArray *rows = r->result->rows;
    Row *row;

    if (rows->len <= slot->number) {
        g_array_set_size(rows, slot->number + 1);
    }
    row = &g_array_index(rows, Row, slot->number);
    row->drive = r->drives;
    row->submit_ns = cmd->submit_ns;
    row->latency_ns = cmd->complete_ns - cmd->submit_ns;
    memcpy(row->cause_ns, cmd->cause_ns, sizeof(row->cause_ns));
}

static bool check_done(Run *r, ScarpCmd *cmd, GError **error)
{
    const Slot *slot = cmd->opaque;

    return laws_command(cmd, slot->submit_ns, r->completed_ns,
                        scarp_now_ns(r->drive), error) &&
           (!r->s->store || model_done(r->model, cmd, error));
}

static bool reap(Run *r, GError **error)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(r->drive))) {
        if (!check_done(r, cmd, error)) {
            return false;
        }
        if (r->result->rows && !r->ended) {
            keep_row(r, cmd);
        }
        r->completed_ns = r->progress_ns = cmd->complete_ns;
        r->outstanding_sectors -= cmd->length_bytes / SECTOR;
        r->own.completed++;
        r->in_flight--;
        r->outstanding_units -= cmd->length_bytes /
                                scarp_drive_unit_bytes(r->drive) + 2;
        g_ptr_array_add(r->idle, cmd->opaque);
        set_limit(r);
    }
    return true;
}

/* The next moment at which something happens; false: there is none. */
static bool step(Run *r, bool *happened, GError **error)
{
    int64_t next_ns = scarp_next_event_ns(r->drive);

    *happened = next_ns != SCARP_TIME_NEVER;
    if (!*happened) {
        return true;
    }
    if (!r->steps_left--) {
        return fail(error, "%s", r->in_flight
                    ? "an endless run: nothing completes any more"
                    : "an endless run: nothing is outstanding");
    }
    if (!check_progress(r, next_ns, error)) {
        return false;
    }
    r->result->events++;
    scarp_run(r->drive, next_ns);
    return reap(r, error);
}

static bool run_until(Run *r, int64_t ns, GError **error)
{
    bool happened = true;

    ns = MIN(ns, SCARP_TIME_LAST);
    while (happened && scarp_next_event_ns(r->drive) <= ns) {
        if (!step(r, &happened, error)) {
            return false;
        }
    }
    if (ns > scarp_now_ns(r->drive)) {
        scarp_run(r->drive, ns);
    }
    return reap(r, error);
}

static bool stuck(Run *r, GError **error)
{
    g_autoptr(GError) why = NULL;

    scarp_quiescent(r->drive, &why);
    return fail(error, "stuck: no event is pending, %s",
                why ? why->message : "yet the drive says that it is at rest");
}

static bool wait_for_room(Run *r, uint32_t depth, GError **error)
{
    bool happened;

    while (r->in_flight >= depth) {
        if (!step(r, &happened, error)) {
            return false;
        }
        if (!happened && r->in_flight >= depth) {
            return stuck(r, error);
        }
    }
    return true;
}

static Slot *take_slot(Run *r, uint64_t bytes)
{
    Slot *slot;

    if (r->idle->len) {
        slot = g_ptr_array_steal_index_fast(r->idle, r->idle->len - 1);
    } else {
        slot = g_new0(Slot, 1);
        g_ptr_array_add(r->all, slot);
    }
    if (slot->room < bytes && r->s->store) {
        g_free(slot->data);
        slot->data = g_malloc0(bytes);
        slot->room = bytes;
    }
    memset(&slot->cmd, 0, sizeof(slot->cmd));
    slot->cmd.opaque = slot;
    slot->cmd.data = r->s->store ? slot->data : NULL;
    return slot;
}

static bool submit(Run *r, const Step *step, GError **error)
{
    uint64_t sectors = scarp_drive_logical_bytes(r->drive) / SECTOR;
    uint64_t first = step->sector % sectors;
    uint64_t n = MIN(MIN(step->sectors, MOST_SECTORS), sectors - first);
    int64_t now_ns = scarp_now_ns(r->drive);
    ScarpCmd *cmd;
    Slot *slot;

    if (step->kind == (StepKind)SCARP_OP_FLUSH) {
        first = n = 0;
    }
    slot = take_slot(r, n * SECTOR);
    cmd = &slot->cmd;
    cmd->op = (ScarpOp)step->kind;
    cmd->fua = step->fua;
    cmd->nsid = 1;
    cmd->stream = step->stream % scarp_drive_streams(r->drive);
    cmd->offset_bytes = first * SECTOR;
    cmd->length_bytes = n * SECTOR;
    cmd->deadline_ns = step->deadline_ns ? now_ns + step->deadline_ns
                                         : SCARP_TIME_NEVER;
    slot->submit_ns = now_ns;
    slot->number = r->result->commands++;
    laws_count(&r->own, cmd);
    if (!r->in_flight++) {
        r->progress_ns = now_ns;
    }
    r->outstanding_sectors += n;
    r->waits_ns = MAX(r->waits_ns, step->deadline_ns);
    r->outstanding_units += cmd->length_bytes /
                            scarp_drive_unit_bytes(r->drive) + 2;
    r->submitted_ns = now_ns;
    set_limit(r);
    if (r->s->store) {
        model_submit(r->model, cmd);
    }
    scarp_submit(r->drive, cmd, now_ns);
    if (r->result->log && r->result->log->all) {
        export_row(r->result->log, cmd);
    }
    return reap(r, error);
}

static bool host(Run *r, const Step *step, GError **error)
{
    int64_t due_ns;

    if (!wait_for_room(r, MAX(r->depth, 1), error)) {
        return false;
    }
    due_ns = (r->open ? r->submitted_ns : scarp_now_ns(r->drive)) +
             step->gap_ns;
    return run_until(r, due_ns, error) && submit(r, step, error);
}

/* Every event, and then no command may be left. */
static bool come_to_rest(Run *r, GError **error)
{
    bool happened = true;

    set_limit(r);
    while (happened) {
        if (!step(r, &happened, error)) {
            return false;
        }
    }
    if (r->in_flight || !scarp_quiescent(r->drive, NULL)) {
        return stuck(r, error);
    }
    return true;
}

static bool check_tables(Run *r, GError **error)
{
    return scarp_check(r->drive, error) &&
           laws_sums(&r->own, scarp_stats(r->drive), error);
}

static bool drain(Run *r, GError **error)
{
    r->result->phases++;
    if (!come_to_rest(r, error)) {
        return false;
    }
    return scarp_drain(r->drive, error) && reap(r, error) &&
           check_tables(r, error);
}

static void count(Run *r)
{
    const ScarpStats *stats = scarp_stats(r->drive);

    r->result->collected += stats->gc_runs;
    r->result->merged += stats->switch_merges + stats->partial_merges +
                         stats->full_merges;
}

static void count_marks(Run *r)
{
    for (unsigned i = 0; i < MIN(scarp_mark_count(), MOST_MARKS); i++) {
        r->result->marks[i] += scarp_mark_times(r->drive, i);
    }
}

/* "scheme params seed keys"; "-" for none */
static char *word_of(const Run *r, const Step *step, guint i)
{
    g_auto(GStrv) words = g_strsplit(r->s->texts->pdata[step->text], " ", -1);

    return i < g_strv_length(words) && strcmp(words[i], "-")
               ? g_strdup(words[i]) : NULL;
}

/*
 * The rest of the steps on the drive that was saved, and on the one that was
 * loaded: commands must meet the same.
 */
static bool same_future(Run *r, ScarpDrive *other, guint next, GError **error)
{
    Run saved = *r;
    RunResult result = { .commands = r->result->commands };
    g_autoptr(GArray) rows = g_array_new(false, true, sizeof(Row));
    g_autoptr(GArray) own_rows = g_array_new(false, true, sizeof(Row));
    GArray *outer_rows = r->result->rows;
    uint32_t first = r->result->commands;
    int64_t origin_ns = scarp_now_ns(r->drive);
    bool ok;

    result.rows = rows;
    saved.result = &result;
    saved.idle = g_ptr_array_new();
    saved.model = model_copy(r->model);
    saved.is_twin = true;
    /* The saved drive's clock goes on, the other's begins. */
    scarp_stats_reset(saved.drive);
    saved.own = (Own) { 0 };
    saved.submitted_ns = saved.completed_ns = origin_ns;
    ok = run_steps(&saved, next, error);
    for (guint i = first; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);

        row->submit_ns -= row->drive == r->drives ? origin_ns : 0;
    }
    model_free(saved.model);
    g_ptr_array_free(saved.idle, true);
    count(&saved);
    count_marks(&saved);
    scarp_drive_free(saved.drive);
    r->drive = other;
    if (!ok) {
        g_prefix_error(error, "the drive that was saved: ");
        return false;
    }
    r->result->rows = own_rows;
    ok = run_steps(r, next, error);
    r->result->rows = outer_rows;
    for (guint i = first; outer_rows && i < own_rows->len; i++) {
        g_array_set_size(outer_rows, i);
        g_array_append_val(outer_rows, g_array_index(own_rows, Row, i));
    }
    r->ended = true;
    return ok && rows_same(own_rows, rows, first, 1, UINT32_MAX,
                           "a drive from an image", error);
}

static bool reload(Run *r, const Step *step, guint next, GError **error)
{
    g_autofree char *scheme = word_of(r, step, 0);
    g_autofree char *params = word_of(r, step, 1);
    g_autofree char *seed = word_of(r, step, 2);
    g_autofree char *keys = word_of(r, step, 3);
    g_autofree char *path = g_strdup_printf("/dev/shm/hunt-%d.img",
                                            (int)getpid());
    g_autoptr(GError) refused = NULL;
    bool same = !scheme && !seed && !keys && !r->switched && !r->is_twin;
    ScarpDrive *other;

    if (!drain(r, error) || !scarp_save(r->drive, path, error)) {
        return false;
    }
    same = same && r->held_ns <= scarp_now_ns(r->drive);
    other = scenario_build(r->s, path, scheme ? scheme : r->s->scheme,
                           scheme ? params : r->s->params,
                           seed ? strtoull(seed, NULL, 10) : r->s->seed, keys,
                           &refused);
    unlink(path);
    if (!other && same) {
        return fail(error, "its own image is refused: %s", refused->message);
    }
    if (!other) {
        return true; /* what the text asks for does not go with it */
    }
    r->switched |= !same;
    r->own = (Own) { 0 };
    r->submitted_ns = r->completed_ns = r->held_ns = 0;
    r->drives++;
    if (same) {
        return same_future(r, other, next, error);
    }
    r->waits_ns += scheme ? schemes_waits_ns(scheme, params) : 0;
    count(r);
    count_marks(r);
    scarp_drive_free(r->drive);
    r->drive = other;
    return check_tables(r, error);
}

static bool one_step(Run *r, guint at, GError **error)
{
    const Step *step = &g_array_index(r->s->steps, Step, at);
    int64_t now_ns = scarp_now_ns(r->drive);
    g_autofree char *scheme = NULL;
    g_autofree char *params = NULL;

    if (step->kind > STEP_PACE && step->kind != STEP_IDLE && r->result->log) {
        r->result->log->all = false;
    }
    switch (step->kind) {
    case STEP_PACE:
        r->depth = MIN(step->sector, MOST_DEPTH);
        r->open = step->open;
        return true;
    case STEP_SCHEME:
        scheme = word_of(r, step, 0);
        params = word_of(r, step, 1);
        if (scarp_drive_set_scheme(r->drive, scheme, params, NULL)) {
            r->result->phases++;
            r->waits_ns += schemes_waits_ns(scheme, params);
            r->switched = true;
        }
        return reap(r, error);
    case STEP_DRAIN:
        return drain(r, error);
    case STEP_RELOAD:
        return reload(r, step, at + 1, error);
    case STEP_COLLECT:
        scarp_collect_now(r->drive, step->sectors);
        return reap(r, error);
    case STEP_HOLD:
        r->held_ns = now_ns + step->gap_ns;
        scarp_hold_collections(r->drive, r->held_ns);
        return reap(r, error);
    case STEP_RESET:
        /* Only at rest are the host's own sums those of the drive. */
        if (!come_to_rest(r, error)) {
            return false;
        }
        count(r);
        scarp_stats_reset(r->drive);
        r->own = (Own) { 0 };
        return true;
    case STEP_IDLE:
        return run_until(r, now_ns + step->gap_ns, error);
    default:
        return host(r, step, error);
    }
}

/* Every sector, once more. */
static bool read_all(Run *r, GError **error)
{
    uint64_t sectors = scarp_drive_logical_bytes(r->drive) / SECTOR;
    uint32_t most = 64;

    r->ended = true;
    r->result->log = NULL;
    r->depth = 8;
    r->open = false;
    for (uint64_t at = 0; at < sectors; at += most) {
        Step read = { .kind = (uint8_t)SCARP_OP_READ, .sector = at,
                      .sectors = most };

        if (!host(r, &read, error)) {
            return false;
        }
        r->result->commands--;
    }
    return come_to_rest(r, error);
}

static bool run_steps(Run *r, guint from, GError **error)
{
    for (guint i = from; i < r->s->steps->len && !r->ended; i++) {
        if (!one_step(r, i, error)) {
            return false;
        }
    }
    return r->ended ||
           (drain(r, error) && (!r->s->store || read_all(r, error)) &&
            check_tables(r, error));
}

bool run_scenario(const Scenario *s, RunResult *result, GError **error)
{
    GArray *rows = result->rows;
    Run r = { .s = s, .result = result, .depth = 1,
              .idle = g_ptr_array_new(), .all = g_ptr_array_new() };
    bool ok;

    *result = (RunResult) { .rows = rows, .log = result->log };
    r.drive = scenario_drive(s, error);
    if (!r.drive) {
        return false;
    }
    r.model = model_new(scarp_drive_logical_bytes(r.drive) / SECTOR,
                        scarp_drive_unit_bytes(r.drive) / SECTOR);
    know_size(&r);
    ok = scarp_check(r.drive, error) && run_steps(&r, 0, error);
    count(&r);
    count_marks(&r);
    for (guint i = 0; i < r.all->len; i++) {
        g_free(((Slot *)r.all->pdata[i])->data);
        g_free(r.all->pdata[i]);
    }
    g_ptr_array_free(r.all, true);
    g_ptr_array_free(r.idle, true);
    model_free(r.model);
    scarp_drive_free(r.drive);
    return ok;
}
