/*
 * scarp-why: how commands of a recorded run would have gone if something had
 * been different
 *
 * The run is repeated twice on its drive. The first repetition checks that the
 * run goes as recorded, and finds the collections that delayed each command
 * that the user asks about. The second repetition stops at the instant of each
 * episode, and forks a process for each branch there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"
#include "replay/options.h"
#include "replay/refused.h"
#include "rerun/pool.h"
#include "why/episodes.h"

#include <locale.h>
#include <string.h>

static char *description, *scheme, *params, *image, *cmd_log, *changes_path,
            *at_text, *logs, *trace;
static char **overrides, **orders, **schemes, **larger, **stopped;
static int64_t seed = 1, slowest, most_episodes, jobs = 1, from_ns,
               to_ns = SCARP_TIME_LAST;
static gboolean version, strips;

static const GOptionEntry entries[] = {
    { "cmd-log", 0, 0, G_OPTION_ARG_FILENAME, &cmd_log, "of the run", "FILE" },
    { "changes", 0, 0, G_OPTION_ARG_FILENAME, &changes_path,
      "of the run's scheme: the drive's change-log", "FILE" },
    { "image", 'i', 0, G_OPTION_ARG_FILENAME, &image,
      "that the run began from", "FILE" },
    { "description", 'd', 0, G_OPTION_ARG_FILENAME, &description,
      "of the drive (the image's)", "FILE" },
    { "scheme", 's', 0, G_OPTION_ARG_STRING, &scheme,
      "that the run began with (baseline)", "NAME" },
    { "params", 'p', 0, G_OPTION_ARG_STRING, &params,
      "the scheme's parameters", "KEY=VALUE,..." },
    { "override", 'o', 0, G_OPTION_ARG_STRING_ARRAY, &overrides,
      "a key of the description; repeatable", "GROUP.KEY=VALUE" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "of the drive (1)", "N" },
    { "slowest", 0, 0, G_OPTION_ARG_INT64, &slowest,
      "asks for the commands that took longest", "N" },
    { "command", 0, 0, G_OPTION_ARG_STRING_ARRAY, &orders,
      "asks for the command of this order of submission; repeatable", "N" },
    { "episodes", 0, 0, G_OPTION_ARG_INT64, &most_episodes,
      "--slowest: leaves out commands of more than so many (0: none)", "N" },
    { "from-ns", 0, 0, G_OPTION_ARG_INT64, &from_ns,
      "--slowest: none submitted before (0)", "NS" },
    { "to-ns", 0, 0, G_OPTION_ARG_INT64, &to_ns,
      "--slowest: none submitted after", "NS" },
    { "at", 0, 0, G_OPTION_ARG_STRING, &at_text,
      "the instant (before the first collection of the chain)", "NS" },
    { "under", 0, 0, G_OPTION_ARG_STRING_ARRAY, &schemes,
      "a branch with another scheme; repeatable", "NAME[:KEY=VALUE:...]" },
    { "without", 0, 0, G_OPTION_ARG_STRING_ARRAY, &stopped,
      "a branch in which none begins until the commands have ended",
      "collections" },
    { "with", 0, 0, G_OPTION_ARG_STRING_ARRAY, &larger,
      "a branch with a larger buffer; repeatable",
      "controller.buffer_bytes=N" },
    { "logs", 0, 0, G_OPTION_ARG_FILENAME, &logs,
      "a folder for the branches' command logs and GC logs", "DIR" },
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &trace,
      "timelines of the branches, FILE.1 and so on, to be joined", "FILE" },
    { "strips", 0, 0, G_OPTION_ARG_NONE, &strips,
      "what the die in question did, in each branch", NULL },
    { "jobs", 'j', 0, G_OPTION_ARG_INT64, &jobs, "processes (1)", "N" },
    { "version", 0, 0, G_OPTION_ARG_NONE, &version, "of the engine", NULL },
    G_OPTION_ENTRY_NULL
};

static const OptionRange ranges[] = {
    { "seed", &seed, 0, G_MAXINT64 / 4 },
    { "slowest", &slowest, 0, 1000000 },
    { "episodes", &most_episodes, 0, 1000000 },
    { "from-ns", &from_ns, 0, SCARP_TIME_LAST },
    { "to-ns", &to_ns, 0, SCARP_TIME_LAST },
    { "jobs", &jobs, 1, 4096 },
};

/* ---- Branches ----------------------------------------------------------- */

static void clear_branch(gpointer branch)
{
    g_free((char *)((WhyBranch *)branch)->scheme);
    g_free((char *)((WhyBranch *)branch)->params);
}

static void add_under(GArray *branches, const char *text)
{
    g_auto(GStrv) part = g_strsplit(text, ":", 2);
    WhyBranch branch = { .kind = WHY_UNDER, .text = text };

    branch.scheme = g_strdup(part[0] ? part[0] : "");
    branch.params = part[0] && part[1]
        ? g_strdelimit(g_strdup(part[1]), ":;", ',') : NULL;
    g_array_append_val(branches, branch);
}

static bool add_with(GArray *branches, const char *text, GError **error)
{
    static const char key[] = "controller.buffer_bytes=";
    WhyBranch branch = { .kind = WHY_WITH, .text = text };

    if (!g_str_has_prefix(text, key) ||
        !g_ascii_string_to_unsigned(text + strlen(key), 10, 1, G_MAXINT64,
                                    &branch.bytes, NULL)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--with=%s: cannot change in a running drive; allowed is "
                    "controller.buffer_bytes=BYTES", text);
        return false;
    }
    g_array_append_val(branches, branch);
    return true;
}

static GArray *branches_asked(GError **error)
{
    g_autoptr(GArray) branches = g_array_new(false, false, sizeof(WhyBranch));
    WhyBranch control = { .kind = WHY_CONTROL };

    g_array_set_clear_func(branches, clear_branch);
    g_array_append_val(branches, control);
    for (char **text = schemes; text && *text; text++) {
        add_under(branches, *text);
    }
    for (char **text = stopped; text && *text; text++) {
        WhyBranch branch = { .kind = WHY_WITHOUT, .text = *text };

        if (strcmp(*text, "collections")) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--without=%s: not known; allowed is collections",
                        *text);
            return NULL;
        }
        g_array_append_val(branches, branch);
    }
    for (char **text = larger; text && *text; text++) {
        if (!add_with(branches, *text, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&branches);
}

/*
 * True when the drive's description allows the branch's write buffer. That
 * buffer must not be smaller than the run's buffer of has_bytes bytes. Returns
 * false, with *error set, if the branch's buffer is not allowed.
 */
static bool may_grow(const ScarpConfig *config, const WhyBranch *branch,
                     uint64_t has_bytes, GError **error)
{
    g_autofree char *keys = g_strdup_printf("%s%s%s", config->overrides
                                            ? config->overrides : "",
                                            config->overrides ? "," : "",
                                            branch->text);
    ScarpConfig grown = *config;
    ScarpDrive *drive;

    if (!has_bytes || branch->bytes < has_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "--with=%s: the "
                    "drive's buffer has %" G_GUINT64_FORMAT " bytes%s",
                    branch->text, has_bytes, has_bytes
                    ? "; it can only be made larger"
                    : ", none, and a running drive cannot get one");
        return false;
    }
    grown.overrides = keys;
    drive = scarp_drive_new(&grown, error);
    if (drive) {
        scarp_drive_free(drive);
    }
    return drive;
}

/*
 * Checks all branches before the run is repeated. Returns false, with *error
 * set, if any branch would be refused.
 */
static bool branches_allowed(GArray *branches, const ScarpConfig *config,
                             GError **error)
{
    ScarpDrive *drive = scarp_drive_new(config, error);
    uint64_t buffer_bytes = drive ? drive->desc.buffer_bytes : 0;
    bool ok = drive;

    for (guint i = 0; ok && i < branches->len; i++) {
        const WhyBranch *branch = &g_array_index(branches, WhyBranch, i);

        if (branch->kind == WHY_UNDER) {
            ok = scarp_drive_may_set_scheme(drive, branch->scheme,
                                            branch->params, error);
            if (!ok) {
                g_prefix_error(error, "--under=%s: ", branch->text);
            }
        } else if (branch->kind == WHY_WITH) {
            ok = may_grow(config, branch, buffer_bytes, error);
        }
    }
    if (drive) {
        scarp_drive_free(drive);
    }
    return ok;
}

/* ---- The run ------------------------------------------------------------ */

/* The power cut or Sanitize at which the record ends. */
typedef struct {
    int64_t cut_ns;   /* SCARP_TIME_NEVER: neither happened */
    const char *what; /* name of the change */
    uint64_t lost;    /* commands that were under way, which no log has */
} Ending;

/*
 * Ends the record at its first power cut or Sanitize. After a power cut the log
 * does not have all commands that were under way. A Sanitize is not repeated.
 * Returns false, with *error set, if a command that was submitted before the
 * change ended after it.
 */
static bool end_at_cut(RerunRecord *record, Ending *ending, GError **error)
{
    *ending = (Ending) { .cut_ns = SCARP_TIME_NEVER };
    for (guint i = 0; record->changes && i < record->changes->len; i++) {
        const Change *change = &g_array_index(record->changes, Change, i);
        uint64_t sent = change->next_command;
        guint n = 0;

        if (!change_end(change)) {
            continue;
        }
        ending->cut_ns = change->time_ns;
        ending->what = change_end(change);
        g_array_set_size(record->changes, i);
        for (; n < record->rows->len &&
               rerun_row(record, n)->cmd.submit_ns < ending->cut_ns; n++) {
            if (rerun_row(record, n)->cmd.complete_ns > ending->cut_ns) {
                g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                            "--changes: the %s at %" G_GINT64_FORMAT " ns, and "
                            "a command that was under way ended: the log is of "
                            "another run", ending->what, ending->cut_ns);
                return false;
            }
        }
        ending->lost = sent != CHANGE_AFTER_ALL && sent > n ? sent - n : 0;
        g_array_set_size(record->rows, n);
        return true;
    }
    return true;
}

static GArray *rows_asked(RerunRecord *record, Ending *ending, GError **error)
{
    GArray *rows;

    if (!end_at_cut(record, ending, error)) {
        return NULL;
    }
    if (!orders == !slowest) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--slowest, --command: one of them is needed");
        return NULL;
    }
    rows = orders ? why_numbered(record, orders, error)
                  : why_slowest(record, slowest, from_ns, to_ns);
    if (!rows && ending->cut_ns != SCARP_TIME_NEVER) {
        g_prefix_error(error, "the %s at %" G_GINT64_FORMAT " ns, and what "
                       "follows cannot be repeated: ", ending->what,
                       ending->cut_ns);
    }
    if (rows && !rows->len) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: has no command that the guest saw end", record->path);
        g_clear_pointer(&rows, g_array_unref);
    }
    return rows;
}

static bool parse_at(int64_t *at_ns, GError **error)
{
    g_autofree char *digits = g_strdup(at_text ? at_text : "");
    uint64_t value;

    *at_ns = SCARP_TIME_NEVER;
    if (!at_text) {
        return true;
    }
    if (g_str_has_suffix(digits, "ns")) {
        digits[strlen(digits) - 2] = '\0';
    }
    if (!g_ascii_string_to_unsigned(digits, 10, 0, SCARP_TIME_LAST, &value,
                                    NULL)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--at=%s: must be a time of the drive's clock, such as "
                    "1200000000ns", at_text);
        return false;
    }
    *at_ns = value;
    return true;
}

/*
 * Forks a process for each branch of the episode. The run is at the episode's
 * instant.
 */
static bool fork_all(RerunPool *pool, Rerun *run, const WhyEpisode *episode,
                     GArray *branches, const WhyHow *how, GError **error)
{
    for (guint i = 0; i < branches->len; i++) {
        guint number = (episode->number - 1) * branches->len + i + 1;
        FILE *out;

        if (!rerun_pool_fork(pool, episode->number, &out, error)) {
            return false;
        }
        if (out) {
            why_branch(run, episode, &g_array_index(branches, WhyBranch, i),
                       how, number, out);
            rerun_pool_child_end(out);
        }
    }
    return true;
}

static bool try_all(GArray *episodes, GArray *branches, const WhyHow *how,
                    const RerunRecord *record, const ScarpConfig *config,
                    GError **error)
{
    RerunPool *pool;
    Rerun run;
    bool ok;

    if (!rerun_begin(&run, record, config, error)) {
        return false;
    }
    ok = true;
    pool = rerun_pool_new(jobs, stdout, "episode");
    for (guint i = 0; i < episodes->len && ok; i++) {
        const WhyEpisode *episode = &g_array_index(episodes, WhyEpisode, i);

        ok = rerun_run(&run, episode->at_ns, error) &&
             fork_all(pool, &run, episode, branches, how, error);
    }
    rerun_pool_wait(pool);
    rerun_pool_free(pool);
    rerun_end(&run);
    return ok;
}

static bool answer(RerunRecord *record, const Ending *ending,
                   const ScarpConfig *config, GArray *rows, GArray *branches,
                   int64_t at_ns, GError **error)
{
    g_autoptr(GArray) episodes = NULL;
    WhySurvey survey;
    WhyHow how = { &survey, logs, trace, strips };
    bool ok;

    if (!why_survey(&survey, record, config, rows, error)) {
        if (ending->lost) {
            g_prefix_error(error, "the %s at %" G_GINT64_FORMAT " ns, with %"
                           G_GUINT64_FORMAT " commands under way that no log "
                           "has; what came before cannot be repeated without "
                           "them: ", ending->what, ending->cut_ns,
                           ending->lost);
        }
        return false;
    }
    episodes = why_episodes(&survey, record, at_ns, most_episodes, error);
    ok = episodes;
    if (ok) {
        printf("{\"schema\": \"scarp-why-1\", \"scarp_version\": \"%s\", "
               "\"commands\": %u, \"most_in_flight\": %u, \"episodes\": %u, "
               "\"branches\": %u}\n", scarp_version(), record->rows->len,
               survey.most_in_flight, episodes->len, branches->len);
        for (guint i = 0; i < episodes->len; i++) {
            why_tell_episode(&g_array_index(episodes, WhyEpisode, i), &survey,
                             record, stdout);
        }
        ok = try_all(episodes, branches, &how, record, config, error);
    }
    why_survey_clear(&survey);
    return ok;
}

static bool run_all(GError **error)
{
    g_autofree char *joined = overrides ? g_strjoinv(",", overrides) : NULL;
    ScarpConfig config = {
        .description_path = description, .params = params,
        .scheme = scheme ? scheme : "baseline", .overrides = joined,
        .seed = seed, .image_path = image,
    };
    g_autoptr(GArray) branches = NULL, rows = NULL;
    RerunRecord *record;
    Ending ending;
    int64_t at_ns;
    bool ok;

    if (!options_in_range(ranges, G_N_ELEMENTS(ranges), error) ||
        !parse_at(&at_ns, error)) {
        return false;
    }
    if (!cmd_log || (!image && !description)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--cmd-log, --image: are needed");
        return false;
    }
    branches = branches_asked(error);
    if (!branches || !branches_allowed(branches, &config, error)) {
        return false;
    }
    record = rerun_record_open(cmd_log, NULL, changes_path, error);
    if (!record) {
        return false;
    }
    rows = rows_asked(record, &ending, error);
    ok = rows &&
         answer(record, &ending, &config, rows, branches, at_ns, error);
    rerun_record_free(record);
    return ok;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context =
        g_option_context_new("- commands of a run, as they would have been");
    g_autoptr(GError) error = NULL;

    setlocale(LC_MESSAGES, "");
    setlocale(LC_CTYPE, "C.UTF-8");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        print_error("scarp-why", error);
        return 2;
    }
    if (version) {
        printf("scarp-why %s\n", scarp_version());
        return 0;
    }
    if (!run_all(&error)) {
        print_error("scarp-why", error);
        return 1;
    }
    return 0;
}
