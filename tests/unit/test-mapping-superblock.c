/*
 * Superblock mapping: merges from known states, of superblocks of two logical
 * blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "merges.h"

#define SUPER ONE_PLANE ",ftl.mapping=superblock,ftl.superblock_blocks=2"
#define ONE_UPDATE SUPER ",ftl.log_blocks=1"

/* Logical blocks 2 n and 2 n + 1 are superblock n. */
static Rig *filled(const char *overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);

    for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
        write_offsets(rig, b, "0123");
    }
    expect(rig, (Merges) { 0 });
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 8);
    return rig;
}

/* The old block is erased as it is when all of it was written elsewhere. */
static void test_switch(void)
{
    Rig *rig = filled(ONE_UPDATE);
    uint32_t update;

    write_offsets(rig, 0, "3");
    update = block_of(rig, 0, 3);
    write_offsets(rig, 0, "021");
    g_assert_cmpuint(block_of(rig, 0, 1), ==, update);
    g_assert_cmpuint(page_of(rig, 0, 1), ==, 3);
    write_after(rig, 0, 1, (Merges) { .switches = 1, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 0, 1), !=, update);
    rig_free(rig);
}

/* What is valid of the old block fits into what the update block has left. */
static void test_partial(void)
{
    Rig *rig = filled(ONE_UPDATE);

    write_offsets(rig, 0, "012");
    write_after(rig, 2, 0, (Merges) { .partials = 1, .reads = 1,
                                      .programs = 1, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 0, 3), ==, block_of(rig, 0, 0));
    g_assert_cmpuint(page_of(rig, 0, 3), ==, 3);
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 7);
    rig_free(rig);
}

/*
 * Two pages were written anew, one of each block: three are valid in each, and
 * the update block has two left.  The first goes to it and to a free block:
 * full.  The superblock has as many blocks as before, and three pages left: the
 * second one fits.
 */
static void test_full(void)
{
    Rig *rig = filled(ONE_UPDATE);

    write_offsets(rig, 0, "0");
    write_offsets(rig, 1, "0");
    write_after(rig, 2, 0, (Merges) { .fulls = 1, .partials = 1, .reads = 6,
                                      .programs = 6, .erases = 2 });
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 7);
    rig_free(rig);
}

/* Only its own superblock has an update block: stale pages of that go. */
static void test_own(void)
{
    Rig *rig = filled(ONE_UPDATE);
    uint32_t update;

    write_offsets(rig, 0, "0000");
    update = block_of(rig, 0, 0);
    write_after(rig, 0, 0, (Merges) { .fulls = 1, .reads = 1, .programs = 1,
                                      .erases = 1 });
    g_assert_cmpuint(block_of(rig, 0, 0), !=, update);
    g_assert_cmpuint(page_of(rig, 0, 0), ==, 1);
    rig_free(rig);
}

/* Of two superblocks with update blocks the one written less recently. */
static void test_least_recent(void)
{
    Rig *rig = filled(SUPER ",ftl.log_blocks=2");
    uint32_t update;

    write_offsets(rig, 0, "012");
    write_offsets(rig, 2, "012");
    write_offsets(rig, 0, "0");
    update = block_of(rig, 0, 0);
    write_after(rig, 4, 0, (Merges) { .partials = 1, .reads = 1,
                                      .programs = 1, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 0, 0), ==, update);
    g_assert_cmpuint(block_of(rig, 2, 3), ==, block_of(rig, 2, 0));
    g_assert_cmpuint(block_of(rig, 0, 3), !=, update);
    rig_free(rig);
}

static void test_deallocated(void)
{
    Rig *rig = filled(ONE_UPDATE);

    /* All that was valid of the old block is gone: nothing is copied. */
    write_offsets(rig, 0, "012");
    trim(rig, 0, 3, 1);
    write_after(rig, 2, 0, (Merges) { .switches = 1, .erases = 1 });
    /* The page that the old block is copied for goes while others stay. */
    write_offsets(rig, 2, "1");
    trim(rig, 2, 2, 1);
    write_after(rig, 4, 0, (Merges) { .partials = 1, .reads = 1,
                                      .programs = 1, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 2, 2), ==, INSIDE_NONE);
    rig_free(rig);
}

/* Sequential writes cost an erase a block, and no copies. */
static void test_sequential(void)
{
    Rig *rig = filled(SUPER);

    for (unsigned round = 0; round < 4; round++) {
        for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
            write_offsets(rig, b, "0123");
        }
    }
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->switch_merges, ==,
                     rig_stats(rig)->erases);
    g_assert_cmpuint(rig_stats(rig)->erases, >, 20);
    rig_free(rig);
}

/* There is always a block free for a merge, and an end to them. */
static void test_last_spare_block(void)
{
    Rig *rig = rig_new("baseline", NULL, SUPER);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (unsigned i = 0; i < 500; i++) {
        rig_write(rig, g_rand_int_range(rand, 0, 8 * BLOCK_PAGES));
        g_assert_cmpuint(inside_free_blocks(rig->drive, 0), >=, 1);
    }
    g_assert_cmpuint(rig_stats(rig)->full_merges, >, 10);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mapping-superblock/switch", test_switch);
    g_test_add_func("/mapping-superblock/partial", test_partial);
    g_test_add_func("/mapping-superblock/full", test_full);
    g_test_add_func("/mapping-superblock/own", test_own);
    g_test_add_func("/mapping-superblock/least-recent", test_least_recent);
    g_test_add_func("/mapping-superblock/deallocated", test_deallocated);
    g_test_add_func("/mapping-superblock/sequential", test_sequential);
    g_test_add_func("/mapping-superblock/last-spare-block",
                    test_last_spare_block);
    return g_test_run();
}
