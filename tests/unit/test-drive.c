/*
 * The engine's laws over random workloads, and idle latencies.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "workload.h"

#include <unistd.h>

static int64_t run_alone(ScarpDrive *drive, ScarpCmd *cmd, int64_t now)
{
    cmd->deadline_ns = SCARP_TIME_NEVER;
    scarp_submit(drive, cmd, now);
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    g_assert_true(scarp_reap(drive) == cmd);
    law_sum(cmd);
    return cmd->complete_ns - cmd->submit_ns;
}

/* docs/model.md: firmware 5000, link 1280, command 200, transfer 10240. */
static void test_idle_latency(void)
{
    ScarpDrive *drive = drive_new("baseline", NULL);
    ScarpCmd cmd = { .op = SCARP_OP_READ, .length_bytes = PAGE };

    g_assert_cmpint(run_alone(drive, &cmd, 0), ==, 5000 + 1280);
    cmd.op = SCARP_OP_WRITE;
    g_assert_cmpint(run_alone(drive, &cmd, 1000000), ==,
                    5000 + 1280 + 200 + 10240 + 750000);
    cmd.op = SCARP_OP_READ;
    g_assert_cmpint(run_alone(drive, &cmd, 9000000), ==,
                    5000 + 200 + 75000 + 10240 + 1280);
    /* A partial write reads the page first. */
    cmd.op = SCARP_OP_WRITE;
    cmd.length_bytes = 512;
    g_assert_cmpint(run_alone(drive, &cmd, 19000000), ==,
                    5000 + 160 + 200 + 75000 + 10240 + 200 + 10240 + 750000);
    g_assert_cmpuint(scarp_stats(drive)->rmw_reads, ==, 1);
    scarp_drive_free(drive);
}

/* What merges planes, and what places on channels, needs two of them. */
static bool needs_two(const char *scheme)
{
    return strstr(scheme, "gc-") || strstr(scheme, "pagc") ||
           strstr(scheme, "paragc");
}

static const char *one_of(GRand *rand, const char *const *choices, int n)
{
    return choices[g_rand_int_range(rand, 0, n)];
}
#define ONE_OF(rand, ...) \
    one_of(rand, (const char *const[]) { __VA_ARGS__ }, \
           G_N_ELEMENTS(((const char *const[]) { __VA_ARGS__ })))

static bool needs_parity(const char *scheme)
{
    return strstr(scheme, "ttflash") || strstr(scheme, "reconstruct");
}

/* A drive of any geometry, with any of the features. */
static char *random_overrides(GRand *rand, const char *scheme)
{
    GString *text = g_string_new("geometry.pages_per_block=8,"
                                 "geometry.blocks_per_plane=40,"
                                 "ftl.over_provisioning_permille=900");

    g_string_append_printf(text, ",geometry.channels=%d",
                           g_rand_int_range(rand, 1 + needs_two(scheme), 3));
    g_string_append_printf(text, ",geometry.dies_per_chip=%d",
                           g_rand_int_range(rand, 1, 3));
    g_string_append_printf(text, ",geometry.planes_per_die=%s",
                           needs_two(scheme) ? ONE_OF(rand, "2", "4")
                                             : ONE_OF(rand, "1", "2", "2", "4"));
    if (needs_parity(scheme)) {
        g_string_append(text, ONE_OF(rand, ",geometry.channels=2,"
                                     "ftl.parity_width=2",
                                     ",geometry.channels=3,ftl.parity_width=3",
                                     ",geometry.channels=2,"
                                     "geometry.chips_per_channel=2,"
                                     "ftl.allocation=wcdp,ftl.parity_width=4"));
        g_string_append(text, ONE_OF(rand, "", ",ftl.parity_stripes=2"));
    } else {
        g_string_append(text, ONE_OF(rand, "", ",ftl.allocation=pdwc",
                                     ",ftl.allocation=dpcw",
                                     ",ftl.allocation=dynamic"));
        g_string_append(text, ONE_OF(rand, "", "", ",ftl.unit_bytes=512",
                                     ",ftl.unit_bytes=1024",
                                     ",ftl.unit_bytes=2048"));
    }
    g_string_append(text, ONE_OF(rand, "", "", ",controller.buffer_bytes=8192",
                                 ",controller.buffer_bytes=65536",
                                 ",controller.buffer_bytes=1048576"));
    g_string_append(text, ONE_OF(rand, "", "", ",controller.slots=3"));
    g_string_append(text, ONE_OF(rand, "", ",nand.multiplane=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.cache=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.copyback=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.suspend_program=1",
                                 ",nand.suspend_erase=1,nand.suspend_limit=1",
                                 ",nand.suspend_program=1,"
                                 "nand.suspend_erase=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.cell_bits=3,nand.layers=4,"
                                 "nand.layer_fastest_permille=667,"
                                 "nand.layer_slowest_permille=1333"));
    g_string_append(text, ONE_OF(rand, "", "", ",ftl.streams=3",
                                 ",ftl.streams=8"));
    g_string_append(text, ONE_OF(rand, "", ",gc.separate_active_block=0"));
    g_string_append(text, ONE_OF(rand, "", ",gc.background_free_blocks=5"));
    g_string_append(text, ONE_OF(rand, "", ",gc.wear_spread_erases=1"));
    g_string_append(text, ONE_OF(rand, "", ",gc.after_reads=1"));
    g_string_append(text, ONE_OF(rand, "", ",controller.reads_first=0",
                                 ",controller.reads_first_limit=2"));
    g_string_append(text, ONE_OF(rand, "",
                                 ",controller.gc_first_on_channel=1"));
    g_string_append(text, ONE_OF(rand, "", ",nand.bad_blocks_permille=40"));
    g_string_append(text, ONE_OF(rand, "", ",nand.endurance_erases=3"));
    if (!needs_parity(scheme)) {
        g_string_append(text, ONE_OF(rand, "", ",ftl.recovery=2"));
    }
    return g_string_free(text, false);
}

static void test_random(gconstpointer scheme)
{
    ScarpStats seen = { 0 };

    for (guint32 seed = 1; seed <= (g_test_slow() ? 400 : 9); seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        g_autofree char *overrides = random_overrides(rand, scheme);

        g_test_message("seed %u: %s", seed, overrides);
        random_workload(&(Workload) {
            .scheme = scheme, .overrides = overrides, .seed = seed,
            .commands = g_test_slow() ? 1000 : 600, .age_permille = 900,
            .ops = "RRRWWWZDF" },
            &seen);
    }
    /* What was meant to be tried was tried. */
    g_assert_cmpuint(seen.gc_runs, >, 0);
    g_assert_cmpuint(seen.multiplane_groups, >, 0);
    if (strcmp(scheme, "fifo")) { /* which wears evenly by itself */
        g_assert_cmpuint(seen.wear_runs, >, 0);
    }
    g_assert_cmpuint(seen.bad_blocks, >, 0);
    g_assert_cmpuint(seen.buffer_read_units, >, 0);
    if (needs_parity(scheme)) { /* units of a page fill it at once */
        g_assert_cmpuint(seen.parity_page_reads, >, 0);
        g_assert_cmpuint(seen.reconstructed_reads, >, 0);
    } else {
        g_assert_cmpuint(seen.buffer_coalesced_units, >, 0);
        g_assert_cmpuint(seen.padded_units, >, 0);
        g_assert_cmpuint(seen.record_writes, >, 0);
    }
    g_assert_cmpuint(seen.rmw_reads, >, 0);
    g_assert_cmpuint(seen.suspends, >, 0);
    g_assert_cmpint(seen.cause_ns[SCARP_CAUSE_BUFFER_FULL], >, 0);
    g_assert_cmpint(seen.cause_ns[SCARP_CAUSE_SUSPENDED], >, 0);
    if (strcmp(scheme, "ideal") && !strstr(scheme, "global") &&
        !strstr(scheme, "gc-z") && !strstr(scheme, "paragc")) {
        g_assert_cmpuint(seen.copybacks, >, 0);
    }
}

static void test_bad_input(void)
{
    static const char *const bad[][2] = {
        { "gc.nothing=1", "unknown key gc.nothing" },
        { "geometry.channels=0", "from 1 to 256" },
        { "geometry.page_bytes=5000", "power of two" },
        { "ftl.over_provisioning_permille=1", "spare blocks" },
        { "ftl.allocation=cwdx", "cwdp" },
        { "nonsense", "group.key=value" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        ScarpConfig config = {
            .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini",
                                                    NULL),
            .scheme = "baseline", .overrides = bad[i][0],
        };
        g_autoptr(GError) error = NULL;

        g_assert_null(scarp_drive_new(&config, &error));
        g_assert_nonnull(strstr(error->message, bad[i][1]));
    }
}

/* Without the check the host's killer of processes would answer. */
static void more_than_memory(const char *overrides, uint64_t least_gib,
                             const char *key)
{
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                        sysconf(_SC_PAGESIZE);
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "baseline",
        .overrides = overrides,
    };
    g_autoptr(GError) error = NULL;

    if (physical > 24ull << 30 || physical < least_gib << 30) {
        g_test_skip("this host has memory enough for it, or not for the rest");
        return;
    }
    g_assert_null(scarp_drive_new(&config, &error));
    g_assert_true(g_str_has_prefix(error->message, key));
    g_assert_nonnull(strstr(error->message, "this host has"));
}

static void test_more_than_memory(void)
{
    more_than_memory("geometry.channels=256,geometry.chips_per_channel=8,"
                     "geometry.blocks_per_plane=4096,"
                     "geometry.pages_per_block=255",
                     0, "geometry.blocks_per_plane=");
}

/* Of each unit 8 bytes and a little are in tables, and 32 in the cache. */
static void test_cache_more_than_memory(void)
{
    more_than_memory("geometry.channels=256,geometry.chips_per_channel=8,"
                     "geometry.blocks_per_plane=900,"
                     "geometry.pages_per_block=255,ftl.mapping=demand,"
                     "ftl.map_cache_bytes=8000000000",
                     12, "ftl.map_cache_bytes=");
}

static const char *const schemes[] = {
    "baseline", "ideal", "pgc", "fifo", "random+pgc+deadline", "d-choices",
    "cost-benefit", "gc-par", "gc-vic+pgc", "global", "gc-par+global",
    "gftl", "pagc", "pregc", "pregc+gftl", "gc-z", "paragc", "paragc+pregc",
    "ttflash", "ttflash+pregc", "reconstruct+gc-par",
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/drive/idle-latency", test_idle_latency);
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *path = g_strdup_printf("/drive/random/%s", schemes[i]);

        g_test_add_data_func(path, schemes[i], test_random);
    }
    g_test_add_func("/drive/bad-input", test_bad_input);
    g_test_add_func("/drive/more-than-memory", test_more_than_memory);
    g_test_add_func("/drive/cache-more-than-memory",
                    test_cache_more_than_memory);
    return g_test_run();
}
