/*
 * Wear, bad blocks, and collecting in the background.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#define ONE_PLANE "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.pages_per_block=8"

typedef struct {
    uint32_t least, most;
    uint64_t sum;
} Wear;

static Wear wear_of(const ScarpDrive *drive)
{
    Wear wear = { .least = UINT32_MAX };

    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        wear.sum += inside_erases(drive, b);
        if (!inside_is_bad(drive, b)) {
            wear.least = MIN(wear.least, inside_erases(drive, b));
            wear.most = MAX(wear.most, inside_erases(drive, b));
        }
    }
    return wear;
}

/* Written once, then a tenth of it for ever; wear at the half and at the end. */
static void hot_and_cold(const char *overrides, Wear *half, Wear *end)
{
    Rig *rig = rig_new("ideal", NULL, overrides); /* fast, and wears alike */
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    rig_fill(rig, 0, pages);
    for (unsigned i = 0; i < 12000; i++) {
        rig_write(rig, i * 7919 % (pages / 10));
        if (i == 6000) {
            *half = wear_of(rig->drive);
        }
    }
    *end = wear_of(rig->drive);
    g_assert_cmpuint(end->sum, ==, rig_stats(rig)->erases);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, rig_stats(rig)->gc_runs);
    rig_free(rig);
}

/* Static levelling: cold blocks are moved, and the spread stays bounded. */
static void test_static(void)
{
    Wear half, end;

    hot_and_cold(ONE_PLANE, &half, &end);
    g_assert_cmpuint(end.least, ==, 0); /* cold blocks never move */
    g_assert_cmpuint(end.most - end.least, >,
                     (half.most - half.least) * 3 / 2);
    g_assert_cmpuint(end.most, >, 40);

    for (unsigned spread = 1; spread <= 10; spread += 9) {
        g_autofree char *overrides =
            g_strdup_printf(ONE_PLANE ",gc.wear_spread_erases=%u", spread);

        hot_and_cold(overrides, &half, &end);
        g_test_message("%u: %u to %u erases", spread, end.least, end.most);
        g_assert_cmpuint(half.least, >, 0);
        /*
         * A few looks at a time find the least erased soon, not at once.  Once
         * only the oldest block was looked at, and the spread grew for ever.
         */
        g_assert_cmpuint(half.most - half.least, <=, spread + 4);
        g_assert_cmpuint(end.most - end.least, <=, spread + 4);
    }
}

/*
 * Wear as uneven as it can be: all but the cold blocks are worn.  A write that
 * waits for a free block waits for a few collections, not for the thousands
 * that would level.
 */
static void test_host_goes_on(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_PLANE ",gc.wear_spread_erases=1");
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    rig_fill(rig, 0, pages);
    for (unsigned i = 0; i < 2 * pages; i++) {
        rig_write(rig, i * 7919 % (pages / 10));
    }
    for (uint32_t b = 0; b < inside_blocks(rig->drive); b++) {
        inside_set_erases(rig->drive, b,
                          inside_valid(rig->drive, b) <
                                  inside_units_per_block(rig->drive)
                              ? 1000 : 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = rig_stats(rig)->gc_runs;

        rig_write(rig, i * 7919 % (pages / 10));
        g_assert_cmpuint(rig_stats(rig)->gc_runs - before, <, 100);
    }
    g_assert_cmpuint(rig_stats(rig)->wear_runs, >, 0);
    rig_free(rig);
}

/* Dynamic levelling: free blocks are used in turn, so hot ones wear alike. */
static void test_dynamic(void)
{
    Rig *rig = rig_new("ideal", NULL, ONE_PLANE);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    Wear wear;

    for (unsigned i = 0; i < 6000; i++) {
        rig_write(rig, i * 7919 % pages);
    }
    wear = wear_of(rig->drive);
    g_test_message("%u to %u erases", wear.least, wear.most);
    g_assert_cmpuint(wear.most, >, 10);
    g_assert_cmpuint(wear.most - wear.least, <=, wear.most / 3);
    rig_free(rig);
}

/* ---- Bad blocks ----------------------------------------------------------- */

static void never_bad(void *opaque, const ScarpFlashOp *op)
{
    const ScarpDrive *drive = opaque;

    /* An erase may be the last one: it is set aside after this. */
    g_assert_false(inside_is_bad(drive, op->block));
}

static uint64_t bad_set(const ScarpDrive *drive)
{
    uint64_t hash = 5381;

    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        hash = hash * 33 + (inside_is_bad(drive, b));
    }
    return hash;
}

static ScarpDrive *with_bad(uint64_t seed)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    ScarpConfig config = { .description_path = path, .scheme = "baseline",
                           .overrides = "nand.bad_blocks_permille=50",
                           .seed = seed };
    ScarpDrive *drive = scarp_drive_new(&config, NULL);

    g_assert_nonnull(drive);
    return drive;
}

/* So many of each plane, chosen by the seed; nothing is ever done to them. */
static void test_bad_from_start(void)
{
    Rig *rig = rig_new("baseline", NULL, "nand.bad_blocks_permille=50");
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    uint64_t chosen = bad_set(rig->drive);
    ScarpDrive *same = with_bad(1), *other = with_bad(2);

    g_assert_cmphex(bad_set(same), ==, chosen);
    g_assert_cmphex(bad_set(other), !=, chosen);
    scarp_drive_free(same);
    scarp_drive_free(other);
    for (uint32_t p = 0; p < inside_planes(rig->drive); p++) {
        g_assert_cmpuint(inside_bad_blocks(rig->drive, p), ==, 64 * 50 / 1000);
    }
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 4 * 3);
    g_assert_cmpuint(scarp_spare_percent(rig->drive), ==, 100);
    g_assert_cmpuint(scarp_used_percent(rig->drive), ==, 0);
    rig_age(rig, 900);
    scarp_set_observer(rig->drive, &(ScarpObserver) {
        .flash_phase = never_bad, .opaque = rig->drive });
    for (unsigned i = 0; i < 600; i++) {
        rig_write(rig, i * 7919 % pages);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_runs, >, 10);
    g_assert_cmphex(bad_set(rig->drive), ==, chosen);
    rig_free(rig);
}

/* Worn out, a block is set aside, as long as the plane can spare it. */
static void test_endurance(void)
{
    Rig *rig = rig_new("ideal", NULL, ONE_PLANE ",nand.endurance_erases=5");
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    const ScarpDrive *drive = rig->drive;
    uint32_t spares = 64 - inside_reserved_blocks(drive) - (pages + 7) / 8;
    uint32_t bad = 0;

    g_assert_cmpuint(scarp_spare_percent(drive), ==, 100);
    g_assert_cmpuint(scarp_used_percent(drive), ==, 0);
    scarp_set_observer(rig->drive, &(ScarpObserver) {
        .flash_phase = never_bad, .opaque = rig->drive });
    for (unsigned i = 0; i < 9000; i++) {
        uint32_t gone;

        rig_write(rig, i * 7919 % pages);
        gone = rig_stats(rig)->bad_blocks;
        /* None too early. */
        g_assert_true(!gone || wear_of(drive).sum > 4 * 30);
        /* Of its 64 blocks; the host's pages and the reserve need theirs. */
        g_assert_cmpuint(scarp_spare_percent(drive), ==,
                         (spares - gone) * 100 / spares);
        g_assert_cmpuint(scarp_used_percent(drive), ==,
                         wear_of(drive).sum * 100 / (64 * 5));
    }
    g_assert_cmpuint(scarp_spare_percent(drive), ==, 0);
    g_assert_cmpuint(scarp_used_percent(drive), >, 100);
    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        bad += inside_is_bad(drive, b);
        g_assert_true(!inside_is_bad(drive, b) ||
                      inside_erases(drive, b) == 5);
    }
    g_test_message("%u bad", bad);
    g_assert_cmpuint(bad, ==, rig_stats(rig)->bad_blocks);
    /* All that can be spared, and no more: it goes on working. */
    g_assert_cmpuint(bad, ==, spares);
    g_assert_cmpuint(wear_of(drive).most, >, 5);
    rig_free(rig);
}

/* ---- In the background ---------------------------------------------------- */

static void idle(Rig *rig, int64_t ns)
{
    int64_t until = scarp_now_ns(rig->drive) + ns;

    scarp_run(rig->drive, until);
}

/*
 * Two thresholds: idle dies collect up to one, busy ones at the other.  Under
 * gftl a collection that began in idle time stood still until the next command.
 */
static void test_background(gconstpointer scheme)
{
    Rig *rig = rig_new(scheme, NULL, "gc.background_free_blocks=8");
    ScarpDrive *drive = rig->drive;
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE, runs;
    int64_t now;

    rig_age(rig, 800);
    /* Ageing collects at gc.trigger_free_blocks: less is free than idle wants. */
    for (uint32_t p = 0; p < inside_planes(drive); p++) {
        g_assert_cmpuint(inside_free_blocks(drive, p), <=, 5);
    }
    rig_fill(rig, 0, 4); /* each die has had something to do, and rests */
    idle(rig, 2000000000);
    for (uint32_t p = 0; p < inside_planes(drive); p++) {
        g_assert_cmpuint(inside_free_blocks(drive, p), ==, 8);
    }
    runs = rig_stats(rig)->gc_runs;
    g_assert_cmpuint(runs, >=, 4 * 3);
    idle(rig, 2000000000); /* enough is enough */
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, runs);
    /* Busy: nothing is collected before three blocks are left. */
    now = scarp_now_ns(drive);
    for (unsigned i = 0; i < 4 * 16 * 3; i++) {
        ScarpCmd *cmd = g_new(ScarpCmd, 1);

        *cmd = write_page(i * 7919 % (pages * 8 / 10));
        scarp_submit(drive, cmd, now);
    }
    while (rig_stats(rig)->cmds_accepted != rig_stats(rig)->cmds_completed) {
        scarp_run(drive, scarp_next_event_ns(drive));
        for (uint32_t p = 0; p < inside_planes(drive); p++) {
            if (inside_collects(drive, p) && inside_queued_programs(drive, p)) {
                g_assert_cmpuint(inside_free_blocks(drive, p), <=, 3);
            }
        }
    }
    for (ScarpCmd *cmd; (cmd = scarp_reap(drive));) {
        g_free(cmd);
    }
    rig_drain(rig);
    rig_free(rig);

    rig = rig_new(scheme, NULL, NULL); /* off */
    rig_age(rig, 800);
    rig_fill(rig, 0, 4);
    idle(rig, 2000000000);
    for (uint32_t p = 0; p < 4; p++) {
        g_assert_cmpuint(inside_free_blocks(rig->drive, p), <=, 4);
    }
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wear/static", test_static);
    g_test_add_func("/wear/dynamic", test_dynamic);
    g_test_add_func("/wear/host-goes-on", test_host_goes_on);
    g_test_add_func("/wear/bad-blocks", test_bad_from_start);
    g_test_add_func("/wear/endurance", test_endurance);
    g_test_add_data_func("/wear/background", "baseline", test_background);
    g_test_add_data_func("/wear/background/gftl", "gftl", test_background);
    g_test_add_data_func("/wear/background/pgc", "pgc", test_background);
    return g_test_run();
}
