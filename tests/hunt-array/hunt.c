/*
 * The array's hunt: scenarios by their numbers, each an array, what is asked of
 * it and what happens to its drives and servers, until one breaks a law.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../hunt/child.h"
#include "run.h"
#include "shrink.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef SCARP_CHECKED
#include <sanitizer/lsan_interface.h>
#endif

#define RANGE 32
#define MOST_FAILURES 1024
#define MOST_JOBS 256

static int64_t seed = 1, count = 1000, seconds, jobs, limit;
static gboolean write_text, no_shrink, only_first;
static char *keep_in;
static char **replays;

static const GOptionEntry entries[] = {
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "the first scenario (1)", "N" },
    { "count", 'n', 0, G_OPTION_ARG_INT64, &count,
      "scenarios (1000; with --seconds no limit)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_INT64, &seconds,
      "hunt for so long", "N" },
    { "jobs", 'j', 0, G_OPTION_ARG_INT64, &jobs, "processes (all cores)", "N" },
    { "limit", 0, 0, G_OPTION_ARG_INT64, &limit,
      "processor time of a scenario in seconds (20)", "N" },
    { "text", 0, 0, G_OPTION_ARG_NONE, &write_text,
      "print scenario SEED as a file for --replay, and do nothing else", NULL },
    { "first", 0, 0, G_OPTION_ARG_NONE, &only_first,
      "end with the first failure", NULL },
    { "no-shrink", 0, 0, G_OPTION_ARG_NONE, &no_shrink,
      "leave failing scenarios as they are", NULL },
    { "keep", 0, 0, G_OPTION_ARG_FILENAME, &keep_in,
      "folder for the files of failing scenarios (out/hunt-array)", "DIR" },
    { "replay", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &replays,
      "run the scenario of a file; may be repeated", "FILE" },
    { NULL }
};

typedef struct {
    uint64_t next, failed;
    Failure failure[MOST_FAILURES];
    Report report[MOST_JOBS];
    ArrayRunResult result[MOST_JOBS];
} Shared;

typedef struct {
    uint64_t first, end;
    int64_t until_us; /* 0: no limit */
    ArrayRunResult *result;
} Range;

/* In a child: its own. */
static Report *own_report;

void wrong(const char *format, ...)
{
    va_list list;
    g_autofree char *text = NULL;

    va_start(list, format);
    text = g_strdup_vprintf(format, list);
    va_end(list);
    world_clear(the_world); /* its files */
    child_fail(own_report, text);
}

static bool time_is_up(int64_t until_us)
{
    return until_us && g_get_monotonic_time() >= until_us;
}

static void run_one(Report *report, const ArrayScenario *s,
                    ArrayRunResult *result)
{
    g_autofree char *why = NULL;

    own_report = report;
    g_strlcpy(report->mapping, "array", sizeof(report->mapping));
    if (array_run(s, result, &why)) {
        report->accepted++;
    } else {
        report->refused++;
    }
    report->done++;
}

static void check_leaks(void)
{
#ifdef SCARP_CHECKED
    if (__lsan_do_recoverable_leak_check()) {
        _exit(1);
    }
#endif
}

static void run_range(Report *report, void *opaque)
{
    const Range *range = opaque;

    for (uint64_t n = range->first; n < range->end; n++) {
        ArrayScenario *s;

        if (time_is_up(range->until_us)) {
            return;
        }
        child_begin(report, n, limit);
        s = array_scenario_draw(n);
        run_one(report, s, range->result);
        array_scenario_free(s);
        check_leaks();
    }
}

static void keep(Shared *shared, const Failure *failure)
{
    uint64_t at = __atomic_fetch_add(&shared->failed, 1, __ATOMIC_SEQ_CST);

    if (at < MOST_FAILURES) {
        shared->failure[at] = *failure;
    }
}

static void work(Shared *shared, unsigned job, int64_t until_us)
{
    uint64_t end = (uint64_t)seed + count;

    while (!time_is_up(until_us)) {
        uint64_t at = __atomic_fetch_add(&shared->next, RANGE,
                                         __ATOMIC_SEQ_CST);
        Range range = { at, MIN(at + RANGE, end), until_us,
                        &shared->result[job] };
        Failure failure;

        while (range.first < range.end &&
               !child_run(run_range, &range, &shared->report[job], &failure)) {
            keep(shared, &failure);
            printf("# seed %" G_GUINT64_FORMAT " (array): %s\n",
                   failure.number, failure.message);
            fflush(stdout);
            range.first = only_first ? range.end : failure.number + 1;
        }
        if (at >= end || (only_first && shared->failed)) {
            return;
        }
    }
}

/* ---- What came of it ---------------------------------------------------- */

static void try_scenario(Report *report, void *scenario)
{
    ArrayRunResult result = { 0 };

    child_begin(report, 0, MIN(limit, 4));
    run_one(report, scenario, &result);
    check_leaks();
}

static void leave_file(const Failure *failure)
{
    ArrayScenario *s = array_scenario_draw(failure->number);
    Report *report = child_shared(sizeof(*report));
    g_autofree char *path = g_strdup_printf("%s/%" G_GUINT64_FORMAT ".hunt",
                                            keep_in, failure->number);
    g_autofree char *signature = child_signature(failure);
    g_autofree char *text = NULL, *whole = NULL;
    g_autoptr(GError) error = NULL;

    if (!no_shrink) {
        s = array_shrink(s, try_scenario, report, signature, 20);
    }
    text = array_scenario_text(s);
    whole = g_strdup_printf("# seed %" G_GUINT64_FORMAT ": %s\n%s",
                            failure->number, failure->message, text);
    array_scenario_free(s);
    g_mkdir_with_parents(keep_in, 0755);
    if (!g_file_set_contents(path, whole, -1, &error)) {
        fprintf(stderr, "hunt: %s\n", error->message);
        return;
    }
    printf("# seed %" G_GUINT64_FORMAT ": make hunt-array ARGS='--replay %s'\n",
           failure->number, path);
}

/* The first of each kind. */
static void tell_failures(const Shared *shared)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                       g_free, NULL);

    for (uint64_t i = 0; i < MIN(shared->failed, MOST_FAILURES); i++) {
        const Failure *failure = &shared->failure[i];
        char *what = child_signature(failure);

        if (!g_hash_table_add(seen, what)) {
            continue;
        }
        printf("not ok: %s; seed %" G_GUINT64_FORMAT "\n", failure->message,
               failure->number);
        leave_file(failure);
    }
}

static int hunt(void)
{
    Shared *shared = child_shared(sizeof(*shared));
    int64_t began_us = g_get_monotonic_time();
    int64_t until_us = seconds ? began_us + seconds * 1000000 : 0;
    ArrayRunResult all = { 0 };
    uint64_t done = 0, refused = 0;

    shared->next = seed;
    for (unsigned i = 0; i < jobs; i++) {
        fflush(NULL);
        if (!fork()) {
            work(shared, i, until_us);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
        continue;
    }
    for (unsigned i = 0; i < jobs; i++) {
        const uint64_t *from = (const uint64_t *)&shared->result[i];

        for (size_t k = 0; k < sizeof(all) / sizeof(*from); k++) {
            ((uint64_t *)&all)[k] += from[k];
        }
        done += shared->report[i].done;
        refused += shared->report[i].refused;
    }
    printf("# %" G_GUINT64_FORMAT " scenarios (%" G_GUINT64_FORMAT " of keys "
           "that do not go together), %" G_GUINT64_FORMAT " requests, %"
           G_GUINT64_FORMAT " I/O, %" G_GUINT64_FORMAT " servers, %"
           G_GUINT64_FORMAT " killed or cut, %" G_GUINT64_FORMAT " starts "
           "refused; %.0f s\n", done, refused, all.requests, all.ios,
           all.lives, all.died, all.refused,
           (g_get_monotonic_time() - began_us) / 1e6);
    tell_failures(shared);
    printf("%" G_GUINT64_FORMAT " passed, %" G_GUINT64_FORMAT " failed\n",
           done, shared->failed);
    return shared->failed > 0 || !done;
}

static int replay(const char *path, unsigned number)
{
    Report *report = child_shared(sizeof(*report));
    g_autofree char *text = NULL, *why = NULL;
    g_autoptr(GError) error = NULL;
    ArrayScenario *s = NULL;
    Failure failure;
    bool good;

    if (!g_file_get_contents(path, &text, NULL, &error)) {
        printf("not ok %u %s: %s\n", number, path, error->message);
        return 1;
    }
    s = array_scenario_parse(text, &why);
    if (!s) {
        printf("not ok %u %s: %s\n", number, path, why);
        return 1;
    }
    good = child_run(try_scenario, s, report, &failure);
    array_scenario_free(s);
    if (good && report->refused) {
        printf("not ok %u %s: its array cannot be made\n", number, path);
        return 1;
    }
    printf("%sok %u %s%s%s\n", good ? "" : "not ", number, path,
           good ? "" : ": ", good ? "" : failure.message);
    return !good;
}

static int replay_all(void)
{
    unsigned number = 0, failed = 0;

    for (char **path = replays; *path; path++) {
        failed += replay(*path, ++number);
    }
    printf("1..%u\n%u passed, %u failed\n", number, number - failed, failed);
    return failed > 0;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context =
        g_option_context_new("- random arrays, requests, faults and restarts");
    g_autoptr(GError) error = NULL;
    bool given = false;

    for (int i = 1; i < argc; i++) {
        given |= g_str_has_prefix(argv[i], "--count") ||
                 g_str_has_prefix(argv[i], "-n");
    }
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "hunt: %s\n", error->message);
        return 2;
    }
    keep_in = keep_in ? keep_in : "out/hunt-array";
    limit = limit > 0 ? limit : 20;
    if (seconds && !given) {
        count = INT64_MAX / 4;
    }
    if (jobs < 1 || jobs > MOST_JOBS) {
        jobs = CLAMP(g_get_num_processors(), 1, MOST_JOBS);
    }
    if (replays) {
        return replay_all();
    }
    if (write_text) {
        ArrayScenario *s = array_scenario_draw(seed);
        g_autofree char *text = array_scenario_text(s);

        printf("%s", text);
        array_scenario_free(s);
        return 0;
    }
    return hunt();
}
