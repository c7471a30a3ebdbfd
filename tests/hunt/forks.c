/*
 * Forks of a scenario, reached by its log alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "forks.h"
#include "fail.h"
#include "schemes.h"
#include "rerun/rerun.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWITCHES 3 /* that are added to each scenario */

const char *forks_plant_name(ForksPlant plant)
{
    static const char *const names[FORKS__COUNT] = {
        [FORKS_WITHOUT_SWITCH] = "switch", [FORKS_LATE_ARRIVAL] = "arrival",
    };

    return plant < FORKS__COUNT ? names[plant] : NULL;
}

/* ---- The scenario ------------------------------------------------------- */

/* No log has it. */
static bool is_unlogged(StepKind kind)
{
    return kind == STEP_DRAIN || kind == STEP_RELOAD || kind == STEP_COLLECT ||
           kind == STEP_HOLD || kind == STEP_POWER_CUT || kind == STEP_CLOSE;
}

static void add_switch(Scenario *s, Draw *d)
{
    g_autofree char *scheme = NULL, *params = NULL;
    Step step = { .kind = STEP_SCHEME, .text = s->texts->len };

    schemes_draw(d, &scheme, &params);
    g_ptr_array_add(s->texts, g_strdup_printf("%s %s", scheme,
                                              params ? params : "-"));
    g_array_insert_val(s->steps, draw_below(d, s->steps->len + 1), step);
}

Scenario *forks_scenario(const Scenario *s, uint64_t number)
{
    Scenario *copy = scenario_copy(s);
    Draw draw = { number };

    for (guint i = copy->steps->len; i--;) {
        if (is_unlogged(g_array_index(copy->steps, Step, i).kind)) {
            g_array_remove_index(copy->steps, i);
        }
    }
    for (int i = 0; i < SWITCHES; i++) {
        add_switch(copy, &draw);
    }
    g_clear_pointer(&copy->meta, g_free);
    return copy;
}

/* ---- The record --------------------------------------------------------- */

static void clear_change(gpointer change)
{
    g_free(((Change *)change)->scheme);
    g_free(((Change *)change)->params);
}

static void add_changes(RerunRecord *record, const Log *log)
{
    record->changes = g_array_new(false, false, sizeof(Change));
    g_array_set_clear_func(record->changes, clear_change);
    for (guint i = 0; i < log->n_changes; i++) {
        const LogChange *in = &log->change[i];
        Change change = {
            .time_ns = in->time_ns, .next_command = in->next_command,
            .scheme = g_strdup(in->scheme),
            .params = *in->params ? g_strdup(in->params) : NULL,
        };

        g_array_append_val(record->changes, change);
    }
}

static RerunRecord *record_of(const Log *log, const GArray *rows)
{
    RerunRecord *record = g_new0(RerunRecord, 1);
    guint at = 0;

    record->path = "the log";
    record->rows = g_array_new(false, false, sizeof(RerunRow));
    for (guint i = 0; i < log->n; i++) {
        const LogRow *in = &log->row[i];
        RerunRow row = { .cmd = {
            .submit_ns = in->submit_ns,
            .offset_bytes = in->offset_bytes,
            .length_bytes = in->length_bytes, .op = in->op,
            .stream = in->stream, .nsid = in->nsid, .order = in->order,
            .deadline_ns = in->deadline_ns,
        } };

        /* Commands that were left out have a row, and were never submitted. */
        while (g_array_index(rows, Row, at).lost) {
            at++;
        }
        row.cmd.complete_ns = in->submit_ns +
                              g_array_index(rows, Row, at++).latency_ns;
        g_array_append_val(record->rows, row);
    }
    add_changes(record, log);
    return record;
}

/* False: the record has nothing that could be spoiled so. */
static bool spoil(RerunRecord *record, ForksPlant plant, Draw *d)
{
    guint n = record->rows->len, i;

    if (plant == FORKS_WITHOUT_SWITCH && record->changes->len) {
        g_array_remove_index(record->changes,
                             draw_below(d, record->changes->len));
        return true;
    }
    if (plant == FORKS_LATE_ARRIVAL && n > 1) {
        RerunRow *row;

        i = draw_below(d, n - 1);
        row = &g_array_index(record->rows, RerunRow, i);
        /* The order of the commands stays as it was. */
        if (rerun_row(record, i + 1)->cmd.submit_ns > row->cmd.submit_ns &&
            row->cmd.complete_ns > row->cmd.submit_ns) {
            row->cmd.submit_ns++;
            return true;
        }
    }
    return false;
}

/* ---- Forking ------------------------------------------------------------ */

static int by_time(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void draw_instants(const RerunRecord *record, Draw *d,
                          int64_t at_ns[FORKS_EACH])
{
    int64_t first_ns = rerun_row(record, 0)->cmd.submit_ns, last_ns = first_ns;

    for (guint i = 0; i < record->rows->len; i++) {
        last_ns = MAX(last_ns, rerun_row(record, i)->cmd.complete_ns);
    }
    for (int i = 0; i < FORKS_EACH; i++) {
        /* Every second one is when a command comes or ends, or a switch is. */
        const CmdLogRow *cmd = &rerun_row(record, draw_below(
            d, record->rows->len))->cmd;

        at_ns[i] = draw_chance(d, 50) ? (int64_t)draw_from(d, first_ns, last_ns)
                 : draw_chance(d, 50) ? cmd->submit_ns : cmd->complete_ns;
        if (record->changes->len && draw_chance(d, 10)) {
            at_ns[i] = g_array_index(record->changes, Change, draw_below(
                d, record->changes->len)).time_ns;
        }
    }
    qsort(at_ns, FORKS_EACH, sizeof(*at_ns), by_time);
}

/*
 * Runs until every command has ended, and no further: a policy may have events
 * for as long as there is time.
 */
static bool run_out(Rerun *run, GError **error)
{
    while (run->flying->len || run->at < run->record->rows->len) {
        int64_t next_ns = rerun_next_ns(run);

        if (next_ns == SCARP_TIME_NEVER) {
            return fail(error, "%u commands have not ended", run->flying->len);
        }
        if (!rerun_run(run, next_ns, error)) {
            return false;
        }
    }
    return true;
}

/* In a fork: runs to the end, and says what differs. */
static void go_on(Rerun *run, int64_t at_ns, int out)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (!run_out(run, &error)) {
        text = g_strdup_printf("a fork at %" G_GINT64_FORMAT " ns: %s", at_ns,
                               error->message);
    }
    if (text && write(out, text, strlen(text)) < 0) {
        _exit(1);
    }
    _exit(0);
}

static bool fork_one(Rerun *run, int64_t at_ns, GError **error)
{
    char said[1024];
    int fds[2], status;
    ssize_t n;
    pid_t pid;

    if (pipe(fds)) {
        return fail(error, "no pipe for a fork");
    }
    pid = fork();
    if (pid < 0) {
        return fail(error, "no process for a fork");
    }
    if (!pid) {
        close(fds[0]);
        go_on(run, at_ns, fds[1]);
    }
    close(fds[1]);
    n = read(fds[0], said, sizeof(said) - 1);
    close(fds[0]);
    if (waitpid(pid, &status, 0) < 0 || status) {
        return fail(error, "a fork at %" G_GINT64_FORMAT " ns died", at_ns);
    }
    return n <= 0 || fail(error, "%.*s", (int)n, said);
}

static bool fork_all(const Scenario *s, const RerunRecord *record, Draw *d,
                     uint64_t *forks, GError **error)
{
    int64_t at_ns[FORKS_EACH];
    ScarpDrive *drive = scenario_drive(s, error);
    Rerun run;
    bool ok = drive && rerun_begin_on(&run, record, drive, s->store, error);

    if (!ok) {
        return false;
    }
    draw_instants(record, d, at_ns);
    for (int i = 0; i < FORKS_EACH && ok; i++) {
        ok = rerun_run(&run, at_ns[i], error) &&
             fork_one(&run, at_ns[i], error);
        *forks += ok;
    }
    rerun_end(&run);
    return ok;
}

bool forks_run(const Scenario *s, uint64_t number, ForksPlant plant,
               RunResult *result, uint64_t *forks, GError **error)
{
    Draw draw = { number };
    g_autoptr(GArray) rows = g_array_new(false, true, sizeof(Row));
    g_autofree Log *log = g_new0(Log, 1);
    RerunRecord *record;
    bool ok;

    log->all = true;
    result->log = log;
    result->rows = rows;
    ok = run_scenario(s, result, error);
    result->log = NULL;
    result->rows = NULL;
    if (!ok || !log->all || !log->n) {
        return ok;
    }
    record = record_of(log, rows);
    if (plant == FORKS_WHOLE || spoil(record, plant, &draw)) {
        ok = fork_all(s, record, &draw, forks, error);
    }
    rerun_record_free(record);
    return ok;
}
