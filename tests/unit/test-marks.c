/*
 * Marks: their names, and that a drive counts those that it met.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

static void test_names(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    g_assert_cmpuint(scarp_mark_count(), >=, 80);
    for (unsigned i = 0; i < scarp_mark_count(); i++) {
        const ScarpMarkField *mark = scarp_mark_field(i);

        g_assert_true(g_hash_table_add(seen, (void *)mark->name));
        g_assert_true(g_regex_match_simple("^[a-z][a-z0-9_]+$", mark->name, 0,
                                           0));
        g_assert_true(g_hash_table_add(seen, (void *)mark->help));
        g_assert_true(g_ascii_islower(mark->help[0]));
        g_assert_null(strpbrk(mark->help, ".\n"));
    }
}

/* Each drive has its own, from 0 on; they outlive the statistics' reset. */
static void test_counted(void)
{
    const char *keys = "nand.endurance_erases=2,geometry.blocks_per_plane=20,"
                       "geometry.pages_per_block=8,"
                       "ftl.over_provisioning_permille=1500";
    Rig *rig = rig_new("baseline", NULL, keys);
    Rig *other = rig_new("baseline", NULL, keys);

    rig_age(rig, 900);
    for (unsigned i = 0; i < 1200; i++) {
        rig_write(rig, i % 8);
    }
    g_assert_cmpuint(mark_times(rig, "worn_out"), ==,
                     rig_stats(rig)->bad_blocks);
    g_assert_cmpuint(mark_times(rig, "worn_out"), >, 0);
    scarp_stats_reset(rig->drive);
    g_assert_cmpuint(mark_times(rig, "worn_out"), >, 0);
    for (unsigned i = 0; i < scarp_mark_count(); i++) {
        g_assert_cmpuint(scarp_mark_times(other->drive, i), ==, 0);
    }
    rig_free(rig);
    rig_free(other);
}

/*
 * Collections of two planes copy page by page, and at one offset they program
 * together.  No merge does: the mapping has none.
 */
static void test_no_merges(void)
{
    Rig *rig = rig_new("baseline", NULL, "geometry.channels=1,"
                       "geometry.dies_per_chip=1,geometry.planes_per_die=2,"
                       "nand.multiplane=1");
    unsigned together = 0;

    rig_age(rig, 900);
    scarp_collect_now(rig->drive, UINT32_MAX);
    rig_drain(rig);
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        together += op->kind == SCARP_FLASH_PROGRAM && op->multiplane &&
                    op->origin == SCARP_ORIGIN_GC;
    }
    g_assert_cmpuint(together, >, 0);
    g_assert_cmpuint(mark_times(rig, "merges_together"), ==, 0);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (scarp_mark_count()) {
        g_test_add_func("/marks/names", test_names);
        g_test_add_func("/marks/counted", test_counted);
        g_test_add_func("/marks/no-merges", test_no_merges);
    }
    return g_test_run();
}
