/*
 * scarp-replay: runs a workload on a drive, without a guest
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "changes.h"
#include "fill.h"
#include "jobs.h"
#include "options.h"
#include "outcome.h"
#include "ready.h"
#include "refused.h"
#include "replay.h"
#include "reshape.h"
#include "../timeline.h"

#include <errno.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

static char *description, *scheme, *params, *format, *json_path, *rows_path,
            *trace_path, *image_path, *save_path, *gc_path, *flash_path,
            *cut_path, *lines_path, *skip, *changes_path;
static char **overrides, **workloads, **job_texts, **pauses;
static char *age_pattern, *age_slc, *mode;
static GPtrArray *warnings; /* NULL: none yet */
static int64_t seed = 1, age = 0, age_overwrite = -1, age_seed = 1, depth = 1,
               speed = 1000, backlog = 1000000, max_requests, warmup, align,
               scale_bytes, runtime_us, trace_from_us, trace_for_us, repeat = 1,
               max_gap_us, skip_broken, fill, fill_window_ms = 1000;
static gboolean list, quiet, version, shut_down, exact;

static const GOptionEntry entries[] = {
    { "description", 'd', 0, G_OPTION_ARG_FILENAME, &description,
      "the drive, such as devices/demo.ini", "FILE" },
    { "scheme", 's', 0, G_OPTION_ARG_STRING, &scheme,
      "GC scheme, choices joined by '+' (baseline)", "NAME" },
    { "params", 'p', 0, G_OPTION_ARG_STRING, &params,
      "the scheme's parameters", "KEY=VALUE,..." },
    { "override", 'o', 0, G_OPTION_ARG_STRING_ARRAY, &overrides,
      "a key of the description; repeatable", "GROUP.KEY=VALUE" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "of drive and generator (1)",
      "N" },
    { "age", 0, 0, G_OPTION_ARG_INT64, &age,
      "permille of the logical space to fill first (0)", "N" },
    { "age-overwrite", 0, 0, G_OPTION_ARG_INT64, &age_overwrite,
      "permille of the drive's size to overwrite then (2000; less where the "
      "mapping merges)", "N" },
    { "age-pattern", 0, 0, G_OPTION_ARG_STRING, &age_pattern,
      "random or sequential (random)", "NAME" },
    { "age-slc", 0, 0, G_OPTION_ARG_STRING, &age_slc,
      "full: fill the SLC cache then", "NAME" },
    { "age-seed", 0, 0, G_OPTION_ARG_INT64, &age_seed, "(1)", "N" },
    { "image", 'i', 0, G_OPTION_ARG_FILENAME, &image_path,
      "an image that the drive starts from; then -d may be left out", "FILE" },
    { "save", 0, 0, G_OPTION_ARG_FILENAME, &save_path,
      "an image of the drive at the end; then there may be no workload",
      "FILE" },
    { "power-cut", 0, 0, G_OPTION_ARG_FILENAME, &cut_path,
      "the power fails at the end: how long until the drive is ready, as JSON "
      "(-: standard output); then there may be no workload", "FILE" },
    { "shut-down", 0, 0, G_OPTION_ARG_NONE, &shut_down,
      "before that the drive is told, and writes its tables", NULL },
    { "fill", 0, 0, G_OPTION_ARG_INT64, &fill,
      "in place of a workload: write the whole drive so often, in blocks of "
      "1 MiB, one at a time; as JSON (`scarp fill`)", "PASSES" },
    { "fill-pause", 0, 0, G_OPTION_ARG_STRING_ARRAY, &pauses,
      "rest for so long after so many bytes; repeatable", "SECONDS@BYTES" },
    { "fill-window", 0, 0, G_OPTION_ARG_INT64, &fill_window_ms,
      "count bytes for each so many milliseconds (1000)", "MS" },
    { "format", 'f', 0, G_OPTION_ARG_STRING, &format,
      "of the trace (sniffed); csv:KEY=VALUE,... for columns of your own",
      "NAME" },
    { "mode", 'm', 0, G_OPTION_ARG_STRING, &mode,
      "open, closed or think (open)", "NAME" },
    { "depth", 'q', 0, G_OPTION_ARG_INT64, &depth,
      "requests at once, closed loop (1)", "N" },
    { "job", 0, 0, G_OPTION_ARG_STRING_ARRAY, &job_texts,
      "a closed loop beside others, in place of a workload; rate in bytes a "
      "second; repeatable", "DEPTH[:RATE]=WORKLOAD" },
    { "speed", 0, 0, G_OPTION_ARG_INT64, &speed,
      "permille of the workload's rate (1000)", "N" },
    { "requests", 'n', 0, G_OPTION_ARG_INT64, &max_requests,
      "at most so many (0: all)", "N" },
    { "backlog", 0, 0, G_OPTION_ARG_INT64, &backlog,
      "open loop fails at so many requests outstanding (1000000; 0: never)",
      "N" },
    { "warmup", 0, 0, G_OPTION_ARG_INT64, &warmup,
      "first requests that are not measured (0)", "N" },
    { "runtime", 't', 0, G_OPTION_ARG_INT64, &runtime_us,
      "no request after so many microseconds of drive time (0: all)", "N" },
    { "repeat", 0, 0, G_OPTION_ARG_INT64, &repeat,
      "the workload so many times; times go on, places stay (1)", "N" },
    { "max-gap", 0, 0, G_OPTION_ARG_INT64, &max_gap_us,
      "cut gaps between requests to so many microseconds (0: none)", "N" },
    { "skip", 0, 0, G_OPTION_ARG_STRING, &skip,
      "leave these out: reads, writes, trims, flushes", "NAME,..." },
    { "skip-broken", 0, 0, G_OPTION_ARG_INT64, &skip_broken,
      "at most so many lines of a trace that are not of its format (0)", "N" },
    { "align", 0, 0, G_OPTION_ARG_INT64, &align,
      "round requests out to whole multiples (512)", "BYTES" },
    { "scale", 0, 0, G_OPTION_ARG_INT64, &scale_bytes,
      "scale addresses below BYTES onto the drive (fold)", "BYTES" },
    { "json", 'j', 0, G_OPTION_ARG_FILENAME, &json_path,
      "where the results go (-: standard output, as without)", "FILE" },
    { "cmd-log", 0, 0, G_OPTION_ARG_FILENAME, &rows_path,
      "one binary row per request", "FILE" },
    { "gc-log", 0, 0, G_OPTION_ARG_FILENAME, &gc_path,
      "one binary row per collected victim; not with --trace", "FILE" },
    { "flash-log", 0, 0, G_OPTION_ARG_FILENAME, &flash_path,
      "one binary row per request: the die, plane, block and page that served "
      "it; not with --trace", "FILE" },
    { "line-log", 0, 0, G_OPTION_ARG_FILENAME, &lines_path,
      "for each request the trace's line and the job that it came from; "
      "`scarp rows` shows them beside the command log", "FILE" },
    { "changes", 0, 0, G_OPTION_ARG_FILENAME, &changes_path,
      "changes of the scheme during the run, as a drive's change-log has them",
      "FILE" },
    { "exact", 0, 0, G_OPTION_ARG_NONE, &exact,
      "each command of a command log must end when it did there", NULL },
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &trace_path,
      "timeline for ui.perfetto.dev: commands, channels, planes, GC", "FILE" },
    { "trace-from", 0, 0, G_OPTION_ARG_INT64, &trace_from_us,
      "it begins so many microseconds of drive time after the run (0)", "N" },
    { "trace-for", 0, 0, G_OPTION_ARG_INT64, &trace_for_us,
      "and shows what begins in so many (0: all)", "N" },
    { "quiet", 0, 0, G_OPTION_ARG_NONE, &quiet, "no progress", NULL },
    { "list", 0, 0, G_OPTION_ARG_NONE, &list,
      "schemes, mappings, keys, generators and formats", NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, &version, "of the engine", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &workloads, NULL,
      "TRACE|gen:NAME[,KEY=VALUE...]" },
    G_OPTION_ENTRY_NULL
};

static const OptionRange ranges[] = {
    { "depth", &depth, 1, 65536 },
    { "speed", &speed, 1, 1000000000 },
    { "requests", &max_requests, 0, G_MAXINT64 },
    { "backlog", &backlog, 0, G_MAXINT32 },
    { "warmup", &warmup, 0, G_MAXINT64 },
    { "runtime", &runtime_us, 0, G_MAXINT64 / 4000 },
    { "trace-from", &trace_from_us, 0, G_MAXINT64 / 4000 },
    { "trace-for", &trace_for_us, 0, G_MAXINT64 / 4000 },
    { "repeat", &repeat, 1, 1000000 },
    { "max-gap", &max_gap_us, 0, G_MAXINT64 / 4000 },
    { "skip-broken", &skip_broken, 0, G_MAXINT64 },
    { "scale", &scale_bytes, 0, G_MAXINT64 },
    { "age", &age, 0, 1000 },
    { "age-overwrite", &age_overwrite, -1, G_MAXUINT32 - 1 },
    { "seed", &seed, 0, G_MAXINT64 / 4 },
    { "age-seed", &age_seed, 0, G_MAXINT64 / 4 },
    { "align", &align, 0, 1 << 20 },
    { "fill", &fill, 0, 1000 },
    { "fill-window", &fill_window_ms, 1, 1000000 },
};

static bool options_from_arguments(ReplayOptions *o, GError **error)
{
    static const char *const modes[] = { "open", "closed", "think" };
    uint32_t chosen;

    if (!option_one_of("mode", mode ? mode : "open", modes,
                       G_N_ELEMENTS(modes), &chosen, error) ||
        !options_in_range(ranges, G_N_ELEMENTS(ranges), error)) {
        return false;
    }
    if (chosen != REPLAY_CLOSED && depth != 1 && !job_texts) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--depth: needs --mode=closed");
        return false;
    }
    if (chosen == REPLAY_CLOSED && speed != 1000) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--speed: needs --mode=open or --mode=think; a closed "
                    "loop has no times");
        return false;
    }
    if (shut_down && !cut_path) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--shut-down: needs --power-cut=FILE");
        return false;
    }
    /*
     * --age-seed is allowed without --age, because a sweep gives it to each of
     * its runs, aged or not.
     */
    if (!age && (age_overwrite >= 0 || age_pattern || age_slc)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--age-overwrite, --age-pattern, --age-slc: need --age, "
                    "from 1 to 1000");
        return false;
    }
    if (age_slc && strcmp(age_slc, "full")) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--age-slc=%s: allowed is full", age_slc);
        return false;
    }
    if (!fill && pauses) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--fill-pause: needs --fill");
        return false;
    }
    if (!trace_path && (trace_from_us || trace_for_us)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--trace-from, --trace-for: need --trace=FILE");
        return false;
    }
    if (trace_path && (gc_path || flash_path)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--trace: excludes --gc-log and --flash-log; another run "
                    "of the same gives the same");
        return false;
    }
    if (align % 512) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--align=%" G_GINT64_FORMAT
                    ": must be a multiple of 512", align);
        return false;
    }
    *o = (ReplayOptions) {
        .mode = chosen, .depth = depth, .speed_permille = speed,
        .max_requests = max_requests, .max_in_flight = backlog,
        .warmup_requests = warmup,
        .align_bytes = align, .scale = scale_bytes != 0,
        .scale_bytes = scale_bytes, .max_ns = runtime_us * 1000,
        .progress = !quiet && isatty(STDERR_FILENO),
    };
    return true;
}

/* Returns the path of a trace. NULL: the workload is generated. */
static const char *trace_of(const char *workload)
{
    return g_str_has_prefix(workload, "gen:") ? NULL : workload;
}

/*
 * Returns false, with *error set, if an output would overwrite an input. Only
 * --save may replace the image from which the drive starts.
 */
static bool files_apart(GError **error)
{
    const char *workload = workloads ? workloads[0] : NULL;
    OptionFile files[] = {
        { "--json", json_path, true },
        { "--cmd-log", rows_path, true },
        { "--gc-log", gc_path, true },
        { "--flash-log", flash_path, true },
        { "--line-log", lines_path, true },
        { "--trace", trace_path, true },
        { "--power-cut", cut_path, true },
        { "--save", save_path, true },
        { "the description", description, false },
        { "the workload", workload ? trace_of(workload) : NULL, false },
        { "--changes", changes_path, false },
        { "the image", image_path, false },
    };
    size_t n = G_N_ELEMENTS(files);
    OptionFile *last = &files[n - 1];
    bool ok = options_apart(files, save_path ? n - 1 : n, error);

    for (uint32_t i = 0; ok && job_texts && job_texts[i]; i++) {
        uint64_t rate;
        uint32_t its_depth;
        const char *name;

        ok = job_parse(job_texts[i], &its_depth, &rate, &name, error);
        if (ok) {
            *last = (OptionFile) { "a job's workload", trace_of(name), false };
            ok = options_apart(files, n, error);
        }
    }
    return ok;
}

static ScarpDrive *make_drive(GError **error)
{
    g_autofree char *joined = overrides ? g_strjoinv(",", overrides) : NULL;
    ScarpConfig config = {
        .description_path = description,
        .scheme = scheme ? scheme : "baseline", .params = params,
        .overrides = joined, .seed = seed, .image_path = image_path,
    };
    ScarpAge aged = {
        .utilisation_permille = age,
        .overwrite_permille = age_overwrite < 0 ? UINT32_MAX : age_overwrite,
        .pattern = age_pattern ? age_pattern : "random", .seed = age_seed,
    };
    ScarpDrive *drive;

    if (!description && !image_path) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--description is missing: a file of devices/");
        return NULL;
    }
    if (image_path && age) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--age and --image exclude each other: an image has been "
                    "aged");
        return NULL;
    }
    drive = scarp_drive_new(&config, error);
    if (drive && age && (!scarp_age(drive, &aged, error) ||
                         (age_slc && !scarp_age_slc(drive, &aged, error)))) {
        scarp_drive_free(drive);
        return NULL;
    }
    return drive;
}

static Workload *open_workload(const ScarpDrive *drive, const char *name,
                               GError **error)
{
    Workload *workload =
        trace_of(name) ? trace_open(name, format, error)
                       : gen_new(name + 4, scarp_drive_logical_bytes(drive),
                                 seed, error);

    if (workload && skip_broken && (!trace_of(name) || workload->absolute)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--skip-broken: needs a trace that is a text");
        workload->free(workload);
        return NULL;
    }
    if (workload) {
        workload->broken_allowed = skip_broken;
    }
    return workload;
}

static Workload *open_named(void *drive, GError **error)
{
    return open_workload(drive, workloads[0], error);
}

static Workload *make_workload(ScarpDrive *drive, GError **error)
{
    Reshape how = { .repeat = repeat, .max_gap_ns = max_gap_us * 1000 };

    if (!workloads || workloads[1]) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "one workload is needed: a trace file, or gen:NAME");
        return NULL;
    }
    if (skip && !reshape_parse_skip(&how, skip, error)) {
        return NULL;
    }
    return repeat > 1 || max_gap_us || skip
               ? reshape_new(&how, open_named, drive, error)
               : open_named(drive, error);
}

/* ---- Files written during the run --------------------------------------- */

typedef struct {
    const char *option, *path;
    FILE *file;
} Output;

static bool open_output(FILE **file, const char *option, const char *path,
                        GError **error)
{
    *file = path ? fopen(path, "wb") : NULL;
    if (path && !*file) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "--%s=%s: %s",
                    option, path, g_strerror(errno));
        return false;
    }
    return true;
}

static bool close_output(FILE *file, const char *option, const char *path,
                         GError **error)
{
    bool bad = file && ferror(file);

    if (file && (fclose(file) || bad)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "--%s=%s: could not be written: %s", option, path,
                    g_strerror(errno));
        return false;
    }
    return true;
}

/*
 * Writes a part of the trace. Errors stay in the stream, and are reported when
 * it is closed.
 */
static void trace_sink(void *file, const void *bytes, size_t n)
{
    fwrite(bytes, 1, n, file);
}

static bool replay_into(ScarpDrive *drive, Workload *workload,
                        ReplayOptions *options, ReplayResult *result,
                        FILE *trace, GError **error)
{
    int64_t from_ns = scarp_now_ns(drive) + trace_from_us * 1000;
    ScarpTimeline *timeline = NULL;
    bool ok;

    if (trace) {
        ScarpObserver observer;

        timeline = scarp_timeline_new(drive, from_ns,
                                      trace_for_us ? from_ns +
                                                     trace_for_us * 1000
                                                   : SCARP_TIME_NEVER,
                                      trace_sink, trace);
        observer = scarp_timeline_observer(timeline);
        scarp_set_observer(drive, &observer);
    }
    ok = replay_run(drive, workload, options, result, error);
    if (timeline) {
        scarp_set_observer(drive, &(ScarpObserver) { 0 });
        scarp_timeline_free(timeline);
    }
    return ok;
}

/*
 * Closes the open files. If any of them fails, *error is set to the first
 * failure.
 */
static bool close_outputs(const Output *outputs, size_t n, bool ok,
                          GError **error)
{
    for (size_t i = 0; i < n; i++) {
        ok = close_output(outputs[i].file, outputs[i].option, outputs[i].path,
                          ok ? error : NULL) && ok;
    }
    return ok;
}

static bool write_results(const ScarpDrive *drive, const Workload *workload,
                          const char *pace, const ReplayResult *result,
                          gint64 began_us, GError **error)
{
    Outcome outcome = {
        .name = workloads ? workloads[0] : pace, .pace = pace, .depth = depth,
        .speed_permille = speed, .seed = seed, .repeat = repeat,
        .warnings = warnings,
        .wall_s = (g_get_monotonic_time() - began_us) / 1e6,
    };

    return outcome_write(json_path, drive, workload, &outcome, result, error);
}

static bool run_on(ScarpDrive *drive, Workload *workload,
                   ReplayOptions *options, GError **error)
{
    Output outputs[] = {
        { .option = "cmd-log", .path = rows_path },
        { .option = "gc-log", .path = gc_path },
        { .option = "flash-log", .path = flash_path },
        { .option = "line-log", .path = lines_path },
        { .option = "trace", .path = trace_path },
    };
    ReplayResult result;
    gint64 began_us;
    bool ok;

    for (size_t i = 0; i < G_N_ELEMENTS(outputs); i++) {
        if (!open_output(&outputs[i].file, outputs[i].option, outputs[i].path,
                         error)) {
            return close_outputs(outputs, i, false, NULL);
        }
    }
    options->rows = outputs[0].file;
    options->gc_rows = outputs[1].file;
    options->flash_rows = outputs[2].file;
    options->lines = outputs[3].file;
    began_us = g_get_monotonic_time();
    ok = replay_into(drive, workload, options, &result, outputs[4].file, error);
    ok = close_outputs(outputs, G_N_ELEMENTS(outputs), ok, error);
    return ok && write_results(drive, workload, mode ? mode : "open", &result,
                               began_us, error);
}

static void warn(const char *text)
{
    if (!warnings) {
        warnings = g_ptr_array_new_with_free_func(g_free);
    }
    g_ptr_array_add(warnings, g_strdup(text));
    g_printerr("%sscarp-replay: %s\n", isatty(STDERR_FILENO) ? "\r" : "",
               text);
}

/*
 * Warns of the number of requests whose times go back or jump ahead, if there
 * is more than one. The first request of each kind had a warning of its own.
 */
static void warn_of_times(const Workload *workload)
{
    if (workload->times_back > 1 || workload->times_ahead > 1) {
        g_autofree char *text =
            g_strdup_printf("%s: time goes back %" G_GUINT64_FORMAT
                            " times, and jumps ahead by more than a day %"
                            G_GUINT64_FORMAT " times", workloads[0],
                            workload->times_back, workload->times_ahead);

        warn(text);
    }
}

/*
 * Returns false, with *error set, if --speed is given for a command log. The
 * times of a command log are the drive's own, so only --mode=think may scale
 * them.
 */
static bool speed_allowed(const Workload *workload,
                          const ReplayOptions *options, GError **error)
{
    if (workload->absolute && options->mode == REPLAY_OPEN && speed != 1000) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--speed: not of a command log, unless with --mode=think");
        return false;
    }
    return true;
}

/*
 * Checks that the workload and the options permit --exact and --changes. Reads
 * the log of changes.
 */
static bool log_allowed(const Workload *workload, ReplayOptions *options,
                        GError **error)
{
    bool logged = workload->absolute && options->mode == REPLAY_OPEN;

    if (exact && !logged) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--exact: needs a command log, with --mode=open");
        return false;
    }
    if ((exact || changes_path) && (repeat != 1 || max_gap_us || skip)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "%s: excludes --repeat, --max-gap and --skip",
                    exact ? "--exact" : "--changes");
        return false;
    }
    options->exact = exact ? workloads[0] : NULL;
    options->changes = changes_path ? changes_read(changes_path, error) : NULL;
    return !changes_path || options->changes;
}

static bool run_workload(ScarpDrive *drive, ReplayOptions *options,
                         GError **error)
{
    Workload *workload = make_workload(drive, error);
    bool ok;

    if (workload) {
        workload->warn = warn;
    }
    ok = workload && speed_allowed(workload, options, error) &&
         log_allowed(workload, options, error) &&
         run_on(drive, workload, options, error);
    g_clear_pointer(&options->changes, g_array_unref);
    if (workload) {
        if (ok) {
            warn_of_times(workload);
        }
        workload->free(workload);
    }
    return ok;
}

/* ---- Jobs --------------------------------------------------------------- */

static bool jobs_allowed(GError **error)
{
    const char *excluded = workloads ? "a workload beside it"
                           : mode ? "--mode" : trace_path ? "--trace"
                           : gc_path ? "--gc-log"
                           : flash_path ? "--flash-log"
                           : changes_path ? "--changes"
                           : exact ? "--exact"
                           : warmup ? "--warmup"
                           : max_requests ? "--requests"
                           : depth != 1 ? "--depth; each job has its own"
                           : speed != 1000 ? "--speed"
                           : backlog != 1000000 ? "--backlog"
                           : align ? "--align"
                           : repeat != 1 ? "--repeat"
                           : max_gap_us ? "--max-gap"
                           : skip ? "--skip"
                           : skip_broken ? "--skip-broken"
                           : scale_bytes ? "--scale" : NULL;

    if (excluded) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY, "--job: excludes %s",
                    excluded);
    }
    return !excluded;
}

static bool open_jobs(const ScarpDrive *drive, Job *jobs, uint32_t n,
                      GError **error)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *name;

        if (!job_parse(job_texts[i], &jobs[i].depth, &jobs[i].rate, &name,
                       error)) {
            return false;
        }
        jobs[i].name = job_texts[i];
        jobs[i].workload = open_workload(drive, name, error);
        if (!jobs[i].workload) {
            return false;
        }
    }
    return true;
}

static bool run_jobs(ScarpDrive *drive, ReplayOptions *options, GError **error)
{
    Output outputs[] = {
        { .option = "cmd-log", .path = rows_path },
        { .option = "line-log", .path = lines_path },
    };
    uint32_t n = g_strv_length(job_texts);
    g_autofree Job *jobs = g_new0(Job, n);
    Workload all = { .format = "jobs" };
    gint64 began_us = g_get_monotonic_time();
    ReplayResult result;
    bool ok;

    ok = jobs_allowed(error) && open_jobs(drive, jobs, n, error) &&
         open_output(&outputs[0].file, outputs[0].option, rows_path, error) &&
         open_output(&outputs[1].file, outputs[1].option, lines_path, error);
    options->rows = outputs[0].file;
    options->lines = outputs[1].file;
    ok = ok && jobs_run(drive, jobs, n, options, &result, error);
    ok = close_outputs(outputs, G_N_ELEMENTS(outputs), ok, error);
    for (uint32_t i = 0; i < n; i++) {
        if (jobs[i].workload) {
            jobs[i].workload->free(jobs[i].workload);
        }
    }
    return ok && write_results(drive, &all, "jobs", &result, began_us, error);
}

/* ---- The whole drive ---------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const FillPause *x = a, *y = b;

    return (x->at_bytes > y->at_bytes) - (x->at_bytes < y->at_bytes);
}

static bool run_fill(ScarpDrive *drive, GError **error)
{
    uint32_t n = pauses ? g_strv_length(pauses) : 0;
    g_autofree FillPause *parsed = g_new0(FillPause, n + 1);
    FillOptions options = {
        .block_bytes = 1 << 20, .passes = fill,
        .window_ns = fill_window_ms * 1000000, .pauses = parsed, .n_pauses = n,
    };
    bool file = json_path && strcmp(json_path, "-");
    FILE *out = stdout;
    bool ok;

    if (workloads || job_texts) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--fill: excludes a workload and --job");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!fill_pause_parse(pauses[i],
                              scarp_drive_logical_bytes(drive) * fill,
                              &parsed[i], error)) {
            return false;
        }
    }
    qsort(parsed, n, sizeof(*parsed), by_place);
    if (file && !open_output(&out, "json", json_path, error)) {
        return false;
    }
    ok = fill_run(drive, &options, out, error);
    return file ? close_output(out, "json", json_path, ok ? error : NULL) && ok
                : ok;
}

static bool run(GError **error)
{
    ReplayOptions options;
    ScarpDrive *drive;
    bool ok;

    if (!options_from_arguments(&options, error) || !files_apart(error)) {
        return false;
    }
    drive = make_drive(error);
    if (!drive) {
        return false;
    }
    if (fill) {
        ok = run_fill(drive, error);
    } else if (job_texts) {
        ok = run_jobs(drive, &options, error);
    } else {
        ok = ((save_path || cut_path) && !workloads) ||
             run_workload(drive, &options, error);
    }
    ok = ok && (!save_path || (scarp_drain(drive, error) &&
                               scarp_save(drive, save_path, error)));
    ok = ok && (!cut_path || ready_report(&drive, shut_down, cut_path, error));
    scarp_drive_free(drive);
    return ok;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context =
        g_option_context_new("- a block workload on a flash drive");
    g_autoptr(GError) error = NULL;

    setlocale(LC_MESSAGES, "");
    setlocale(LC_CTYPE, "C.UTF-8");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        print_error("scarp-replay", error);
        return 2;
    }
    if (version) {
        printf("scarp-replay %s\n", scarp_version());
        return 0;
    }
    if (list) {
        g_autofree char *schemes = scarp_schemes_text();
        g_autofree char *mappings = scarp_mappings_text();
        g_autofree char *key_names = scarp_keys_text();
        g_autofree char *formats = trace_formats_text();
        g_autofree char *generators = gen_text();

        /* g_print() would replace letters that the locale does not have */
        printf("%s\n%s\n%s\n%s\n%s", schemes, mappings, key_names, generators,
               formats);
        return 0;
    }
    if (!run(&error)) {
        print_error("scarp-replay", error);
        return 1;
    }
    return 0;
}
