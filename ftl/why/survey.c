/*
 * Surveys a recorded run: repeats it, and finds the collections that delayed
 * commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "why/survey.h"

/* A command asked about that is under way. */
typedef struct {
    uint64_t seq;
    guint asked;       /* index in WhySurvey.asked */
    int64_t served_ns; /* end of its latest flash command; -1: none yet */
    uint32_t die;      /* die of the flash command that ended last */
} Served;

typedef struct {
    WhySurvey *survey;
    GHashTable *by_row; /* from a row to its index in WhySurvey.asked, plus 1 */
    GHashTable *by_seq; /* Served */
    GArray *runs;       /* ScarpGcRun */
    uint32_t in_flight;
} Looking;

static void submitted(void *opaque, const ScarpCmd *cmd, guint row)
{
    Looking *looking = opaque;
    guint found = GPOINTER_TO_UINT(
        g_hash_table_lookup(looking->by_row, GUINT_TO_POINTER(row)));

    looking->in_flight++;
    looking->survey->most_in_flight = MAX(looking->survey->most_in_flight,
                                          looking->in_flight);
    if (found) {
        Served *served = g_new(Served, 1);

        *served = (Served) { .seq = cmd->seq, .asked = found - 1,
                             .served_ns = -1, .die = WHY_NOWHERE };
        g_hash_table_insert(looking->by_seq, &served->seq, served);
    }
}

static void ended(void *opaque, const ScarpCmd *cmd, guint row G_GNUC_UNUSED)
{
    Looking *looking = opaque;
    const Served *served = g_hash_table_lookup(looking->by_seq, &cmd->seq);

    looking->in_flight--;
    looking->survey->end_ns = cmd->complete_ns;
    if (served) {
        /*
         * A buffered write completes before its own program ends, so it can
         * only have waited for other programs.
         */
        g_array_index(looking->survey->asked, WhyAsked, served->asked).die =
            served->served_ns <= cmd->complete_ns ? served->die : WHY_NOWHERE;
        g_hash_table_remove(looking->by_seq, &cmd->seq);
    }
}

static void flash_phase(void *opaque, const ScarpFlashOp *op)
{
    Looking *looking = opaque;

    for (uint32_t i = 0; i < op->n_cmds; i++) {
        Served *served = g_hash_table_lookup(looking->by_seq, &op->cmd_seqs[i]);

        if (served && op->end_ns >= served->served_ns) {
            served->served_ns = op->end_ns;
            served->die = op->die;
        }
    }
}

static void gc_done(void *opaque, const ScarpGcRun *run)
{
    Looking *looking = opaque;

    g_array_append_vals(looking->runs, run, 1);
}

/* ---- Chains ------------------------------------------------------------- */

static int by_die_and_begin(gconstpointer a, gconstpointer b)
{
    const ScarpGcRun *x = a, *y = b;

    if (x->die != y->die) {
        return x->die < y->die ? -1 : 1;
    }
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void make_chains(WhySurvey *survey, GArray *runs)
{
    WhyChain *last = NULL;

    g_array_sort(runs, by_die_and_begin);
    for (guint i = 0; i < runs->len; i++) {
        const ScarpGcRun *run = &g_array_index(runs, ScarpGcRun, i);

        if (!last || last->die != run->die || run->begin_ns > last->end_ns) {
            g_array_append_vals(survey->chains, &(WhyChain) {
                .begin_ns = run->begin_ns, .end_ns = run->end_ns,
                .die = run->die,
            }, 1);
            last = &g_array_index(survey->chains, WhyChain,
                                  survey->chains->len - 1);
        }
        last->end_ns = MAX(last->end_ns, run->end_ns);
        last->n_runs++;
        last->moved_units += run->moved_units;
    }
}

/*
 * Returns how long the chain ran while the command was under way. Returns 0 or
 * less if chain and command did not overlap.
 */
static int64_t overlap_ns(const WhyChain *chain, const CmdLogRow *cmd)
{
    return MIN(chain->end_ns, cmd->complete_ns) -
           MAX(chain->begin_ns, cmd->submit_ns);
}

/*
 * Returns the die that delayed a command which needed no die, and so waited for
 * room in the buffer. That is the die that collected for longest while the
 * command was under way. Returns WHY_NOWHERE if no die collected meanwhile.
 */
static uint32_t die_of_room(const WhySurvey *survey, const CmdLogRow *cmd)
{
    uint32_t die = WHY_NOWHERE, best = WHY_NOWHERE;
    int64_t sum_ns = 0, best_ns = 0;

    for (guint i = 0; i < survey->chains->len; i++) {
        const WhyChain *chain = &g_array_index(survey->chains, WhyChain, i);

        sum_ns = chain->die == die ? sum_ns : 0;
        die = chain->die;
        sum_ns += MAX(overlap_ns(chain, cmd), 0);
        if (sum_ns > best_ns) {
            best_ns = sum_ns;
            best = die;
        }
    }
    return best;
}

static void find_chain(const WhySurvey *survey, const RerunRecord *record,
                       WhyAsked *asked)
{
    const CmdLogRow *cmd = &rerun_row(record, asked->row)->cmd;

    asked->chain = -1;
    if (asked->die == WHY_NOWHERE) {
        asked->die = die_of_room(survey, cmd);
    }
    for (guint i = 0; i < survey->chains->len; i++) {
        const WhyChain *chain = &g_array_index(survey->chains, WhyChain, i);

        if (chain->die == asked->die && overlap_ns(chain, cmd) > 0) {
            asked->chain = i;
            return; /* the die's earliest chain: branches begin before it */
        }
    }
}

/* ---- The whole run ------------------------------------------------------ */

static bool repeat(Rerun *run, GError **error)
{
    int64_t next_ns;

    while ((next_ns = rerun_next_ns(run)) != SCARP_TIME_NEVER) {
        /*
         * Each call runs a second of the drive's time, so that there are few
         * calls.
         */
        if (!rerun_run(run, MIN(next_ns + 1000000000, SCARP_TIME_LAST),
                       error)) {
            return false;
        }
    }
    return true;
}

static void begin(WhySurvey *survey, const RerunRecord *record,
                  const GArray *rows, GHashTable *by_row)
{
    *survey = (WhySurvey) {
        .asked = g_array_new(false, false, sizeof(WhyAsked)),
        .chains = g_array_new(false, false, sizeof(WhyChain)),
        .by_end = g_new(guint, record->rows->len),
    };
    for (guint i = 0; i < record->rows->len; i++) {
        survey->by_end[rerun_row(record, i)->ended_as] = i;
    }
    for (guint i = 0; i < rows->len; i++) {
        WhyAsked asked = { .row = g_array_index(rows, guint, i),
                           .die = WHY_NOWHERE, .chain = -1 };

        g_array_append_val(survey->asked, asked);
        g_hash_table_insert(by_row, GUINT_TO_POINTER(asked.row),
                            GUINT_TO_POINTER(i + 1));
    }
}

bool why_survey(WhySurvey *survey, const RerunRecord *record,
                const ScarpConfig *config, const GArray *rows, GError **error)
{
    g_autoptr(GHashTable) by_row = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) by_seq = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL, g_free);
    g_autoptr(GArray) runs = g_array_new(false, false, sizeof(ScarpGcRun));
    Looking looking = { survey, by_row, by_seq, runs, 0 };
    ScarpObserver observer = { .gc_done = gc_done, .flash_phase = flash_phase,
                               .opaque = &looking };
    Rerun run;
    bool ok;

    begin(survey, record, rows, by_row);
    ok = rerun_begin(&run, record, config, error);
    if (ok) {
        rerun_listen(&run, (RerunListener) { submitted, ended, &looking });
        scarp_set_observer(run.drive, &observer);
        ok = repeat(&run, error);
        rerun_end(&run);
    }
    make_chains(survey, runs);
    for (guint i = 0; ok && i < survey->asked->len; i++) {
        find_chain(survey, record, &g_array_index(survey->asked, WhyAsked, i));
    }
    if (!ok) {
        why_survey_clear(survey);
    }
    return ok;
}

void why_survey_clear(WhySurvey *survey)
{
    g_array_unref(survey->asked);
    g_array_unref(survey->chains);
    g_free(survey->by_end);
    *survey = (WhySurvey) { 0 };
}
