/*
 * The hunt: scenarios by their numbers, each a drive, a scheme and what a host
 * does to them, until one breaks a law.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "child.h"
#include "forks.h"
#include "meta.h"
#include "schemes.h"
#include "shrink.h"
#include "tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANGE 32
#define MOST_FAILURES 4096
#define MOST_JOBS 256

static int64_t seed = 1, count = 1000, seconds, jobs, limit, theme;
static char *scheme, *mapping, *without, *lie;
static char **replays;
static gboolean write_text, no_shrink, all_marks, only_first, cuts, cut_kinds;
static gboolean forks;
static char *plant_name;
static ForksPlant plant;
static gboolean slc;
static gboolean units;
static char *keep_in;

static const GOptionEntry entries[] = {
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "the first scenario (1)", "N" },
    { "count", 'n', 0, G_OPTION_ARG_INT64, &count,
      "scenarios (1000; with --seconds no limit)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_INT64, &seconds,
      "hunt for so long", "N" },
    { "scheme", 0, 0, G_OPTION_ARG_STRING, &scheme,
      "only this scheme, choices joined by '+'", "NAME" },
    { "mapping", 0, 0, G_OPTION_ARG_STRING, &mapping,
      "only this ftl.mapping", "NAME" },
    { "without", 0, 0, G_OPTION_ARG_STRING, &without,
      "no drive that sets one of these keys", "KEY,KEY" },
    { "cuts", 0, 0, G_OPTION_ARG_NONE, &cuts,
      "only drives whose power fails", NULL },
    { "slc", 0, 0, G_OPTION_ARG_NONE, &slc,
      "only drives with an SLC cache", NULL },
    { "units", 0, 0, G_OPTION_ARG_NONE, &units,
      "only drives with reclaim units of several planes", NULL },
    { "cut-kinds", 0, 0, G_OPTION_ARG_NONE, &cut_kinds,
      "print how many cuts each kind of drive had", NULL },
    { "lie", 0, 0, G_OPTION_ARG_STRING, &lie,
      "and each tells this lie (lie.NAME of its description)", "NAME" },
    { "forks", 0, 0, G_OPTION_ARG_NONE, &forks,
      "run each scenario again from its log, and fork at random instants",
      NULL },
    { "plant", 0, 0, G_OPTION_ARG_STRING, &plant_name,
      "with --forks: spoil each log, which must be found: a switch is not in "
      "it, or an arrival is 1 ns late", "switch|arrival" },
    { "theme", 0, 0, G_OPTION_ARG_INT64, &theme,
      "only this theme of tests/hunt/themes.c, from 1 on", "N" },
    { "jobs", 'j', 0, G_OPTION_ARG_INT64, &jobs, "processes (all cores)", "N" },
    { "limit", 0, 0, G_OPTION_ARG_INT64, &limit,
      "processor time of a scenario in seconds (20; with sanitizers 120)",
      "N" },
    { "text", 0, 0, G_OPTION_ARG_NONE, &write_text,
      "print scenario SEED as a file for --replay, and do nothing else", NULL },
    { "first", 0, 0, G_OPTION_ARG_NONE, &only_first,
      "end with the first failure", NULL },
    { "no-shrink", 0, 0, G_OPTION_ARG_NONE, &no_shrink,
      "leave failing scenarios as they are", NULL },
    { "marks", 0, 0, G_OPTION_ARG_NONE, &all_marks,
      "print how often each mark was met (checked builds)", NULL },
    { "keep", 0, 0, G_OPTION_ARG_FILENAME, &keep_in,
      "folder for the files of failing scenarios (out/hunt)", "DIR" },
    { "replay", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &replays,
      "run the scenario of a file; may be repeated", "FILE" },
    { NULL }
};

typedef struct {
    uint64_t next, failed;
    Failure failure[MOST_FAILURES];
    Report report[MOST_JOBS];
} Shared;

typedef struct {
    uint64_t first, end;
    int64_t until_us; /* 0: no limit */
} Range;

static bool time_is_up(int64_t until_us)
{
    return until_us && g_get_monotonic_time() >= until_us;
}

static void run_one(Report *report, const Scenario *s)
{
    g_autoptr(GError) error = NULL;
    RunResult result = { .kinds = report->kinds };

    g_strlcpy(report->mapping, scenario_mapping(s), sizeof(report->mapping));
    g_strlcpy(report->scheme, s->scheme, sizeof(report->scheme));
    if (forks ? !forks_run(s, report->number, plant, &result, &report->forks,
                           &error)
              : !meta_run(s, &result, &error)) {
        child_fail(report, error->message);
    }
    report->done++;
    report->commands += result.commands;
    report->events += result.events;
    report->collecting += result.collected > 0;
    report->merging += result.merged > 0;
    report->phased += result.phases > 1;
    for (unsigned i = 0; i < MOST_MARKS; i++) {
        report->marks[i] += result.marks[i];
        report->met[i] += result.marks[i] > 0;
    }
    report->with_commands[MIN(result.commands / COMMAND_BUCKET,
                              COMMAND_BUCKETS - 1)]++;
}

/* The scenario, which is taken; with --forks it is what a log can tell. */
static Scenario *as_asked(Scenario *s, uint64_t number)
{
    Scenario *own = s;

    if (forks) {
        own = forks_scenario(s, number);
        scenario_free(s);
    }
    return own;
}

static void run_range(Report *report, void *opaque)
{
    const Range *range = opaque;
    const ScenarioWish wish = { .scheme = scheme, .mapping = mapping,
                                .without = without, .theme = theme,
                                .cuts = cuts || lie, .lie = lie,
                                .slc = slc, .units = units };

    for (uint64_t n = range->first; n < range->end; n++) {
        ScenarioDraws draws;
        Scenario *s;

        if (time_is_up(range->until_us)) {
            return;
        }
        child_begin(report, n, limit);
        s = scenario_draw(n, &wish, &draws);
        report->accepted += draws.accepted;
        report->refused += draws.refused;
        if (!s) {
            child_fail(report, "no drive that was drawn is accepted");
        }
        if (*draws.odd) {
            g_autofree char *text = g_strdup_printf(
                "a refusal names no key: %s", draws.odd);

            child_fail(report, text);
        }
        s = as_asked(s, n);
        run_one(report, s);
        scenario_free(s);
    }
}

static void keep(Shared *shared, const Failure *failure)
{
    uint64_t at = __atomic_fetch_add(&shared->failed, 1, __ATOMIC_SEQ_CST);

    if (at < MOST_FAILURES) {
        shared->failure[at] = *failure;
    }
}

static void work(Shared *shared, Report *report, int64_t until_us)
{
    uint64_t end = (uint64_t)seed + count;

    while (!time_is_up(until_us)) {
        uint64_t at = __atomic_fetch_add(&shared->next, RANGE,
                                         __ATOMIC_SEQ_CST);
        Range range = { at, MIN(at + RANGE, end), until_us };
        Failure failure;

        while (range.first < range.end &&
               !child_run(run_range, &range, report, &failure)) {
            g_autofree char *what = child_signature(&failure);

            keep(shared, &failure);
            printf("# seed %" G_GUINT64_FORMAT " (%s): %s: %s\n",
                   failure.number, failure.scheme, failure.mapping,
                   failure.message);
            fflush(stdout);
            range.first = only_first ? range.end : failure.number + 1;
        }
        if (at >= end || (only_first && shared->failed)) {
            return;
        }
    }
}

/* ---- What came of it ------------------------------------------------ */

static gint by_signature(gconstpointer a, gconstpointer b)
{
    const Failure *x = *(Failure *const *)a, *y = *(Failure *const *)b;
    g_autofree char *one = child_signature(x);
    g_autofree char *two = child_signature(y);
    int order = strcmp(one, two);

    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* In a child: whether a scenario that is there already fails. */
static void try_scenario(Report *report, void *scenario)
{
    /* An endless run must not cost the time of all other tries. */
    child_begin(report, 0, MIN(limit, 4));
    run_one(report, scenario);
}

typedef struct {
    const Scenario *s;
    Log *log;
} Logged;

static void run_logged(Report *report, void *opaque)
{
    const Logged *logged = opaque;
    RunResult result = { .log = logged->log, .fold = meta_fold(logged->s) };
    g_autoptr(GError) error = NULL;

    child_begin(report, 0, MIN(limit, 4));
    run_scenario(logged->s, &result, &error);
}

/* For the replayer; says how to open it there. */
static void leave_replay(const Scenario *s, const char *path, Report *report)
{
    Logged logged = { s, child_shared(sizeof(Log)) };
    g_autofree char *base = g_strndup(path, strlen(path) - strlen(".hunt"));
    g_autofree char *arguments = NULL;
    g_autoptr(GError) error = NULL;
    Failure failure;

    logged.log->all = true;
    child_run(run_logged, &logged, report, &failure);
    if (!logged.log->n) {
        return; /* it does not come so far */
    }
    arguments = export_files(s, logged.log, base, &error);
    if (arguments) {
        printf("#   scripts/scarp replay %s\n", arguments);
    }
}

/* Into files, made small before. */
static void leave_file(const Failure *failure)
{
    const ScenarioWish wish = { .scheme = scheme, .mapping = mapping,
                                .without = without, .theme = theme,
                                .cuts = cuts || lie, .lie = lie,
                                .slc = slc, .units = units };
    ScenarioDraws draws;
    Scenario *s = scenario_draw(failure->number, &wish, &draws);
    Report *report = child_shared(sizeof(Report));
    g_autofree char *signature = child_signature(failure);
    g_autofree char *path = g_strdup_printf("%s/%" G_GUINT64_FORMAT ".hunt",
                                            keep_in, failure->number);
    g_autofree char *text = NULL;
    g_autoptr(GString) file = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    if (!s) {
        return;
    }
    s = as_asked(s, failure->number);
    if (!no_shrink) {
        Shrink how = { .work = try_scenario, .signature = signature,
                       .report = report, .seconds = 20 };
        Scenario *small = shrink(&how, s);

        scenario_free(s);
        s = small;
    }
    printf("# seed %" G_GUINT64_FORMAT ": make hunt ARGS='--replay %s'\n",
           failure->number, path);
    leave_replay(s, path, report);
    text = scenario_text(s);
    g_string_append_printf(file, "# seed %" G_GUINT64_FORMAT ": %s: %s\n%s",
                           failure->number, failure->mapping, failure->message,
                           text);
    scenario_free(s);
    if (!g_file_set_contents(path, file->str, -1, &error)) {
        fprintf(stderr, "hunt: %s\n", error->message);
    }
}

/* One of each kind; as many processes as there are cores. */
static void leave_files(GPtrArray *first)
{
    unsigned running = 0;

    g_mkdir_with_parents(keep_in, 0755);
    for (guint i = 0; i < first->len; i++) {
        if (running == jobs) {
            wait(NULL);
            running--;
        }
        fflush(NULL);
        running++;
        if (!fork()) {
            leave_file(first->pdata[i]);
            fflush(stdout);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
        continue;
    }
}

/* The first of each kind. */
static GPtrArray *print_failures(Shared *shared)
{
    g_autoptr(GPtrArray) first = g_ptr_array_new();
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    uint64_t n = MIN(shared->failed, MOST_FAILURES);

    for (uint64_t i = 0; i < n; i++) {
        g_ptr_array_add(all, &shared->failure[i]);
    }
    g_ptr_array_sort(all, by_signature);
    for (guint i = 0; i < all->len;) {
        g_autofree char *what = child_signature(all->pdata[i]);
        guint begin = i;

        for (; i < all->len; i++) {
            g_autofree char *other = child_signature(all->pdata[i]);

            if (strcmp(what, other)) {
                break;
            }
        }
        g_ptr_array_add(first, all->pdata[begin]);
        printf("not ok: %u x %s; seeds", i - begin, what);
        for (guint k = begin; k < i && k < begin + 6; k++) {
            printf(" %" G_GUINT64_FORMAT,
                   ((Failure *)all->pdata[k])->number);
        }
        printf("\n");
    }
    return g_steal_pointer(&first);
}

static int hunt(void)
{
    Shared *shared = child_shared(sizeof(*shared));
    int64_t began_us = g_get_monotonic_time();
    int64_t until_us = seconds ? began_us + seconds * 1000000 : 0;
    g_autoptr(GPtrArray) first = NULL;
    uint64_t done = 0;

    shared->next = seed;
    for (int64_t i = 0; i < jobs; i++) {
        fflush(NULL);
        if (!fork()) {
            work(shared, &shared->report[i], until_us);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
        continue;
    }
    for (int64_t i = 0; i < jobs; i++) {
        done += shared->report[i].done;
    }
    first = print_failures(shared);
    if (!tell_sums(shared->report, jobs,
                   (g_get_monotonic_time() - began_us) / 1e6, all_marks,
                   cut_kinds)) {
        printf("not ok: a state that a campaign should meet was not met\n");
        shared->failed++;
    }
    leave_files(first);
    printf("%" G_GUINT64_FORMAT " passed, %" G_GUINT64_FORMAT " failed\n",
           done, shared->failed);
    return shared->failed || !done;
}

/* ---- Scenarios of files --------------------------------------------- */

static void replay_file(Report *report, void *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    g_autoptr(Scenario) s = NULL;
    ScarpDrive *drive;

    child_begin(report, 0, limit);
    if (g_file_get_contents(path, &text, NULL, &error)) {
        s = scenario_parse(text, &error);
    }
    if (!s) {
        child_fail(report, error->message);
    }
    drive = scenario_build(s, NULL, s->scheme, s->params, s->seed, NULL,
                           &error);
    if (!drive) {
        g_strlcpy(report->message, error->message, sizeof(report->message));
        return;
    }
    scarp_drive_free(drive);
    run_one(report, s);
}

static int replay_all(void)
{
    Report *report = child_shared(sizeof(*report));
    int number = 0, failed = 0;

    for (char **path = replays; *path; path++) {
        Failure failure;

        number++;
        if (child_run(replay_file, *path, report, &failure)) {
            /* What cannot work may be refused since. */
            printf("ok %d %s%s%s\n", number, *path,
                   *report->message ? ": refused: " : "", report->message);
        } else {
            printf("not ok %d %s: %s: %s\n", number, *path, failure.mapping,
                   failure.message);
            failed++;
        }
    }
    printf("1..%d\n%d passed, %d failed\n", number, number - failed, failed);
    return failed > 0;
}

/* A scheme that does not exist is refused by itself, not by some drive. */
static bool scheme_exists(void)
{
    g_autofree char *unknown = scheme ? schemes_unknown(scheme) : NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(Scenario) s = scenario_new();
    ScarpDrive *drive;

    if (!unknown) {
        return true;
    }
    drive = scenario_build(s, NULL, unknown, NULL, 1, NULL, &error);
    fprintf(stderr, "hunt: %s\n", error ? error->message : unknown);
    if (drive) {
        scarp_drive_free(drive);
    }
    return false;
}

/* Whether there is a scenario at all; its text, if that is asked for. */
static int one_scenario(void)
{
    const ScenarioWish wish = { .scheme = scheme, .mapping = mapping,
                                .without = without, .theme = theme,
                                .cuts = cuts || lie, .lie = lie,
                                .slc = slc, .units = units };
    ScenarioDraws draws;
    Scenario *s = scenario_draw(seed, &wish, &draws);
    g_autofree char *text = s ? scenario_text(s) : NULL;

    if (!s) {
        fprintf(stderr, "hunt: no drive is accepted: %s\n", draws.last);
        return 2;
    }
    if (write_text) {
        printf("%s", text);
    }
    scenario_free(s);
    return 0;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context =
        g_option_context_new("- random drives, schemes and hosts");
    g_autoptr(GError) error = NULL;
    bool given = false;
    int status;

    for (int i = 1; i < argc; i++) {
        given |= g_str_has_prefix(argv[i], "--count") ||
                 g_str_has_prefix(argv[i], "-n");
    }
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "hunt: %s\n", error->message);
        return 2;
    }
    keep_in = keep_in ? keep_in : "out/hunt";
    if (seconds && !given) {
        count = INT64_MAX / 4;
    }
    if (jobs < 1 || jobs > MOST_JOBS) {
        jobs = CLAMP(g_get_num_processors(), 1, MOST_JOBS);
    }
    if (limit < 1) {
#ifdef SCARP_CHECKED
        limit = 120;
#else
        limit = 20;
#endif
    }
    if (replays) {
        return replay_all();
    }
    if (!scheme_exists()) {
        return 2;
    }
    while (plant_name && (!forks_plant_name(plant) ||
                          strcmp(plant_name, forks_plant_name(plant)))) {
        if (++plant == FORKS__COUNT || !forks) {
            fprintf(stderr, "hunt: --plant=%s: allowed are switch and arrival, "
                    "with --forks\n", plant_name);
            return 2;
        }
    }
    if (theme < 0 || (theme && !theme_numbered(theme))) {
        fprintf(stderr, "hunt: --theme: %" G_GINT64_FORMAT " is no theme of "
                "tests/hunt/themes.c\n", theme);
        return 2;
    }
    status = one_scenario();
    return status || write_text ? status : hunt();
}
