/*
 * scarp-cuts: power cuts in a recorded run, without a guest
 *
 * The recorded run is repeated two times. The first repetition checks that the
 * drives do what was recorded, and lists the run's moments (cuts/walk.h). The
 * second repetition tries each cut at its moment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/one.h"
#include "rerun/pool.h"
#include "cuts/sample.h"
#include "rerun/text.h"
#include "replay/options.h"
#include "replay/refused.h"

#include <locale.h>
#include <signal.h>
#include <string.h>

static char *description, *scheme, *params, *cuts_text_given, *contents,
            *image_out;
static char **overrides, **images, **cmd_logs, **data_logs, **seeds;
static int64_t count = 200, jobs = 1, sample_seed = 1, from_ns,
               to_ns = SCARP_TIME_LAST;
static gboolean twice, version;

static const GOptionEntry entries[] = {
    { "image", 'i', 0, G_OPTION_ARG_FILENAME_ARRAY, &images,
      "that the run began from; this and the next three once for each drive",
      "FILE" },
    { "cmd-log", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &cmd_logs, "of the run",
      "FILE" },
    { "data-log", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &data_logs,
      "of the run (each write has bytes of its own)", "FILE" },
    { "seed", 0, 0, G_OPTION_ARG_STRING_ARRAY, &seeds, "of the drive (1)",
      "N" },
    { "description", 'd', 0, G_OPTION_ARG_FILENAME, &description,
      "of the drives (the image's)", "FILE" },
    { "scheme", 's', 0, G_OPTION_ARG_STRING, &scheme, "(baseline)", "NAME" },
    { "params", 'p', 0, G_OPTION_ARG_STRING, &params,
      "the scheme's parameters", "KEY=VALUE,..." },
    { "override", 'o', 0, G_OPTION_ARG_STRING_ARRAY, &overrides,
      "a key of the description; repeatable", "GROUP.KEY=VALUE" },
    { "count", 'n', 0, G_OPTION_ARG_INT64, &count,
      "cuts, of each kind of moment one first (200); 0: only say what there is",
      "N" },
    { "cuts", 0, 0, G_OPTION_ARG_STRING, &cuts_text_given,
      "these alone; A+M: once more at moment M of the recovery", "A[-B|+M],..." },
    { "from-ns", 0, 0, G_OPTION_ARG_INT64, &from_ns,
      "--count: none before (0)", "NS" },
    { "to-ns", 0, 0, G_OPTION_ARG_INT64, &to_ns, "--count: none after", "NS" },
    { "twice", 0, 0, G_OPTION_ARG_NONE, &twice,
      "each cut also with another one while the drive recovers", NULL },
    { "sample-seed", 0, 0, G_OPTION_ARG_INT64, &sample_seed, "(1)", "N" },
    { "jobs", 'j', 0, G_OPTION_ARG_INT64, &jobs, "processes (1)", "N" },
    { "contents", 0, 0, G_OPTION_ARG_FILENAME, &contents,
      "a folder for what the drives contain, each a sparse file", "DIR" },
    { "save", 0, 0, G_OPTION_ARG_FILENAME, &image_out,
      "an image of the drive that has recovered, of one cut and one drive",
      "FILE" },
    { "version", 0, 0, G_OPTION_ARG_NONE, &version, "of the engine", NULL },
    G_OPTION_ENTRY_NULL
};

static const OptionRange ranges[] = {
    { "count", &count, 0, G_MAXINT32 },
    { "from-ns", &from_ns, 0, SCARP_TIME_LAST },
    { "to-ns", &to_ns, 0, SCARP_TIME_LAST },
    { "sample-seed", &sample_seed, 0, G_MAXINT64 / 4 },
    { "jobs", &jobs, 1, 4096 },
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal G_GNUC_UNUSED)
{
    interrupted = 1;
}

/* ---- The run ------------------------------------------------------------ */

typedef struct {
    guint n;
    RerunRecord **records;
    int64_t *seeds;
} Run;

static bool run_open(Run *run, GError **error)
{
    run->n = images ? g_strv_length(images) : 0;
    if (!run->n || !cmd_logs || g_strv_length(cmd_logs) != run->n ||
        (data_logs && g_strv_length(data_logs) != run->n) ||
        (seeds && g_strv_length(seeds) != run->n)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--image, --cmd-log, --data-log, --seed: each is needed "
                    "once for each drive, the last two for all or for none");
        return false;
    }
    run->records = g_new0(RerunRecord *, run->n);
    run->seeds = g_new0(int64_t, run->n);
    for (guint i = 0; i < run->n; i++) {
        run->seeds[i] = 1;
        if (seeds && !g_ascii_string_to_signed(seeds[i], 10, 0, G_MAXINT64 / 4,
                                               &run->seeds[i], error)) {
            g_prefix_error(error, "--seed: ");
            return false;
        }
        run->records[i] = rerun_record_open(
            cmd_logs[i], data_logs ? data_logs[i] : NULL, NULL, error);
        if (!run->records[i]) {
            return false;
        }
    }
    return true;
}

static void run_close(Run *run)
{
    for (guint i = 0; i < run->n && run->records; i++) {
        if (run->records[i]) {
            rerun_record_free(run->records[i]);
        }
    }
    g_free(run->records);
    g_free(run->seeds);
}

static void walk_end(CutsWalk *walk)
{
    for (uint32_t i = 0; i < walk->n_drives; i++) {
        cuts_drive_end(&walk->drives[i]);
    }
    g_free(walk->drives);
}

static bool walk_begin(CutsWalk *walk, const Run *run, bool judged,
                       GError **error)
{
    g_autofree char *joined = overrides ? g_strjoinv(",", overrides) : NULL;

    *walk = (CutsWalk) { .drives = g_new0(CutsDrive, run->n) };
    for (guint i = 0; i < run->n; i++) {
        ScarpConfig config = {
            .description_path = description, .params = params,
            .scheme = scheme ? scheme : "baseline", .overrides = joined,
            .seed = run->seeds[i], .store_data = true, .image_path = images[i],
        };

        if (!cuts_drive_begin(&walk->drives[i], run->records[i], &config,
                              judged, error)) {
            walk_end(walk);
            return false;
        }
        walk->n_drives++;
    }
    return true;
}

/* ---- The choice of cuts ------------------------------------------------- */

/* Results of the first repetition. */
typedef struct {
    CutsSample *sample; /* sample of the moments, from which --count chooses */
    uint64_t moments;
    bool is_volatile;   /* equal for all drives */
    uint64_t bytes;
} Survey;

static bool survey(const Run *run, Survey *seen, GError **error)
{
    CutsWalk walk;
    bool ok = walk_begin(&walk, run, false, error);

    if (!ok) {
        return false;
    }
    while (ok && !interrupted &&
           cuts_walk_next_ns(&walk) != SCARP_TIME_NEVER) {
        ok = cuts_walk_step(&walk, error);
        if (ok && walk.now_ns >= from_ns && walk.now_ns <= to_ns) {
            cuts_sample_add(seen->sample, walk.moment, cuts_class(&walk));
        }
    }
    seen->moments = walk.moment;
    seen->is_volatile = walk.drives[0].is_volatile;
    seen->bytes = scarp_drive_logical_bytes(walk.drives[0].run.drive);
    walk_end(&walk);
    return ok;
}

/*
 * A cut that the user wants. `again` is the moment of the recovery at which
 * power fails a second time; 0: power fails only once.
 */
typedef struct {
    uint64_t cut, again;
} Wanted;

static int by_number(gconstpointer a, gconstpointer b)
{
    const Wanted *x = a, *y = b;

    if (x->cut != y->cut) {
        return x->cut < y->cut ? -1 : 1;
    }
    return (x->again > y->again) - (x->again < y->again);
}

static bool number(const char *text, uint64_t least, uint64_t *value)
{
    return g_ascii_string_to_unsigned(text, 10, least, G_MAXINT64, value, NULL);
}

/* Parses a wanted cut or a range of cuts: A, A-B, or A+M. */
static bool parse_part(const char *text, uint64_t *first, uint64_t *last,
                       uint64_t *again)
{
    g_auto(GStrv) ends = g_strsplit(text, "-", 2);
    g_auto(GStrv) both = g_strsplit(text, "+", 2);

    *again = 0;
    if (ends[0] && ends[1]) {
        return number(ends[0], 1, first) && number(ends[1], *first, last);
    }
    if (!both[0] || !number(both[0], 1, first)) {
        return false;
    }
    *last = *first;
    return !both[1] || number(both[1], 1, again);
}

static bool parse_cuts(GArray *cuts, uint64_t moments, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(cuts_text_given, ",", -1);

    for (char **part = parts; *part; part++) {
        Wanted wanted;
        uint64_t last;

        if (!parse_part(*part, &wanted.cut, &last, &wanted.again)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--cuts=%s: must be numbers from 1 on, A-B or A+M, "
                        "joined by commas", cuts_text_given);
            return false;
        }
        if (last > moments) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "cut %" G_GUINT64_FORMAT ": is beyond the run, which "
                        "has %" G_GUINT64_FORMAT " moments", last, moments);
            return false;
        }
        for (; wanted.cut <= last; wanted.cut++) {
            g_array_append_val(cuts, wanted);
        }
    }
    g_array_sort(cuts, by_number);
    return true;
}

static GArray *choose(const Survey *seen, GError **error)
{
    GArray *cuts = g_array_new(false, false, sizeof(Wanted));

    if (cuts_text_given) {
        if (!parse_cuts(cuts, seen->moments, error)) {
            g_clear_pointer(&cuts, g_array_unref);
        }
    } else {
        g_autoptr(GArray) chosen = cuts_sample_choose(seen->sample, count);

        for (guint i = 0; i < chosen->len; i++) {
            Wanted wanted = { .cut = g_array_index(chosen, uint64_t, i) };

            g_array_append_val(cuts, wanted);
        }
    }
    return cuts;
}

/* ---- Output ------------------------------------------------------------- */

static void tell_run(const Survey *seen, const GArray *cuts)
{
    const GArray *kinds = cuts_sample_kinds(seen->sample);

    printf("{\"schema\": \"scarp-cuts-1\", \"scarp_version\": \"%s\", "
           "\"volatile\": %s, \"drive_bytes\": %" G_GUINT64_FORMAT
           ", \"moments\": %" G_GUINT64_FORMAT ", \"cuts\": %u, "
           "\"kinds\": [", scarp_version(),
           seen->is_volatile ? "true" : "false", seen->bytes, seen->moments,
           cuts->len);
    for (guint i = 0; i < kinds->len; i++) {
        const CutsKind *kind = &g_array_index(kinds, CutsKind, i);
        g_autofree char *text = cuts_class_text(kind->class);

        printf("%s{\"met\": ", i ? ", " : "");
        rerun_text(stdout, text);
        printf(", \"moments\": %" G_GUINT64_FORMAT "}", kind->moments);
    }
    printf("]}\n");
    fflush(stdout);
}

static bool try_cut(RerunPool *pool, CutsWalk *walk, const CutsHow *how,
                    GError **error)
{
    FILE *out;

    if (!rerun_pool_fork(pool, walk->moment, &out, error)) {
        return false;
    }
    if (out) {
        signal(SIGINT, SIG_IGN); /* a cut that has begun is completed */
        cuts_one(walk, how, out);
        rerun_pool_child_end(out);
    }
    return true;
}

static bool try_cuts(const Run *run, const GArray *cuts, GError **error)
{
    CutsHow how = {
        .twice = twice, .seed = sample_seed,
        .contents = contents, .image = image_out,
    };
    RerunPool *pool;
    CutsWalk walk;
    bool ok = walk_begin(&walk, run, true, error);

    if (!ok) {
        return false;
    }
    pool = rerun_pool_new(jobs, stdout, "cut");
    for (guint i = 0; i < cuts->len && ok && !interrupted; i++) {
        const Wanted *wanted = &g_array_index(cuts, Wanted, i);

        while (ok && walk.moment < wanted->cut) {
            ok = cuts_walk_step(&walk, error);
        }
        how.again = wanted->again;
        ok = ok && try_cut(pool, &walk, &how, error);
    }
    rerun_pool_wait(pool);
    rerun_pool_free(pool);
    walk_end(&walk);
    return ok;
}

static bool options_allowed(GError **error)
{
    if (!options_in_range(ranges, G_N_ELEMENTS(ranges), error)) {
        return false;
    }
    if (image_out && (!images || images[1] || !cuts_text_given || twice ||
                      strpbrk(cuts_text_given, ",-"))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "--save: needs --cuts=N, a single one, of a single drive, "
                    "without --twice");
        return false;
    }
    return true;
}

static bool run_all(GError **error)
{
    Run run = { 0 };
    Survey seen = { .sample = cuts_sample_new(sample_seed) };
    g_autoptr(GArray) cuts = NULL;
    bool ok = options_allowed(error) && run_open(&run, error) &&
              survey(&run, &seen, error);

    if (ok && !interrupted) {
        cuts = choose(&seen, error);
        ok = cuts;
    }
    if (ok && !interrupted) {
        tell_run(&seen, cuts);
        ok = !cuts->len || try_cuts(&run, cuts, error);
    }
    cuts_sample_free(seen.sample);
    run_close(&run);
    return ok;
}

int main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context =
        g_option_context_new("- power cuts in a recorded run");
    struct sigaction action = { .sa_handler = interrupt };
    g_autoptr(GError) error = NULL;

    setlocale(LC_MESSAGES, "");
    setlocale(LC_CTYPE, "C.UTF-8");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        print_error("scarp-cuts", error);
        return 2;
    }
    if (version) {
        printf("scarp-cuts %s\n", scarp_version());
        return 0;
    }
    sigaction(SIGINT, &action, NULL);
    if (!run_all(&error)) {
        print_error("scarp-cuts", error);
        return 1;
    }
    return interrupted ? 130 : 0;
}
