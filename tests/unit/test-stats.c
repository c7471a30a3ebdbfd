/*
 * Statistics of latencies against every single command's, and of time against
 * the log of collections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#include <string.h>

#define DEPTH 16

typedef struct {
    uint64_t ns;
    int64_t cause_ns[SCARP_CAUSE__COUNT];
} Seen;

static ScarpDrive *new_drive(GArray *seen[])
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "pgc", .seed = 3,
        .overrides = "nand.suspend_program=1,controller.buffer_bytes=65536",
    };
    ScarpAge age = { .utilisation_permille = 900, .pattern = "random",
                     .overwrite_permille = UINT32_MAX, .seed = 1 };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    for (int op = 0; op < 2; op++) {
        seen[op] = g_array_new(false, false, sizeof(Seen));
    }
    return drive;
}

static void next_command(ScarpCmd *cmd, uint64_t units, GRand *rand)
{
    cmd->op = g_rand_int_range(rand, 0, 2) ? SCARP_OP_WRITE : SCARP_OP_READ;
    cmd->offset_bytes = g_rand_int_range(rand, 0, units - 4) * (uint64_t)PAGE;
    cmd->length_bytes = g_rand_int_range(rand, 1, 5) * PAGE;
    cmd->deadline_ns = SCARP_TIME_NEVER;
}

/* n commands, DEPTH at once; the first `before` are before a reset. */
static void run(ScarpDrive *drive, uint32_t n, uint32_t before, GArray *seen[])
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    uint64_t units = scarp_drive_logical_bytes(drive) / PAGE;
    ScarpCmd cmd[DEPTH] = { 0 }, *done;
    uint32_t sent = 0;

    for (; sent < DEPTH; sent++) {
        next_command(&cmd[sent], units, rand);
        scarp_submit(drive, &cmd[sent], scarp_now_ns(drive));
    }
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
        while ((done = scarp_reap(drive))) {
            if (GPOINTER_TO_UINT(done->opaque) >= before) {
                Seen one = { .ns = done->complete_ns - done->submit_ns };

                memcpy(one.cause_ns, done->cause_ns, sizeof(one.cause_ns));
                g_array_append_val(seen[done->op], one);
            }
            if (sent < n) {
                if (sent == before && before) {
                    scarp_stats_reset(drive);
                }
                next_command(done, units, rand);
                done->opaque = GUINT_TO_POINTER(sent++);
                scarp_submit(drive, done, scarp_now_ns(drive));
            }
        }
    }
}

static int by_latency(gconstpointer a, gconstpointer b)
{
    const Seen *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

static void check_tail(const ScarpDrive *drive, ScarpOp op, GArray *all,
                       uint32_t permillion)
{
    uint32_t n = (all->len * (uint64_t)permillion + 999999) / 1000000;
    uint64_t exact[SCARP_CAUSE__COUNT] = { 0 }, sum = 0, total = 0, off = 0;
    ScarpTail tail;

    for (uint32_t i = all->len - n; i < all->len; i++) {
        const Seen *seen = &g_array_index(all, Seen, i);

        total += seen->ns;
        for (int c = 0; c < SCARP_CAUSE__COUNT; c++) {
            exact[c] += seen->cause_ns[c];
        }
    }
    scarp_latency_tail(drive, op, permillion, &tail);
    g_assert_cmpuint(tail.n, ==, n);
    for (int c = 0; c < SCARP_CAUSE__COUNT; c++) {
        sum += tail.cause_ns[c];
        off += ABS((int64_t)(tail.cause_ns[c] - exact[c]));
    }
    g_test_message("op %d, %u ppm: %u commands, %" G_GUINT64_FORMAT
                   " ns, off by %" G_GUINT64_FORMAT, op, permillion, n, total,
                   off);
    /* A part of one bucket, 1/16 wide, is taken for its mean. */
    g_assert_cmpuint(ABS((int64_t)(sum - total)), <=, total / 16);
    g_assert_cmpuint(off, <=, total / 16);
    if (permillion == 1000000) {
        g_assert_cmpmem(tail.cause_ns, sizeof(exact), exact, sizeof(exact));
    }
}

static void check_all(const ScarpDrive *drive, GArray *seen[])
{
    static const uint32_t shares[] = { 100, 1000, 10000, 250000, 1000000 };
    const ScarpStats *stats = scarp_stats(drive);

    for (int op = 0; op < 2; op++) {
        GArray *all = seen[op];
        uint64_t sum = 0;

        g_array_sort(all, by_latency);
        g_assert_cmpuint(scarp_latency_count(drive, op), ==, all->len);
        for (uint32_t i = 0; i < all->len; i++) {
            sum += g_array_index(all, Seen, i).ns;
        }
        g_assert_cmpuint(sum, ==, op ? stats->write_latency_sum_ns
                                     : stats->read_latency_sum_ns);
        for (uint64_t ppm = 500; ppm <= 1000000; ppm += 500) {
            uint32_t rank = (all->len * ppm + 999999) / 1000000;
            uint64_t exact = g_array_index(all, Seen, rank - 1).ns;
            uint64_t got = scarp_latency_ns(drive, op, ppm);

            g_assert_cmpuint(got, >=, exact);
            g_assert_cmpuint(got, <=, exact + exact / 128);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
            check_tail(drive, op, all, shares[i]);
        }
    }
}

static void end(ScarpDrive *drive, GArray *seen[])
{
    for (int op = 0; op < 2; op++) {
        g_array_free(seen[op], true);
    }
    scarp_drive_free(drive);
}

static void test_latencies(void)
{
    GArray *seen[2];
    ScarpDrive *drive = new_drive(seen);

    run(drive, 6000, 0, seen);
    g_assert_cmpuint(scarp_stats(drive)->gc_runs, >, 0);
    check_all(drive, seen);
    end(drive, seen);
}

/* What was submitted before the reset is counted as completed, no more. */
static void test_reset(void)
{
    GArray *seen[2];
    ScarpDrive *drive = new_drive(seen);
    uint64_t sum = 0;

    run(drive, 4000, 1000, seen);
    check_all(drive, seen);
    g_assert_cmpuint(scarp_stats(drive)->reads + scarp_stats(drive)->writes, ==,
                     3000);
    g_assert_cmpuint(scarp_stats(drive)->cmds_completed, ==, 3000 + DEPTH - 1);
    for (int c = 0; c < SCARP_CAUSE__COUNT; c++) {
        sum += scarp_stats(drive)->cause_ns[c];
    }
    g_assert_cmpuint(sum, ==, scarp_stats(drive)->read_latency_sum_ns +
                                  scarp_stats(drive)->write_latency_sum_ns);
    end(drive, seen);
}

/* One that came before a reset is not late after it. */
static void test_reset_and_deadlines(void)
{
    Rig *rig = rig_new("deadline", NULL, NULL);
    ScarpCmd cmd[2] = { read_page(0), read_page(0) };

    rig_write(rig, 0);
    for (int i = 0; i < 2; i++) {
        cmd[i].deadline_ns = scarp_now_ns(rig->drive) + 1;
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive));
        if (i == 0) {
            scarp_stats_reset(rig->drive);
        }
        rig_drain(rig);
        g_assert_cmpuint(rig_stats(rig)->missed_reads, ==, i);
    }
    rig_free(rig);
}

/* ---- Of what is under way, the time before a reset does not count -------- */

enum { EVENTS = 6000 };

static void write_on(Rig *rig, ScarpCmd *cmd, GRand *rand)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    *cmd = g_rand_int_range(rand, 0, 4)
               ? write_page(g_rand_int_range(rand, 0, pages))
               : read_page(g_rand_int_range(rand, 0, pages));
    scarp_submit(rig->drive, cmd, scarp_now_ns(rig->drive));
}

/* No plane was busy for longer than that. */
static void check_bounds(const Rig *rig, int64_t reset_ns)
{
    const ScarpStats *stats = rig_stats(rig);
    uint64_t most_ns = 8 * (scarp_now_ns(rig->drive) - reset_ns);

    g_assert_cmpuint(stats->gc_busy_ns, <=, most_ns);
    g_assert_cmpuint(stats->gc_window_ns, <=, most_ns);
    g_assert_cmpuint(stats->gc_shared_ns, <=, most_ns);
}

/* A full drive of eight planes, until it rests.  Returns the last reset. */
static int64_t collect(Rig *rig, unsigned every)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    ScarpCmd cmd[DEPTH], *done;
    int64_t reset_ns = 0;

    rig_age(rig, 1000);
    for (unsigned i = 0; i < DEPTH; i++) {
        write_on(rig, &cmd[i], rand);
    }
    for (unsigned event = 1; event <= EVENTS; event++) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        while ((done = scarp_reap(rig->drive))) {
            write_on(rig, done, rand);
        }
        if (event % every == 0) {
            check_bounds(rig, reset_ns);
            scarp_stats_reset(rig->drive);
            reset_ns = scarp_now_ns(rig->drive);
        }
    }
    rig_drain(rig);
    check_bounds(rig, reset_ns);
    return reset_ns;
}

static const char *const collectors[] = { "baseline", "pgc", "gc-par" };

static Rig *collector(const char *scheme)
{
    return rig_new(scheme, NULL, "geometry.planes_per_die=2,"
                                 "geometry.blocks_per_plane=32");
}

static void test_reset_often(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(collectors); i++) {
        for (unsigned every = 3; every < 30; every += 13) {
            Rig *rig = collector(collectors[i]);

            collect(rig, every);
            rig_free(rig);
        }
    }
}

/*
 * The log has all of a collection, and the statistics what of it came after the
 * reset: each by itself, and the dies' windows, in which one at least ran.
 */
static unsigned check_log(const Rig *rig, int64_t reset_ns)
{
    int64_t busy_ns = 0, window_ns = 0, counted_ns[4];
    unsigned crossed = 0;

    for (unsigned die = 0; die < 4; die++) {
        counted_ns[die] = INT64_MAX;
    }
    for (unsigned i = rig->n_runs; i--;) { /* the last end first */
        const ScarpGcRun *run = &rig->run[i];
        int64_t begin_ns = MAX(run->begin_ns, reset_ns);
        int64_t *from_ns = &counted_ns[run->die];

        if (run->end_ns <= reset_ns) {
            break;
        }
        crossed += run->begin_ns < reset_ns;
        busy_ns += run->end_ns - begin_ns;
        window_ns += MAX(MIN(run->end_ns, *from_ns) - begin_ns, 0);
        *from_ns = MIN(*from_ns, begin_ns);
    }
    g_test_message("%u runs, %u under way at the reset", rig->n_runs, crossed);
    g_assert_cmpuint(rig_stats(rig)->gc_busy_ns, ==, busy_ns);
    g_assert_cmpuint(rig_stats(rig)->gc_window_ns, ==, 2 * window_ns);
    return crossed;
}

static void test_reset_and_collections(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(collectors); i++) {
        unsigned crossed = 0;

        for (unsigned at = 0; at < 6; at++) {
            Rig *rig = collector(collectors[i]);

            crossed += check_log(rig, collect(rig, EVENTS / 2 + 1 + 97 * at));
            rig_free(rig);
        }
        g_assert_cmpuint(crossed, >, 0);
    }
}

/* power_on() compares what is counted with the time from its call on. */
static void test_reset_and_recovery(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS);

    rig_fill(rig, 0, 100);
    power_off(rig);
    for (unsigned i = 0; i < 50; i++) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    g_assert_false(scarp_is_ready(rig->drive));
    scarp_stats_reset(rig->drive);
    g_assert_cmpint(power_on(rig), >, 0);
    power_cycle(rig);
    rig_free(rig);
}

static uint64_t json_number(const char *json, const char *path)
{
    g_auto(GStrv) part = g_strsplit(path, "/", -1);

    for (char **name = part; *name; name++) {
        g_autofree char *key = g_strdup_printf("\"%s\": ", *name);

        json = strstr(json, key);
        g_assert_nonnull(json);
        json += strlen(key);
    }
    return g_ascii_strtoull(json, NULL, 10);
}

/* The log page's words are those of the functions, and of the JSON. */
static void test_page_and_json(void)
{
    static const uint32_t points[] = SCARP_LATENCY_POINTS;
    static const uint32_t tails[] = SCARP_LATENCY_TAILS;
    GArray *seen[2];
    ScarpDrive *drive = new_drive(seen);
    g_autofree char *json = NULL;
    g_autofree uint64_t *page = NULL;
    const uint64_t *word;
    size_t bytes;

    run(drive, 3000, 0, seen);
    json = scarp_stats_json(drive);
    bytes = scarp_stats_log_page(drive, 77, NULL, 0);
    page = g_malloc(bytes);
    g_assert_cmpuint(scarp_stats_log_page(drive, 77, page, bytes), ==, bytes);
    g_assert_cmpuint(64 + 8 * (GUINT64_FROM_LE(page[1]) >> 32), ==, bytes);
    word = page + 8 + SCARP_STAT_COUNT;
    for (int op = 0; op < 2; op++) {
        g_assert_cmpuint(GUINT64_FROM_LE(*word++), ==,
                         scarp_latency_count(drive, op));
        for (size_t i = 0; i < G_N_ELEMENTS(points); i++) {
            g_assert_cmpuint(GUINT64_FROM_LE(*word++), ==,
                             scarp_latency_ns(drive, op, points[i]));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(tails); i++) {
            ScarpTail tail;

            scarp_latency_tail(drive, op, tails[i], &tail);
            g_assert_cmpmem(word, sizeof(tail), &tail, sizeof(tail));
            word += sizeof(tail) / 8;
        }
    }
    g_assert_cmpuint((word - page) * 8, ==, bytes);
    g_assert_cmpuint(json_number(json, "read_latency/n"), ==, seen[0]->len);
    g_assert_cmpuint(json_number(json, "write_latency/n"), ==, seen[1]->len);
    g_assert_cmpuint(json_number(json, "write_latency/p99_9_ns"), ==,
                     scarp_latency_ns(drive, SCARP_OP_WRITE, 999000));
    g_assert_cmpuint(json_number(json, "read_latency/slowest_1_percent/n"), ==,
                     (seen[0]->len + 99) / 100);
    end(drive, seen);
}

/*
 * Nothing yet: zeroes, no division by them.  All that there will be is named:
 * who reads the JSON need not ask whether it is there.
 */
static void test_empty(void)
{
    static const char *const names[] = {
        "read_latency/slowest_1_percent/n",
        "read_latency/slowest_0_1_percent/n",
        "read_latency/slowest_0_01_percent/n",
        "write_latency/slowest_1_percent/n",
        "write_latency/slowest_0_1_percent/n",
        "write_latency/slowest_0_01_percent/n",
        "write_latency/mean_ns",
    };
    GArray *seen[2];
    ScarpDrive *drive = new_drive(seen);
    g_autofree char *json = scarp_stats_json(drive);
    ScarpTail tail;

    scarp_latency_tail(drive, SCARP_OP_READ, 10000, &tail);
    g_assert_cmpuint(tail.n + tail.at_least_ns, ==, 0);
    g_assert_cmpuint(scarp_latency_ns(drive, SCARP_OP_WRITE, 990000), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpuint(json_number(json, names[i]), ==, 0);
    }
    end(drive, seen);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/latencies", test_latencies);
    g_test_add_func("/stats/reset", test_reset);
    g_test_add_func("/stats/reset-and-deadlines", test_reset_and_deadlines);
    g_test_add_func("/stats/reset-often", test_reset_often);
    g_test_add_func("/stats/reset-and-collections",
                    test_reset_and_collections);
    g_test_add_func("/stats/reset-and-recovery", test_reset_and_recovery);
    g_test_add_func("/stats/page-and-json", test_page_and_json);
    g_test_add_func("/stats/empty", test_empty);
    return g_test_run();
}
