/*
 * Carries out a branch of a recorded run: makes its change at the instant, runs
 * on until the compared commands have ended, and writes a line of results.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "why/branch.h"
#include "why/strip.h"
#include "flow/ops.h"
#include "rerun/text.h"
#include "timeline.h"

#include <errno.h>

/*
 * A row that the branch compares with the recorded run. The rows begin with the
 * oldest command that was under way at the instant, and end with the last
 * command that is submitted in the window. Some of them had ended before the
 * instant.
 */
typedef struct {
    int64_t submit_ns, complete_ns; /* in the branch; complete_ns 0: not yet */
    bool exact; /* ended before the guest could notice the branch */
} Row;

/*
 * The drive's free blocks, collections and relocated units, as they are before
 * and after the window. The member "owed" of the branch's line is computed from
 * these.
 */
typedef struct {
    uint64_t free_blocks, gc_runs, moved_units;
} Owed;

typedef struct {
    Rerun *run;
    const WhyEpisode *episode;
    const WhySurvey *survey;
    guint first, n_rows; /* rows compared: first to first + n_rows - 1 */
    Row *row;            /* [n_rows] */
    guint rest;          /* compared rows whose commands have not ended */
    guint asked_rest;    /* commands asked about that have not ended */
    guint n_ended;       /* completions since the run's begin */
    /*
     * time of the first completion that differs from the recorded run;
     * SCARP_TIME_NEVER: no completion differs
     */
    int64_t differs_ns;
    int64_t hold_until_ns; /* no collection begins by itself until then */
    uint32_t most_in_flight;
    uint64_t forced;     /* collections that began in spite of the hold */
    Owed before, after;
    FILE *cmd_log, *gc_log, *trace;
    ScarpTimeline *timeline;
    ScarpObserver shown; /* the timeline's observer, or an empty one */
    WhyStrip strip;
} Branch;

const char *why_kind_name(WhyKind kind)
{
    static const char *const names[] = { "control", "under", "without",
                                         "with" };

    return names[kind];
}

/* ---- Listening ---------------------------------------------------------- */

static bool counts(const Branch *b, guint row)
{
    return row >= b->first && row - b->first < b->n_rows;
}

static bool is_asked(const Branch *b, guint row)
{
    for (guint i = 0; i < b->episode->asked->len; i++) {
        if (g_array_index(b->episode->asked, WhyAsked, i).row == row) {
            return true;
        }
    }
    return false;
}

static void submitted(void *opaque, const ScarpCmd *cmd, guint row)
{
    Branch *b = opaque;

    b->most_in_flight = MAX(b->most_in_flight, b->run->flying->len);
    if (counts(b, row)) {
        b->row[row - b->first].submit_ns = cmd->submit_ns;
    }
}

/*
 * Compares completions one by one with those of the recorded run. Until a
 * completion differs, the guest cannot have noticed the branch.
 */
static void compare(Branch *b, const ScarpCmd *cmd, guint row)
{
    guint wanted = b->n_ended < b->run->record->rows->len
        ? b->survey->by_end[b->n_ended] : row;
    int64_t wanted_ns = rerun_row(b->run->record, wanted)->cmd.complete_ns;

    b->n_ended++;
    if (b->differs_ns == SCARP_TIME_NEVER &&
        (wanted != row || wanted_ns != cmd->complete_ns)) {
        b->differs_ns = MIN(wanted_ns, cmd->complete_ns);
    }
}

static void ended(void *opaque, const ScarpCmd *cmd, guint row)
{
    Branch *b = opaque;

    compare(b, cmd, row);
    if (b->cmd_log) {
        cmdlog_write(b->cmd_log, cmd,
                     rerun_row(b->run->record, row)->cmd.order,
                     scarp_drive_causes(b->run->drive));
    }
    if (!counts(b, row)) {
        return;
    }
    b->row[row - b->first].submit_ns = cmd->submit_ns;
    b->row[row - b->first].complete_ns = cmd->complete_ns;
    b->row[row - b->first].exact = cmd->complete_ns <= b->differs_ns;
    b->rest--;
    if (is_asked(b, row) && !--b->asked_rest && b->hold_until_ns) {
        b->hold_until_ns = cmd->complete_ns;
        scarp_hold_collections(b->run->drive, cmd->complete_ns);
    }
}

static void cmd_done(void *opaque, const ScarpCmd *cmd)
{
    Branch *b = opaque;

    b->shown.cmd_done(b->shown.opaque, cmd);
}

static void flash_phase(void *opaque, const ScarpFlashOp *op)
{
    Branch *b = opaque;

    why_strip_add(&b->strip, op);
    if (b->shown.flash_phase) {
        b->shown.flash_phase(b->shown.opaque, op);
    }
}

static void gc_granted(void *opaque, const ScarpGcGrant *grant)
{
    Branch *b = opaque;

    b->shown.gc_granted(b->shown.opaque, grant);
}

static void gc_done(void *opaque, const ScarpGcRun *run)
{
    Branch *b = opaque;

    if (b->shown.gc_done) {
        b->shown.gc_done(b->shown.opaque, run);
    }
    if (b->gc_log) {
        gclog_write(b->gc_log, run);
    }
    b->forced += run->begin_ns > b->episode->at_ns &&
                 run->begin_ns < b->hold_until_ns;
}

/* ---- Files -------------------------------------------------------------- */

static void sink(void *file, const void *bytes, size_t n)
{
    fwrite(bytes, 1, n, file);
}

static FILE *open_log(const WhyHow *how, const Branch *b,
                      const WhyBranch *branch, guint number, const char *what,
                      char **fault)
{
    g_autofree char *path = g_strdup_printf(
        "%s/%u-%u-%s-%s.bin", how->logs, b->episode->number, number,
        why_kind_name(branch->kind), what);
    FILE *file = *fault ? NULL : fopen(path, "wb");

    if (!file && !*fault) {
        *fault = g_strdup_printf("--logs: %s: %s", path, g_strerror(errno));
    }
    return file;
}

static char *group_name(const WhyEpisode *episode, const WhyBranch *branch)
{
    return branch->kind == WHY_CONTROL
        ? g_strdup_printf("episode %u, in fact", episode->number)
        : g_strdup_printf("episode %u, %s %s", episode->number,
                          why_kind_name(branch->kind), branch->text);
}

static void open_trace(Branch *b, const WhyBranch *branch, const WhyHow *how,
                       guint number, char **fault)
{
    g_autofree char *path = g_strdup_printf("%s.%u", how->trace, number);
    g_autofree char *name = group_name(b->episode, branch);

    b->trace = fopen(path, "wb");
    if (!b->trace) {
        *fault = g_strdup_printf("-o: %s: %s", path, g_strerror(errno));
        return;
    }
    b->timeline = scarp_timeline_new(b->run->drive, 0, b->episode->until_ns,
                                     sink, b->trace);
    scarp_timeline_group(b->timeline, number, name);
    b->shown = scarp_timeline_observer(b->timeline);
}

static void open_files(Branch *b, const WhyBranch *branch, const WhyHow *how,
                       guint number, char **fault)
{
    if (how->logs) {
        b->cmd_log = open_log(how, b, branch, number, "cmd", fault);
        b->gc_log = open_log(how, b, branch, number, "gc", fault);
    }
    if (b->cmd_log && b->gc_log) {
        cmdlog_write_header(b->cmd_log, scarp_drive_causes(b->run->drive));
        gclog_write_header(b->gc_log);
    }
    if (how->trace && !*fault) {
        open_trace(b, branch, how, number, fault);
    }
}

static void close_file(FILE *file, const char *option, char **fault)
{
    bool bad = file && ferror(file);

    if (file && (fclose(file) || bad) && !*fault) {
        *fault = g_strdup_printf("%s: could not be written", option);
    }
}

static void close_files(Branch *b, char **fault)
{
    scarp_set_observer(b->run->drive, &(ScarpObserver) { 0 });
    if (b->timeline) {
        scarp_timeline_free(b->timeline);
    }
    close_file(b->cmd_log, "--logs", fault);
    close_file(b->gc_log, "--logs", fault);
    close_file(b->trace, "-o", fault);
}

/* ---- The strip ---------------------------------------------------------- */

/*
 * Begins the strip for the die of the episode's chain, or, without a chain, for
 * the die of the first command asked about.
 */
static void begin_strip(Branch *b)
{
    const WhyEpisode *episode = b->episode;
    uint32_t die = episode->chain >= 0
        ? g_array_index(b->survey->chains, WhyChain, episode->chain).die
        : g_array_index(episode->asked, WhyAsked, 0).die;

    if (die != WHY_NOWHERE) {
        why_strip_begin(&b->strip, die, episode->at_ns);
    }
}

/*
 * Writes the strip up to the time at which the commands asked about have ended,
 * both in the recorded run and in the branch.
 */
static void tell_strip(const Branch *b, FILE *out)
{
    int64_t until_ns = 0;

    for (guint i = 0; i < b->episode->asked->len; i++) {
        guint row = g_array_index(b->episode->asked, WhyAsked, i).row;

        until_ns = MAX(until_ns,
                       rerun_row(b->run->record, row)->cmd.complete_ns);
        until_ns = MAX(until_ns, b->row[row - b->first].complete_ns);
    }
    fputs(", \"strip\": ", out);
    why_strip_tell(&b->strip, until_ns, out);
}

/* ---- Running ------------------------------------------------------------ */

static Owed owed(const ScarpDrive *drive)
{
    const ScarpStats *stats = scarp_stats(drive);

    return (Owed) { scarp_free_blocks(drive), stats->gc_runs,
                    stats->gc_moved_units };
}

static void set_rows(Branch *b)
{
    const RerunRecord *record = b->run->record;
    guint end = b->run->at;

    while (end < record->rows->len &&
           rerun_row(record, end)->cmd.submit_ns < b->episode->until_ns) {
        end++;
    }
    b->first = rerun_oldest(b->run);
    b->n_rows = end - b->first;
    b->row = g_new0(Row, b->n_rows);
    b->n_ended = b->run->at - b->run->flying->len;
    b->asked_rest = b->episode->asked->len;
    for (guint i = 0; i < b->n_rows; i++) {
        const CmdLogRow *cmd = &rerun_row(record, b->first + i)->cmd;
        guint ended_as = rerun_row(record, b->first + i)->ended_as;

        b->row[i].submit_ns = cmd->submit_ns;
        if (b->first + i < b->run->at && ended_as < b->n_ended) {
            /*
             * The command ended before the instant, so the branch does not
             * change it.
             */
            b->row[i].complete_ns = cmd->complete_ns;
            b->row[i].exact = true;
        } else {
            b->rest++;
        }
    }
}

/* Makes the change by which the branch differs from the run. */
static bool change(Branch *b, const WhyBranch *branch, GError **error)
{
    Rerun *run = b->run;

    if (branch->kind != WHY_CONTROL) {
        rerun_diverge(run, b->survey->most_in_flight);
    }
    switch (branch->kind) {
    case WHY_CONTROL:
        return true;
    case WHY_UNDER:
        /*
         * Later changes of the recorded run would replace the branch's scheme.
         */
        rerun_keep_scheme(run);
        if (!scarp_drive_set_scheme(run->drive, branch->scheme, branch->params,
                                    error)) {
            return false;
        }
        break;
    case WHY_WITHOUT:
        b->hold_until_ns = SCARP_TIME_NEVER;
        scarp_hold_collections(run->drive, SCARP_TIME_LAST);
        break;
    case WHY_WITH:
        scarp_flow_enlarge_buffer(run->drive, branch->bytes);
        break;
    }
    return rerun_reap(run, error);
}

static bool go_on(Branch *b, GError **error)
{
    int64_t next_ns;

    if (!rerun_run(b->run, b->episode->until_ns, error)) {
        return false;
    }
    b->after = owed(b->run->drive);
    while (b->rest &&
           (next_ns = rerun_next_ns(b->run)) != SCARP_TIME_NEVER) {
        if (!rerun_run(b->run, next_ns, error)) {
            return false;
        }
    }
    if (b->rest) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "%u commands never end", b->rest);
        return false;
    }
    return true;
}

/* ---- The line of output ------------------------------------------------- */

static void tell_asked(const Branch *b, FILE *out)
{
    fputs(", \"commands\": [", out);
    for (guint i = 0; i < b->episode->asked->len; i++) {
        guint number = g_array_index(b->episode->asked, WhyAsked, i).row;
        const CmdLogRow *cmd = &rerun_row(b->run->record, number)->cmd;
        const Row *row = &b->row[number - b->first];

        fprintf(out, "%s{\"order\": %u, \"latency_ns\": %" G_GINT64_FORMAT
                ", \"waited_ns\": %" G_GINT64_FORMAT ", \"exact\": %s}",
                i ? ", " : "", cmd->order & CMDLOG_ORDER_MASK,
                row->complete_ns - row->submit_ns,
                row->submit_ns - cmd->submit_ns, row->exact ? "true" : "false");
    }
    fputs("]", out);
}

/*
 * Sums over the compared rows whose commands had not ended at the instant: of
 * the recorded run (fact), and of the branch. The sums for faster, slower and
 * worst leave out the commands asked about.
 */
typedef struct {
    int64_t fact_ns, branch_ns, waited_ns;
    int64_t asked_ns, faster_ns, slower_ns; /* branch minus fact */
    guint n, n_faster, n_slower, worst;
    int64_t worst_ns; /* greatest loss of a command: that of row `worst` */
} Paid;

static Paid paid(const Branch *b)
{
    Paid p = { .worst = b->n_rows };

    for (guint i = 0; i < b->n_rows; i++) {
        const CmdLogRow *cmd = &rerun_row(b->run->record, b->first + i)->cmd;
        int64_t fact_ns = cmd->complete_ns - cmd->submit_ns;
        int64_t ns = b->row[i].complete_ns - b->row[i].submit_ns;

        if (cmd->complete_ns <= b->episode->at_ns) {
            continue; /* the command had ended before the instant */
        }
        p.n++;
        p.fact_ns += fact_ns;
        p.branch_ns += ns;
        p.waited_ns += b->row[i].submit_ns - cmd->submit_ns;
        if (is_asked(b, b->first + i)) {
            p.asked_ns += ns - fact_ns;
            continue;
        }
        p.n_faster += ns < fact_ns;
        p.n_slower += ns > fact_ns;
        p.faster_ns += MIN(ns - fact_ns, 0);
        p.slower_ns += MAX(ns - fact_ns, 0);
        if (ns - fact_ns > p.worst_ns) {
            p.worst_ns = ns - fact_ns;
            p.worst = i;
        }
    }
    return p;
}

static void tell_paid(const Branch *b, FILE *out)
{
    Paid p = paid(b);

    fprintf(out, ", \"window\": {\"commands\": %u, \"fact_ns\": %"
            G_GINT64_FORMAT ", \"branch_ns\": %" G_GINT64_FORMAT
            ", \"waited_ns\": %" G_GINT64_FORMAT ", \"asked_ns\": %"
            G_GINT64_FORMAT ", \"faster\": {\"commands\": %u, \"ns\": %"
            G_GINT64_FORMAT "}, \"slower\": {\"commands\": %u, \"ns\": %"
            G_GINT64_FORMAT "}, \"worst\": ", p.n, p.fact_ns, p.branch_ns,
            p.waited_ns, p.asked_ns, p.n_faster, p.faster_ns, p.n_slower,
            p.slower_ns);
    if (p.worst < b->n_rows) {
        const CmdLogRow *cmd = &rerun_row(b->run->record,
                                          b->first + p.worst)->cmd;

        fprintf(out, "{\"order\": %u, \"ns\": %" G_GINT64_FORMAT "}",
                cmd->order & CMDLOG_ORDER_MASK, p.worst_ns);
    } else {
        fputs("null", out);
    }
    fputs("}", out);
}

static void tell(const Branch *b, FILE *out)
{
    fputs(", \"differs_ns\": ", out);
    if (b->differs_ns == SCARP_TIME_NEVER) {
        fputs("null", out);
    } else {
        fprintf(out, "%" G_GINT64_FORMAT, b->differs_ns);
    }
    fprintf(out, ", \"most_in_flight\": %u, \"forced_collections\": %"
            G_GUINT64_FORMAT, b->most_in_flight, b->forced);
    tell_asked(b, out);
    tell_paid(b, out);
    fprintf(out, ", \"owed\": {\"free_blocks\": %" G_GUINT64_FORMAT
            ", \"collections\": %" G_GUINT64_FORMAT ", \"moved_units\": %"
            G_GUINT64_FORMAT "}", b->after.free_blocks,
            b->after.gc_runs - b->before.gc_runs,
            b->after.moved_units - b->before.moved_units);
}

void why_branch(Rerun *run, const WhyEpisode *episode, const WhyBranch *branch,
                const WhyHow *how, guint number, FILE *out)
{
    Branch b = { .run = run, .episode = episode, .survey = how->survey,
                 .differs_ns = SCARP_TIME_NEVER,
                 .before = owed(run->drive) };
    g_autoptr(GError) error = NULL;
    g_autofree char *fault = NULL;
    ScarpObserver observer = { .gc_done = gc_done, .opaque = &b };

    set_rows(&b);
    open_files(&b, branch, how, number, &fault);
    observer.cmd_done = b.shown.cmd_done ? cmd_done : NULL;
    if (how->strips) {
        begin_strip(&b);
    }
    observer.flash_phase = b.shown.flash_phase || b.strip.slices ? flash_phase
                                                                 : NULL;
    observer.gc_granted = b.shown.gc_granted ? gc_granted : NULL;
    scarp_set_observer(run->drive, &observer);
    rerun_listen(run, (RerunListener) { submitted, ended, &b });
    b.most_in_flight = run->flying->len;
    if (!fault && (!change(&b, branch, &error) || !go_on(&b, &error))) {
        fault = g_strdup(error->message);
    }
    close_files(&b, &fault);
    fprintf(out, "{\"episode\": %u, \"branch\": \"%s\", \"text\": ",
            episode->number, why_kind_name(branch->kind));
    rerun_text(out, branch->text);
    if (!fault) {
        tell(&b, out);
        if (how->strips) {
            tell_strip(&b, out);
        }
    }
    why_strip_clear(&b.strip);
    fputs(", \"error\": ", out);
    rerun_text(out, fault);
    fputs("}\n", out);
    g_free(b.row);
}
