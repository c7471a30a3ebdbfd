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
 * Where deallocations are recorded, they come the way that writes do.  Half a
 * unit is ordinary for a write; that zeroes are written to it, and that a
 * deallocation leaves it alone, are rare states with a mark each.
 */
static void test_part_of_unit(void)
{
    static const struct {
        ScarpOp op;
        unsigned zeroes, deallocations;
    } rows[] = {
        { SCARP_OP_WRITE, 0, 0 },
        { SCARP_OP_WRITE_ZEROES, 1, 0 },
        { SCARP_OP_DEALLOCATE, 0, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new("baseline", NULL,
                           "nand.power_cuts=1,ftl.recovery=2");
        ScarpCmd whole = cmd_of(rows[i].op, 0, PAGE);
        ScarpCmd part = cmd_of(rows[i].op, PAGE, PAGE / 2);

        rig_do(rig, &whole);
        g_assert_cmpuint(mark_times(rig, "zeroes_split_unit"), ==, 0);
        g_assert_cmpuint(mark_times(rig, "deallocation_of_part"), ==, 0);
        rig_do(rig, &part);
        g_assert_cmpuint(mark_times(rig, "zeroes_split_unit"), ==,
                         rows[i].zeroes);
        g_assert_cmpuint(mark_times(rig, "deallocation_of_part"), ==,
                         rows[i].deallocations);
        rig_free(rig);
    }
}

/*
 * Two reads at once need one channel, and one of them waits.  No collection
 * does, so neither mark of a channel that collections want is met.
 */
static void test_channel(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       "geometry.channels=1,controller.gc_first_on_channel=1");
    ScarpCmd cmd[2] = { read_page(0), read_page(1) };

    rig_fill(rig, 0, 2);
    for (size_t i = 0; i < G_N_ELEMENTS(cmd); i++) {
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive));
    }
    rig_drain(rig);
    g_assert_cmpint(cmd[1].cause_ns[SCARP_CAUSE_CHANNEL], >, 0);
    g_assert_cmpuint(mark_times(rig, "channel_after_collections"), ==, 0);
    g_assert_cmpuint(mark_times(rig, "collection_first_on_channel"), ==, 0);
    rig_free(rig);
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
        g_test_add_func("/marks/part-of-unit", test_part_of_unit);
        g_test_add_func("/marks/channel", test_channel);
        g_test_add_func("/marks/no-merges", test_no_merges);
    }
    return g_test_run();
}
