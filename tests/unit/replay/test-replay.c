/*
 * Generators' statistics, the ways of replaying, and recordings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"
#include "replay.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define DRIVE_BYTES (1ull << 30)

/* Of the drives that a test makes. */
static const char *scheme = "baseline", *overrides;

static ScarpDrive *new_drive(void)
{
    static const char text[] =
        "[geometry]\nchannels=2\nchips_per_channel=2\ndies_per_chip=1\n"
        "planes_per_die=1\nblocks_per_plane=24\npages_per_block=32\n"
        "page_bytes=4096\n[timing]\nread_ns=75000\nprogram_ns=750000\n"
        "erase_ns=3800000\ncommand_ns=200\nchannel_mts=400\n"
        "[controller]\nfirmware_ns=5000\nlink_mbs=3200\n"
        "[ftl]\nover_provisioning_permille=500\n"
        "[gc]\ntrigger_free_blocks=3\n";
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    int fd = g_file_open_tmp("scarp-XXXXXX.ini", &path, &error);
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = 1000, .seed = 1 };
    ScarpDrive *drive;

    g_assert_no_error(error);
    close(fd);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    drive = scarp_drive_new(&(ScarpConfig) { .description_path = path,
                                             .scheme = scheme, .seed = 1,
                                             .overrides = overrides },
                            &error);
    g_unlink(path);
    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    return drive;
}

typedef struct {
    uint64_t n, writes, write_bytes, reads, read_bytes, hash;
    int64_t last_ns;
} Sums;

static Sums draw(const char *text, uint64_t seed)
{
    g_autoptr(GError) error = NULL;
    Workload *workload = gen_new(text, DRIVE_BYTES, seed, &error);
    TraceRecord r;
    Sums s = { .hash = 14695981039346656037u };

    g_assert_no_error(error);
    while (workload->next(workload, &r, &error)) {
        uint64_t words[] = { r.time_ns, r.offset_bytes, r.length_bytes, r.op };

        g_assert_cmpuint(r.offset_bytes + r.length_bytes, <=, DRIVE_BYTES);
        g_assert_cmpint(r.time_ns, >=, s.last_ns);
        s.last_ns = r.time_ns;
        s.n++;
        s.writes += r.op == SCARP_OP_WRITE;
        s.write_bytes += r.op == SCARP_OP_WRITE ? r.length_bytes : 0;
        s.reads += r.op == SCARP_OP_READ;
        s.read_bytes += r.op == SCARP_OP_READ ? r.length_bytes : 0;
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
            s.hash = (s.hash ^ words[i]) * 1099511628211u;
        }
    }
    g_assert_no_error(error);
    workload->free(workload);
    return s;
}

/* Row 1g: the write ratio within 1 point, the mean write size within 3 %. */
static void test_hpdc18(void)
{
    static const struct {
        const char *name;
        double ratio, kib; /* Table 2 */
    } rows[] = {
        { "hm_0", 64.5, 7.4 },   { "prxy_0", 96.9, 8.3 },
        { "mds_0", 88.1, 23.7 }, { "src2_0", 88.7, 8.1 },
        { "stg_0", 84.8, 24.9 }, { "ts_0", 82.4, 8.4 },
        { "wdev_0", 79.9, 12.6 }, { "rsrch_0", 90.7, 10.9 },
        { "prn_0", 89.2, 22.8 }, { "proj_0", 87.5, 17.8 },
        { "src1_2", 74.6, 19.1 }, { "usr_0", 59.6, 40.9 },
        { "web_0", 70.1, 29.9 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            Sums s = draw(rows[i].name, seed);
            double ratio = 100.0 * s.writes / s.n;
            double kib = s.write_bytes / 1024.0 / s.writes;

            g_test_message("%s: %.2f %%, %.2f KiB", rows[i].name, ratio, kib);
            g_assert_cmpfloat(ABS(ratio - rows[i].ratio), <, 1);
            g_assert_cmpfloat(ABS(kib / rows[i].kib - 1), <, 0.03);
        }
    }
}

/* Table 2 of the PreGC paper: reads, writes, and the mean interval. */
static void test_pregc(void)
{
    static const struct {
        const char *name;
        double reads, writes, interval_ns;
    } rows[] = {
        { "pregc-src0", 176729, 1381085, 44862657 },
        { "pregc-ts0", 316689, 1484799, 38800309 },
        { "pregc-rsrch0", 133625, 1300030, 42185614 },
        { "pregc-fiu_web", 78613, 5604382, 105356789 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Sums s = draw(rows[i].name, 1);
        double wanted = rows[i].writes / (rows[i].reads + rows[i].writes);

        g_test_message("%s: %.4f, %.0f ns", rows[i].name,
                       s.writes * 1.0 / s.n, s.last_ns * 1.0 / s.n);
        g_assert_cmpfloat(ABS(s.writes * 1.0 / s.n - wanted), <, 0.01);
        g_assert_cmpfloat(ABS(s.last_ns / (s.n * rows[i].interval_ns) - 1), <,
                          0.1);
    }
}

/* Reads keep out of dense bursts of writes, and the ratio stays. */
static void test_burst_write(void)
{
    g_autoptr(GError) error = NULL;
    Workload *workload = gen_new("stg_0,burst=1000,iops=100000,idle_us=100000,"
                                 "burst_write=1000", DRIVE_BYTES, 1, &error);
    unsigned n = 0, writes = 0, reads_in_bursts = 0;
    int64_t last_write_ns = 0;
    TraceRecord r;

    g_assert_no_error(error);
    while (workload->next(workload, &r, &error)) {
        bool write = r.op == SCARP_OP_WRITE;

        n++;
        writes += write;
        /* A burst's gaps are 20 us at most. */
        reads_in_bursts += !write && r.time_ns - last_write_ns <= 20000;
        last_write_ns = write ? r.time_ns : last_write_ns;
    }
    g_assert_no_error(error);
    workload->free(workload);
    g_assert_cmpfloat(ABS(100.0 * writes / n - 84.8), <, 1);
    g_assert_cmpuint(reads_in_bursts, <, n / 1000);
    g_assert_null(gen_new("stg_0,burst=10,burst_write=100", DRIVE_BYTES, 1,
                          &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_VALUE);
    g_clear_error(&error);
    g_assert_null(gen_new("stg_0,burst_write=900", DRIVE_BYTES, 1, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_VALUE);
}

static void test_seeds(void)
{
    static const char *const names[] = {
        "uniform", "zipf", "hot-cold", "sequential", "mixed", "bursty", "hm_0",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        Sums a = draw(names[i], 5), b = draw(names[i], 5);
        Sums other = draw(names[i], 6);

        g_assert_cmpuint(a.hash, ==, b.hash);
        /* Sequential writes of one size have nothing to draw but sizes. */
        g_assert_cmpuint(a.hash, !=, other.hash);
    }
    /* On every host: the numbers of this one, once and for all. */
    g_assert_cmphex(draw("zipf,requests=10000", 1).hash, ==,
                    0x4e78c234f38c6ba5);
}

/* Streams change no request, and each address has one of them. */
static void test_streams(void)
{
    static const struct {
        const char *text;
        unsigned streams;
        double share; /* of the writes: the last stream's, in percent */
    } rows[] = {
        { "uniform", 3, 33.3 }, { "hot-cold", 2, 80 }, { "zipf", 2, 50 },
        { "zipf", 4, 25 },      { "sequential", 2, 50 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strdup_printf("%s,streams=%u", rows[i].text,
                                                rows[i].streams);
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
        g_autoptr(GError) error = NULL;
        Workload *workload = gen_new(text, DRIVE_BYTES, 1, &error);
        unsigned n[8] = { 0 }, writes = 0;
        TraceRecord r;

        g_assert_no_error(error);
        g_assert_cmphex(draw(text, 1).hash, ==, draw(rows[i].text, 1).hash);
        while (workload->next(workload, &r, &error)) {
            gpointer at = GSIZE_TO_POINTER(r.offset_bytes + 1), known;

            g_assert_cmpuint(r.stream, <, rows[i].streams);
            if (r.op != SCARP_OP_WRITE) {
                g_assert_cmpuint(r.stream, ==, 0);
                continue;
            }
            if (g_hash_table_lookup_extended(seen, at, NULL, &known)) {
                g_assert_cmpuint(GPOINTER_TO_UINT(known), ==, r.stream);
            }
            g_hash_table_insert(seen, at, GUINT_TO_POINTER(r.stream));
            writes++;
            n[r.stream]++;
        }
        workload->free(workload);
        g_test_message("%s: %u of %u", text, n[rows[i].streams - 1], writes);
        g_assert_cmpfloat(ABS(100.0 * n[rows[i].streams - 1] / writes -
                              rows[i].share), <, 6);
    }
}

/* Deadlines change no request; of the reads a share has its own. */
static void test_deadlines(void)
{
    g_autoptr(GError) error = NULL;
    Workload *workload = gen_new("mixed,deadline_us=30000,urgent=250,"
                                 "urgent_us=2000", DRIVE_BYTES, 1, &error);
    unsigned reads = 0, urgent = 0;
    TraceRecord r;

    g_assert_no_error(error);
    g_assert_cmphex(draw("mixed,urgent=250,urgent_us=2000", 1).hash, ==,
                    draw("mixed", 1).hash);
    while (workload->next(workload, &r, &error)) {
        bool is_urgent = r.deadline_ns == 2000000;

        g_assert_true(is_urgent || r.deadline_ns == 30000000);
        g_assert_true(!is_urgent || r.op == SCARP_OP_READ);
        reads += r.op == SCARP_OP_READ;
        urgent += is_urgent;
    }
    workload->free(workload);
    g_assert_cmpfloat(ABS(100.0 * urgent / reads - 25), <, 2);
}

/* From the submission on: what a drive counts as late, whatever its scheme. */
static void test_deadlines_count(void)
{
    static const struct {
        const char *text;
        bool late;
    } rows[] = {
        { "uniform,requests=50,deadline_us=1", true },
        { "uniform,requests=50,deadline_us=1000000000", false },
        { "uniform,requests=50", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive = new_drive();
        Workload *workload = gen_new(rows[i].text,
                                     scarp_drive_logical_bytes(drive), 1,
                                     &error);
        ReplayOptions o = { .mode = REPLAY_CLOSED, .depth = 1,
                            .speed_permille = 1000, .align_bytes = 512 };
        ReplayResult result;

        g_assert_true(replay_run(drive, workload, &o, &result, &error));
        g_assert_cmpuint(scarp_stats(drive)->missed_writes, ==,
                         rows[i].late ? 50 : 0);
        workload->free(workload);
        scarp_drive_free(drive);
    }
}

static void test_bad_generators(void)
{
    static const char *const texts[] = {
        "nonsense", "uniform,size", "uniform,size=1", "uniform,colour=1",
        "uniform,align=513", "uniform,requests=0", "mixed,trim=900,flush=900",
        "uniform,streams=0", "uniform,streams=256", "hot-cold,streams=3",
        "uniform,urgent=5", "uniform,urgent_us=5", "uniform,urgent=1001",
        "uniform,deadline_us=1000000001",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_null(gen_new(texts[i], DRIVE_BYTES, 1, &error));
        g_assert_nonnull(error);
        g_assert_null(strchr(error->message, '\n'));
    }
}

typedef struct {
    ReplayResult result;
    uint64_t n;      /* latencies of reads and writes */
    uint64_t sum_ns; /* of them */
} Outcome;

static Outcome replay(const char *generator, const char *trace,
                      ReplayOptions options, const char *rows)
{
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = new_drive();
    Workload *workload =
        trace ? trace_open(trace, NULL, &error)
              : gen_new(generator, scarp_drive_logical_bytes(drive), 1, &error);
    Outcome out = { 0 };
    bool ok;

    g_assert_no_error(error);
    options.speed_permille = options.speed_permille ? options.speed_permille
                                                    : 1000;
    options.depth = MAX(options.depth, 1);
    options.rows = rows ? fopen(rows, "wb") : NULL;
    ok = replay_run(drive, workload, &options, &out.result, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    out.n = scarp_latency_count(drive, SCARP_OP_READ) +
            scarp_latency_count(drive, SCARP_OP_WRITE);
    out.sum_ns = scarp_stats(drive)->read_latency_sum_ns +
                 scarp_stats(drive)->write_latency_sum_ns;
    g_assert_cmpuint(scarp_stats(drive)->cmds_accepted, ==,
                     scarp_stats(drive)->cmds_completed);
    g_assert_cmpuint(scarp_stats(drive)->gc_runs, >, 0);
    if (rows) {
        fclose(options.rows);
    }
    workload->free(workload);
    scarp_drive_free(drive);
    return out;
}

static void test_modes(void)
{
    const char *text = "bursty,requests=2000,iops=500,burst=0,footprint=1000";
    Outcome open = replay(text, NULL, (ReplayOptions) { 0 }, NULL);
    Outcome fast = replay(text, NULL, (ReplayOptions) {
        .speed_permille = 2000 }, NULL);
    Outcome closed = replay(text, NULL, (ReplayOptions) {
        .mode = REPLAY_CLOSED, .depth = 8, .warmup_requests = 500 }, NULL);
    Outcome think = replay(text, NULL, (ReplayOptions) {
        .mode = REPLAY_THINK }, NULL);
    Outcome few = replay(text, NULL, (ReplayOptions) {
        .max_requests = 700 }, NULL);
    Outcome brief = replay(text, NULL, (ReplayOptions) {
        .max_ns = open.result.span_ns / 2 }, NULL);

    g_assert_cmpint(open.result.end_ns, >=, open.result.span_ns);
    g_assert_cmpint(fast.result.end_ns, >=, fast.result.span_ns / 2);
    g_assert_cmpint(fast.result.end_ns, <, open.result.end_ns * 6 / 10);
    g_assert_cmpuint(closed.result.peak_in_flight, ==, 8);
    g_assert_cmpuint(closed.result.measured, ==, 1500);
    g_assert_cmpuint(closed.n, ==, 1500);
    g_assert_cmpint(closed.result.begin_ns, >, 0);
    g_assert_cmpuint(think.result.peak_in_flight, ==, 1);
    /* Gaps and latencies, one after the other. */
    g_assert_cmpint(think.result.end_ns, >=, think.result.span_ns +
                    (int64_t)think.sum_ns * 99 / 100);
    g_assert_cmpuint(few.result.requests, ==, 700);
    g_assert_cmpuint(brief.result.requests, >, 800);
    g_assert_cmpuint(brief.result.requests, <, 1200);
}

/* A recording replayed gives the same times, to the byte of its own log. */
static void recording(size_t n_ways)
{
    static const ReplayOptions ways[] = {
        { .mode = REPLAY_CLOSED, .depth = 16 }, { .mode = REPLAY_OPEN },
        { .mode = REPLAY_THINK },
    };
    g_autofree char *folder = g_dir_make_tmp("scarp-replay-XXXXXX", NULL);
    g_autofree char *a = g_build_filename(folder, "a", NULL);
    g_autofree char *b = g_build_filename(folder, "b", NULL);

    for (size_t i = 0; i < n_ways; i++) {
        g_autofree char *first = NULL, *second = NULL;
        size_t n, m;

        replay("mixed,requests=1000,iops=1500", NULL, ways[i], a);
        replay(NULL, a, (ReplayOptions) { 0 }, b);
        g_assert_true(g_file_get_contents(a, &first, &n, NULL));
        g_assert_true(g_file_get_contents(b, &second, &m, NULL));
        g_assert_cmpuint(n, ==, 32 + 1000 * (48 + 8 * SCARP_CAUSE__COUNT));
        g_assert_cmpmem(first, n, second, m);
    }
    g_unlink(a);
    g_unlink(b);
    g_rmdir(folder);
}

/* With a policy's timers, too, which are events of the drive like others. */
static void test_recording(void)
{
    static const char *const drives[][2] = {
        { "baseline", NULL },
        { "hios-2", "controller.slots=4,controller.queue=16" },
        { "hios-2", "controller.slots=4,ftl.mapping=superblock" },
        { "anticipatory", "controller.slots=4" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(drives); i++) {
        g_test_message("%s", drives[i][0]);
        scheme = drives[i][0];
        overrides = drives[i][1];
        recording(i ? 1 : 3);
    }
    scheme = "baseline";
    overrides = NULL;
}

/* All n requests land, however far away they are. */
static void replay_far(Workload *workload, const ReplayOptions *o, uint64_t n)
{
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = new_drive();
    ReplayResult result;

    g_assert_nonnull(workload);
    g_assert_true(replay_run(drive, workload, o, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(result.requests, ==, n);
    workload->free(workload);
    scarp_drive_free(drive);
}

/* Addresses, lengths and times far beyond the drive. */
static void test_far_requests(void)
{
    static const char text[] =
        "0 0 18014398509481983 1 0\n1 4294967295 18014398509481982 8 1\n"
        "9223372036854775807 7 5 4194303 0\n2 7 0 1 1\n3 1 999999999 9 0\n"
        "9223372036854775807 0 5 8 0\n4 0 5 8 0\n9223372036854775807 0 5 8 0\n";
    g_autofree char *folder = g_dir_make_tmp("scarp-replay-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "trace", NULL);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    for (int i = 0; i < 4; i++) {
        ReplayOptions o = { .mode = i / 2 ? REPLAY_THINK : REPLAY_OPEN,
                            .speed_permille = 1, .scale = i % 2, .depth = 1,
                            .scale_bytes = 1ull << 60, .align_bytes = 4096 };

        replay_far(trace_open(path, "mqsim", NULL), &o, 8);
    }
    g_unlink(path);
    g_rmdir(folder);
}

/* A command log's times are the drive's own, and as far away. */
static void test_far_recording(void)
{
    g_autofree char *folder = g_dir_make_tmp("scarp-replay-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "commands", NULL);
    int64_t times_ns[] = { 0, INT64_MAX / 2, INT64_MAX };
    ReplayOptions o = { .mode = REPLAY_OPEN, .speed_permille = 1000,
                        .align_bytes = 512 };
    FILE *file = fopen(path, "wb");

    g_assert_nonnull(file);
    cmdlog_write_header(file, SCARP_CAUSE__COUNT);
    for (uint32_t i = 0; i < G_N_ELEMENTS(times_ns); i++) {
        ScarpCmd cmd = { .op = SCARP_OP_READ, .length_bytes = 4096,
                         .submit_ns = times_ns[i],
                         .deadline_ns = SCARP_TIME_NEVER };

        cmdlog_write(file, &cmd, i, SCARP_CAUSE__COUNT);
    }
    fclose(file);
    replay_far(cmdlog_open(path, NULL), &o, 3);
    g_unlink(path);
    g_rmdir(folder);
}

/* The log may be closed by the time that the drive collects again. */
static void test_gc_log_ends(void)
{
    ScarpDrive *drive = new_drive();
    FILE *log = tmpfile();
    long end = 0;

    g_assert_nonnull(log);
    for (int i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        Workload *workload = gen_new("uniform,requests=600",
                                     scarp_drive_logical_bytes(drive), 1,
                                     &error);
        ReplayOptions o = { .mode = REPLAY_CLOSED, .depth = 8,
                            .speed_permille = 1000, .align_bytes = 512,
                            .gc_rows = i ? NULL : log };
        ReplayResult result;

        g_assert_true(replay_run(drive, workload, &o, &result, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(scarp_stats(drive)->gc_runs, >, 0);
        end = i ? end : ftell(log);
        workload->free(workload);
    }
    g_assert_cmpint(end, >, 0);
    g_assert_cmpint(ftell(log), ==, end);
    fclose(log);
    scarp_drive_free(drive);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/generators/hpdc18-table-2", test_hpdc18);
    g_test_add_func("/generators/pregc-table-2", test_pregc);
    g_test_add_func("/generators/burst-write", test_burst_write);
    g_test_add_func("/generators/seeds", test_seeds);
    g_test_add_func("/generators/streams", test_streams);
    g_test_add_func("/generators/deadlines", test_deadlines);
    g_test_add_func("/generators/deadlines/count", test_deadlines_count);
    g_test_add_func("/generators/bad", test_bad_generators);
    g_test_add_func("/replay/modes", test_modes);
    g_test_add_func("/replay/recording", test_recording);
    g_test_add_func("/replay/gc-log-ends", test_gc_log_ends);
    g_test_add_func("/replay/far-requests", test_far_requests);
    g_test_add_func("/replay/far-recording", test_far_recording);
    return g_test_run();
}
