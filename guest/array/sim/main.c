/*
 * scarp-array: the array's core on simulated drives
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

#include "replay/options.h"
#include "replay/refused.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

const char *const sim_mode_names[SIM_MODES] = {
    "independent", "striped", "cached", "flusher", "coordinated",
};

static char *description, *scheme, *params, *keys, *mode, *workload, *json,
            *images, *record, *replay;
static char **overrides;
static int64_t seed = 1, drives = 6, threads, depth = 32, drive_slots = 128,
               host_ns = 2000, read_permille, request_bytes = 4096,
               fill_permille = 800, warmup = -1, requests = 100000,
               barrier_every, turn_us = 500000, turn_drives = 1,
               turn_free_blocks = 4;
static gboolean fresh, list, version;

static const GOptionEntry entries[] = {
    { "description", 'd', 0, G_OPTION_ARG_FILENAME, &description,
      "the drives, all alike", "FILE" },
    { "scheme", 's', 0, G_OPTION_ARG_STRING, &scheme,
      "their GC scheme (baseline)", "NAME" },
    { "params", 'p', 0, G_OPTION_ARG_STRING, &params, "its parameters",
      "KEY=VALUE,..." },
    { "override", 'o', 0, G_OPTION_ARG_STRING_ARRAY, &overrides,
      "a key of the description; repeatable", "GROUP.KEY=VALUE" },
    { "keys", 'k', 0, G_OPTION_ARG_STRING, &keys,
      "of the array; --list shows them", "KEY=VALUE,..." },
    { "mode", 'm', 0, G_OPTION_ARG_STRING, &mode,
      "independent, striped, cached, flusher or coordinated (flusher)",
      "NAME" },
    { "drives", 'n', 0, G_OPTION_ARG_INT64, &drives, "(6)", "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT64, &threads,
      "of the application (0: one a drive)", "N" },
    { "depth", 'q', 0, G_OPTION_ARG_INT64, &depth,
      "requests that each has outstanding (32)", "N" },
    { "drive-slots", 0, 0, G_OPTION_ARG_INT64, &drive_slots,
      "I/O on a drive at once, without a cache (128)", "N" },
    { "host-ns", 0, 0, G_OPTION_ARG_INT64, &host_ns,
      "a thread's time for a request (2000)", "N" },
    { "workload", 'w', 0, G_OPTION_ARG_STRING, &workload,
      "uniform or zipf, of exponent 1 (uniform)", "NAME" },
    { "read-permille", 0, 0, G_OPTION_ARG_INT64, &read_permille, "(0)", "N" },
    { "request-bytes", 0, 0, G_OPTION_ARG_INT64, &request_bytes,
      "a page, or a divisor of one (4096)", "N" },
    { "fill-permille", 0, 0, G_OPTION_ARG_INT64, &fill_permille,
      "of each drive that is written and then addressed (800)", "N" },
    { "fresh", 0, 0, G_OPTION_ARG_NONE, &fresh,
      "drives that were never written", NULL },
    { "images", 0, 0, G_OPTION_ARG_FILENAME, &images,
      "aged drives are kept there, and taken from there", "FOLDER" },
    { "record", 0, 0, G_OPTION_ARG_FILENAME, &record,
      "what the array's core is asked and what it decides", "FILE" },
    { "replay", 0, 0, G_OPTION_ARG_FILENAME, &replay,
      "ask this program's core the same: it must decide the same", "FILE" },
    { "warmup", 0, 0, G_OPTION_ARG_INT64, &warmup,
      "requests before those that count (-1: four times the cache's pages)",
      "N" },
    { "requests", 'r', 0, G_OPTION_ARG_INT64, &requests,
      "that count (100000)", "N" },
    { "barrier-every", 0, 0, G_OPTION_ARG_INT64, &barrier_every,
      "requests of a thread, which then flushes and waits (0: never)", "N" },
    { "turn-us", 0, 0, G_OPTION_ARG_INT64, &turn_us,
      "coordinated: length of a turn (500000)", "N" },
    { "turn-drives", 0, 0, G_OPTION_ARG_INT64, &turn_drives,
      "coordinated: drives that collect at a time (1)", "N" },
    { "turn-free-blocks", 0, 0, G_OPTION_ARG_INT64, &turn_free_blocks,
      "coordinated: of each plane, what they collect up to (4)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "of everything (1)", "N" },
    { "json", 'j', 0, G_OPTION_ARG_FILENAME, &json,
      "where the results go (standard output)", "FILE" },
    { "list", 0, 0, G_OPTION_ARG_NONE, &list, "the array's keys", NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, &version, "of the engine", NULL },
    G_OPTION_ENTRY_NULL
};

static const OptionRange ranges[] = {
    { "drives", &drives, 1, ARRAY_MAX_DRIVES },
    { "threads", &threads, 0, 4096 },
    { "depth", &depth, 1, 1 << 20 },
    { "drive-slots", &drive_slots, 1, 1 << 20 },
    { "host-ns", &host_ns, 0, 1000000000 },
    { "read-permille", &read_permille, 0, 1000 },
    { "request-bytes", &request_bytes, 1, 65536 },
    { "fill-permille", &fill_permille, 1, 1000 },
    { "warmup", &warmup, -1, G_MAXINT32 },
    { "requests", &requests, 1, G_MAXINT32 },
    { "barrier-every", &barrier_every, 0, G_MAXINT32 },
    { "turn-us", &turn_us, 10, 1000000000 },
    { "turn-drives", &turn_drives, 1, ARRAY_MAX_DRIVES },
    { "turn-free-blocks", &turn_free_blocks, 1, 65536 },
    { "seed", &seed, 0, G_MAXINT32 },
};

/* Stands for a number that was not given. No range includes it. */
#define NOT_GIVEN G_MININT64

/*
 * False, with *error set, if --replay was given with an option that a record
 * has itself. A record has all but the options for the drives and their ageing.
 */
static bool alone_with_replay(const bool *number_given, GError **error)
{
    static const char *const allowed[] = { "fill-permille", "seed", NULL };
    const char *given = mode ? "mode" : keys ? "keys" :
                        workload ? "workload" : record ? "record" : NULL;

    for (size_t i = 0; entries[i].long_name; i++) {
        if (number_given[i] &&
            !g_strv_contains(allowed, entries[i].long_name)) {
            given = entries[i].long_name;
        }
    }
    if (replay && given) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--%s: excludes --replay", given);
    }
    return !replay || !given;
}

/*
 * Parses the options. number_given[i] becomes true if entry i is a number and
 * was given.
 */
static bool parse(int *argc, char ***argv, bool *number_given, GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    int64_t usual[G_N_ELEMENTS(entries)];
    bool good;

    for (size_t i = 0; entries[i].long_name; i++) {
        if (entries[i].arg == G_OPTION_ARG_INT64) {
            usual[i] = *(int64_t *)entries[i].arg_data;
            *(int64_t *)entries[i].arg_data = NOT_GIVEN;
        }
    }
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_summary(context,
        "An application's threads on an array of simulated drives.");
    good = g_option_context_parse(context, argc, argv, error);
    for (size_t i = 0; entries[i].long_name; i++) {
        int64_t *value = entries[i].arg_data;

        number_given[i] = entries[i].arg == G_OPTION_ARG_INT64 &&
                          *value != NOT_GIVEN;
        if (entries[i].arg == G_OPTION_ARG_INT64 && !number_given[i]) {
            *value = usual[i];
        }
    }
    if (good && *argc > 1) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "%s: no such argument", (*argv)[1]);
    }
    return good && *argc == 1;
}

/* Refuses options of other modes, as they would do nothing in this one. */
static bool of_this_mode(SimMode chosen, const bool *number_given,
                         GError **error)
{
    for (size_t i = 0; entries[i].long_name; i++) {
        const char *name = entries[i].long_name, *needs = NULL;

        if (g_str_has_prefix(name, "turn-") && chosen != SIM_COORDINATED) {
            needs = "coordinated";
        } else if (!strcmp(name, "drive-slots") && chosen >= SIM_CACHED) {
            needs = "independent or striped; the array's are --keys=slots=N";
        }
        if (number_given[i] && needs) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--%s: needs --mode=%s", name, needs);
            return false;
        }
    }
    return true;
}

/* False, with *error set, if an output would overwrite an input. */
static bool files_apart(GError **error)
{
    const OptionFile files[] = {
        { "--description", description, false },
        { "--replay", replay, false },
        { "--record", record, true },
        { "--json", json, true },
    };

    return options_apart(files, G_N_ELEMENTS(files), error);
}

static bool options(SimOptions *o, const bool *number_given, GError **error)
{
    static const char *const workloads[] = { "uniform", "zipf" };
    uint32_t chosen_mode, chosen_workload;

    if (!description) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--description=FILE: must be given");
        return false;
    }
    if (!options_in_range(ranges, G_N_ELEMENTS(ranges), error) ||
        !option_one_of("mode", mode ? mode : "flusher", sim_mode_names,
                       SIM_MODES, &chosen_mode, error) ||
        !option_one_of("workload", workload ? workload : "uniform",
                       workloads, 2, &chosen_workload, error) ||
        !of_this_mode(chosen_mode, number_given, error) ||
        !files_apart(error)) {
        return false;
    }
    if (images && fresh) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--images: excludes --fresh");
        return false;
    }
    if (chosen_mode == SIM_INDEPENDENT && threads && threads % drives) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--threads=%" G_GINT64_FORMAT ": must be a multiple of "
                    "--drives=%" G_GINT64_FORMAT " with --mode=independent",
                    threads, drives);
        return false;
    }
    if (chosen_mode == SIM_COORDINATED && turn_drives > drives) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--turn-drives=%" G_GINT64_FORMAT ": must be at most "
                    "--drives=%" G_GINT64_FORMAT, turn_drives, drives);
        return false;
    }
    if (barrier_every && chosen_mode < SIM_CACHED) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--barrier-every: needs --mode=cached, flusher or "
                    "coordinated");
        return false;
    }
    if (record && chosen_mode < SIM_CACHED) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--record: needs --mode=cached, flusher or coordinated");
        return false;
    }
    if (request_bytes % 512 && chosen_mode < SIM_CACHED) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--request-bytes=%" G_GINT64_FORMAT ": drives take "
                    "multiples of 512; other sizes need --mode=cached, "
                    "flusher or coordinated", request_bytes);
        return false;
    }
    *o = (SimOptions) {
        .mode = chosen_mode, .description = description,
        .scheme = scheme ? scheme : "baseline", .params = params,
        .keys = keys, .seed = seed, .drives = drives, .threads = threads,
        .depth = depth, .drive_slots = drive_slots, .host_ns = host_ns,
        .zipf = chosen_workload, .read_permille = read_permille,
        .request_bytes = request_bytes, .fill_permille = fill_permille,
        .fresh = fresh, .images = images, .record = record,
        .warmup = warmup < 0 ? UINT64_MAX : (uint64_t)warmup,
        .requests = requests, .barrier_every = barrier_every,
        .turn_ns = turn_us * 1000, .turn_drives = turn_drives,
        .turn_free_blocks = turn_free_blocks,
    };
    return true;
}

static void print_keys(void)
{
    for (size_t i = 0; i < array_key_count; i++) {
        const ArrayKey *key = &array_keys[i];

        printf("%-16s %s (%" G_GUINT64_FORMAT "; %" G_GUINT64_FORMAT " to %"
               G_GUINT64_FORMAT ")\n", key->name, key->help, key->fallback,
               key->min, key->max);
    }
}

/*
 * Writes text to the file json, or to standard output. An existing device, pipe
 * or link is written to, and not replaced.
 */
static bool write_text(const char *text, GError **error)
{
    FILE *out = json ? fopen(json, "w") : stdout;
    bool ok = out && fputs(text, out) >= 0 && !fflush(out);

    if (!ok) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: cannot be written: %s",
                    json ? json : "standard output", g_strerror(errno));
    }
    if (json && out) {
        fclose(out);
    }
    return ok;
}

static char *simulate(const SimOptions *o, GError **error)
{
    SimResult result = { 0 };
    char *text = NULL;

    if (sim_run(o, &result, error)) {
        text = sim_json(o, &result);
    }
    sim_result_clear(&result);
    return text;
}

static char *play(const SimOptions *o, GError **error)
{
    SimReplay result;

    return sim_replay(o, replay, &result, error) ? sim_replay_json(&result) :
                                                   NULL;
}

static bool run(const bool *number_given, GError **error)
{
    g_autofree char *joined = overrides ? g_strjoinv(",", overrides) : NULL;
    g_autofree char *text = NULL;
    SimOptions o;

    if (!options(&o, number_given, error)) {
        return false;
    }
    o.overrides = joined;
    text = replay ? play(&o, error) : simulate(&o, error);
    return text && write_text(text, error);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    bool number_given[G_N_ELEMENTS(entries)];
    bool good;

    setlocale(LC_ALL, "");
    good = parse(&argc, &argv, number_given, &error);
    if (good && version) {
        printf("scarp-array %s\n", scarp_version());
        return 0;
    }
    if (good && list) {
        print_keys();
        return 0;
    }
    if (!good || !alone_with_replay(number_given, &error) ||
        !run(number_given, &error)) {
        print_error("scarp-array", error);
        return 1;
    }
    return 0;
}
