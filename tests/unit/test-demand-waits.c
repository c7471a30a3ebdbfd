/*
 * ftl.mapping=demand: what waits until translation units are on flash: a
 * checkpoint, and collections that had changed too many entries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

/* ---- Checkpoints ---------------------------------------------------------- */

/* The translation unit is on one die, the checkpoints' own on the other one. */
#define TWO_DIES "geometry.channels=1,geometry.blocks_per_plane=32," \
                 "gc.trigger_free_blocks=2,nand.power_cuts=1," \
                 "ftl.recovery=1,ftl.mapping=demand," \
                 "ftl.map_cache_bytes=128,ftl.checkpoint_pages=40"

/*
 * The translation unit is being programmed when a checkpoint begins, and lacks
 * what was written since its contents were taken.  Only its next program has
 * that, so the checkpoint's own unit waits for this one: it says that nothing
 * older than the journal has to be read, and power may fail as soon as it is on
 * flash.
 */
static void test_older_program(void)
{
    ScarpAge age = { .utilisation_permille = 1000, .pattern = "sequential" };
    Rig *rig = rig_new("baseline", NULL, TWO_DIES);
    ScarpCmd read = read_page(100), write = write_page(1);
    const ScarpFlashOp *older, *newer, *own;

    g_assert_cmpuint(inside_mapped_units(rig->drive), ==,
                     inside_first_translation_unit(rig->drive) + 2);
    g_assert_true(scarp_age(rig->drive, &age, NULL));
    for (unsigned i = 0; i < 39; i++) {
        rig_write(rig, i % 16);
    }
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 0);
    /*
     * All 16 entries are dirty: for the read's the translation unit is written.
     * Meanwhile the 40th page is, and the checkpoint is due.
     */
    scarp_submit(rig->drive, &read, scarp_now_ns(rig->drive));
    scarp_submit(rig->drive, &write, scarp_now_ns(rig->drive));
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 3);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 1);
    older = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP, 0);
    newer = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP, 1);
    own = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP, 2);
    g_assert_cmpint(write.complete_ns, >, older->begin_ns);
    g_assert_cmpint(write.complete_ns, <, older->end_ns);
    g_assert_cmpuint(newer->die, ==, older->die);
    g_assert_cmpuint(own->die, !=, older->die);
    g_assert_cmpint(own->begin_ns, >=, newer->end_ns);
    rig_free(rig);
}

/* ---- Collections ---------------------------------------------------------- */

/* A full drive with the least cache is written at random. */
static Rig *all_over(const char *dies)
{
    g_autofree char *keys = g_strconcat(
        "ftl.mapping=demand,ftl.map_cache_bytes=128,geometry.channels=1,"
        "geometry.page_bytes=512,geometry.blocks_per_plane=128,"
        "geometry.dies_per_chip=", dies, NULL);
    Rig *rig = rig_new("baseline", NULL, keys);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / 512;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    ScarpCmd cmd[80];

    rig_age(rig, 1000);
    for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
        uint64_t page = g_rand_int_range(rand, 0, pages - 4);

        cmd[i] = cmd_of(SCARP_OP_WRITE, page * 512, 4 * 512);
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive));
        if (i % 16 == 15) {
            rig_drain(rig);
        }
    }
    return rig;
}

/*
 * A collection that cannot begin asks for what those of other planes have
 * changed so far.  One plane has no other: when its last collection ended, all
 * that it had changed was to be written at once.
 */
static void test_asks_others(void)
{
    for (unsigned dies = 1; dies <= 2; dies++) {
        Rig *rig = all_over(dies == 1 ? "1" : "2");

        g_assert_cmpuint(mark_times(rig, "collection_starved"), >, 0);
        g_assert_true((mark_times(rig, "starved_asks_for_batch") > 0) ==
                      (dies == 2));
        rig_free(rig);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mapping/demand/waits/older-program", test_older_program);
    if (scarp_mark_count()) {
        g_test_add_func("/mapping/demand/waits/asks-others", test_asks_others);
    }
    return g_test_run();
}
