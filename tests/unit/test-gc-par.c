/*
 * GC-PAR: host programs go on joining GC's after one that had no mate.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scarp.h"

#define OVERRIDES "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.planes_per_die=2,geometry.blocks_per_plane=64," \
                  "geometry.pages_per_block=64,gc.trigger_free_blocks=5," \
                  "gc.separate_active_block=0,nand.multiplane=1," \
                  "ftl.over_provisioning_permille=400"
#define PAGE 4096u
#define WRITES 8000
/* Two of three of GC's moves find no write for the other plane. */
#define GAP_NS 1250000

/* Permille of the planes in use while the die collects. */
static uint64_t utilisation(const char *scheme, const char *params)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .params = params, .overrides = OVERRIDES, .seed = 1,
    };
    ScarpAge age = { .utilisation_permille = 800,
                     .overwrite_permille = UINT32_MAX, .pattern = "random",
                     .seed = 1 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);
    g_autofree ScarpCmd *cmd = g_new0(ScarpCmd, WRITES);
    uint64_t pages, window, used;
    const ScarpStats *stats;
    unsigned done = 0;

    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    pages = scarp_drive_logical_bytes(drive) / PAGE * 8 / 10;
    for (unsigned i = 0; i < WRITES; i++) {
        int64_t now_ns = (i + 1) * (int64_t)GAP_NS;

        cmd[i].op = SCARP_OP_WRITE;
        cmd[i].offset_bytes = (uint64_t)g_rand_int_range(rand, 0, pages) * PAGE;
        cmd[i].length_bytes = PAGE;
        cmd[i].deadline_ns = SCARP_TIME_NEVER;
        while (scarp_next_event_ns(drive) <= now_ns) {
            scarp_run(drive, scarp_next_event_ns(drive));
        }
        scarp_submit(drive, &cmd[i], now_ns);
    }
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    while (scarp_reap(drive)) {
        done++;
    }
    g_assert_cmpuint(done, ==, WRITES);
    g_assert_true(scarp_check(drive, &error));
    stats = scarp_stats(drive);
    window = stats->gc_window_ns;
    used = stats->gc_busy_ns + stats->gc_shared_ns;
    g_assert_cmpuint(stats->gc_runs, >, 100);
    scarp_drive_free(drive);
    return used * 1000 / window;
}

static void test_stays_aligned(void)
{
    uint64_t with = utilisation("gc-par", NULL);
    uint64_t without = utilisation("gc-par", "second_active_block=0");

    g_test_message("%u with, %u without", (unsigned)with, (unsigned)without);
    g_assert_cmpuint(utilisation("baseline", NULL), ==, 500);
    /* A sixth of the planes' time is what those writes take. */
    g_assert_cmpuint(with, >, 640);
    g_assert_cmpuint(with, >, without + 60);
}

/* With fewer free blocks no aligned block is opened: who asks is told so. */
static void test_needs_blocks(void)
{
    static const struct {
        const char *trigger, *params;
        bool taken;
    } rows[] = {
        { "gc.trigger_free_blocks=2", "second_active_block=1", false },
        { "gc.trigger_free_blocks=2", "second_active_block=0", true },
        { "gc.trigger_free_blocks=2", NULL, true },
        { "gc.trigger_free_blocks=3", "second_active_block=1", true },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path =
            g_test_build_filename(G_TEST_DIST, "tiny.ini", NULL);
        g_autofree char *keys = g_strconcat("geometry.planes_per_die=2,",
                                            rows[i].trigger, NULL);
        g_autoptr(GError) error = NULL;
        ScarpConfig config = { .description_path = path, .scheme = "gc-par",
                               .overrides = keys, .params = rows[i].params };
        ScarpDrive *drive = scarp_drive_new(&config, &error);

        if (rows[i].taken) {
            g_assert_no_error(error);
            scarp_drive_free(drive);
        } else {
            g_assert_null(drive);
            g_assert_cmpstr(error->message, ==,
                            "params: second_active_block=1: needs "
                            "gc.trigger_free_blocks=3 or more");
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gc-par/stays-aligned", test_stays_aligned);
    g_test_add_func("/gc-par/needs-blocks", test_needs_blocks);
    return g_test_run();
}
