/*
 * FAST: sequential and random log blocks, from known states, with merges and
 * copies counted by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "merges.h"

/* One sequential log block, and one random one. */
#define FAST ONE_PLANE ",ftl.mapping=fast,ftl.log_blocks=2"

static Rig *filled(const char *overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);

    for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
        write_offsets(rig, b, "0123");
    }
    expect(rig, (Merges) { 0 });
    return rig;
}

/* S is the sequential log block, R the random one, D(n) n's data block. */
static void test_sequence(void)
{
    Rig *rig = filled(FAST);

    /* R: 0.1 1.2 0.3 2.1; it is full. */
    write_after(rig, 0, 1, (Merges) { 0 });
    write_after(rig, 1, 2, (Merges) { 0 });
    write_after(rig, 0, 3, (Merges) { 0 });
    write_after(rig, 2, 1, (Merges) { 0 });
    g_assert_cmpuint(block_of(rig, 0, 1), ==, block_of(rig, 2, 1));
    /*
     * 3.1 needs another one: 0, 1 and 2 are merged, each 4 copies and the
     * erase of its data block; then R is erased.
     */
    write_after(rig, 3, 1, (Merges) { .fulls = 3, .reads = 12, .programs = 12,
                                      .erases = 4 });
    /* S: 4.0 4.1 4.2 4.3; another first page finds it full: a switch. */
    write_after(rig, 4, 0, (Merges) { 0 });
    write_after(rig, 4, 1, (Merges) { 0 });
    write_after(rig, 4, 2, (Merges) { 0 });
    write_after(rig, 4, 3, (Merges) { 0 });
    write_after(rig, 5, 0, (Merges) { .switches = 1, .erases = 1 });
    /* S: 5.0 5.1; another first page: 5.2 and 5.3 are copied. */
    write_after(rig, 5, 1, (Merges) { 0 });
    write_after(rig, 6, 0, (Merges) { .partials = 1, .reads = 2,
                                      .programs = 2, .erases = 1 });
    /* S: 6.0; 6.2 breaks its order: it is merged, and 6.2 goes to R. */
    write_after(rig, 6, 2, (Merges) { .partials = 1, .reads = 3,
                                      .programs = 3, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 6, 2), ==, block_of(rig, 3, 1));
    /* R: 3.1 6.2 7.1; then 7.1 once more, in S behind 7.0. */
    write_after(rig, 7, 1, (Merges) { 0 });
    write_after(rig, 7, 0, (Merges) { 0 });
    write_after(rig, 7, 1, (Merges) { 0 });
    g_assert_cmpuint(block_of(rig, 7, 1), ==, block_of(rig, 7, 0));
    write_after(rig, 7, 2, (Merges) { 0 });
    /* R: 3.1 6.2 (7.1) 3.3: of it 3 and 6 are merged, not 7. */
    write_after(rig, 3, 3, (Merges) { 0 });
    write_after(rig, 1, 1, (Merges) { .fulls = 2, .reads = 8, .programs = 8,
                                      .erases = 3 });
    /* S: 7.0 7.1 7.2 7.3; R: 1.1 2.3; 2.0 makes a switch of 7. */
    write_after(rig, 7, 3, (Merges) { 0 });
    write_after(rig, 2, 3, (Merges) { 0 });
    write_after(rig, 2, 0, (Merges) { .switches = 1, .erases = 1 });
    /*
     * S: 2.0; R: 1.1 2.3 0.1 0.2.  1, 2 and 0 are merged; 2 with its page of S,
     * which is erased: D(1), D(2), S, D(0), R.
     */
    write_after(rig, 0, 1, (Merges) { 0 });
    write_after(rig, 0, 2, (Merges) { 0 });
    write_after(rig, 4, 1, (Merges) { .fulls = 3, .reads = 12, .programs = 12,
                                      .erases = 5 });
    for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
        for (unsigned i = 0; i < BLOCK_PAGES && (b != 4 || i != 1); i++) {
            g_assert_cmpuint(page_of(rig, b, i), ==, i);
        }
    }
    /* Eight data blocks, and R with 4.1. */
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 7);
    rig_free(rig);
}

static void test_deallocated(void)
{
    Rig *rig = filled(FAST);

    /* R: 0.1 1.1 1.2 1.3: 0 needs no merge when 0.1 is gone. */
    write_offsets(rig, 0, "1");
    write_offsets(rig, 1, "123");
    trim(rig, 0, 1, 1);
    write_after(rig, 2, 1, (Merges) { .fulls = 1, .reads = 4, .programs = 4,
                                      .erases = 2 });
    g_assert_cmpuint(block_of(rig, 0, 1), ==, INSIDE_NONE);
    /* R: 2.1 2.1 2.1 2.1, all of it stale. */
    write_offsets(rig, 2, "111");
    trim(rig, 2, 1, 1);
    write_after(rig, 3, 1, (Merges) { .erases = 1 });
    /* S: 4.0 4.1, and what the data block holds behind them is gone. */
    write_offsets(rig, 4, "01");
    trim(rig, 4, 2, 2);
    write_after(rig, 5, 0, (Merges) { .switches = 1, .erases = 1 });
    /* Of a data block nothing is left, nor of its log. */
    trim(rig, 5, 0, 4);
    write_after(rig, 6, 0, (Merges) { .erases = 2 });
    /* S: 6.0, which is gone; its order is not broken. */
    trim(rig, 6, 0, 1);
    write_after(rig, 6, 1, (Merges) { 0 });
    write_after(rig, 7, 0, (Merges) { .partials = 1, .reads = 2,
                                      .programs = 2, .erases = 1 });
    g_assert_cmpuint(block_of(rig, 6, 0), ==, INSIDE_NONE);
    rig_free(rig);
}

/* The oldest of several random log blocks goes first, page by page. */
static void test_oldest_first(void)
{
    Rig *rig = filled(ONE_PLANE ",ftl.mapping=fast,ftl.log_blocks=4");
    uint32_t second;

    write_offsets(rig, 0, "1123");
    write_offsets(rig, 1, "1");
    second = block_of(rig, 1, 1);
    write_offsets(rig, 2, "1111");
    write_offsets(rig, 0, "1");
    write_offsets(rig, 3, "11");
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
    /* R1: 0.1 0.1 0.2 0.3, of which two are valid.  Its merge takes 0.1, too. */
    write_after(rig, 3, 1, (Merges) { .fulls = 1, .reads = 4, .programs = 4,
                                      .erases = 2 });
    g_assert_cmpuint(block_of(rig, 1, 1), ==, second);
    g_assert_cmpuint(page_of(rig, 0, 1), ==, 1);
    rig_free(rig);
}

/* Each logical block of a random log is a job of its own: reads come between. */
static void test_small_jobs(void)
{
    Rig *rig = filled(FAST);

    write_offsets(rig, 0, "1");
    write_offsets(rig, 1, "1");
    write_offsets(rig, 2, "1");
    write_offsets(rig, 3, "1");
    write_offsets(rig, 4, "1");
    g_assert_cmpuint(rig->n_runs, ==, 4);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(rig->run[i].merge, ==, SCARP_MERGE_FULL);
        g_assert_cmpuint(rig->run[i].moved_units, ==, 4);
        g_assert_cmpint(rig->run[i].end_ns - rig->run[i].begin_ns, ==,
                        4 * (READ_NS + PROGRAM_NS) +
                            (i == 3 ? 2 : 1) * ERASE_NS);
    }
    rig_free(rig);
}

/*
 * A block that wears out must not be one that the log blocks stand on: logical
 * blocks without a data block, which get theirs one after the other, would
 * leave none to merge into.
 */
static void test_worn_out(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       "geometry.channels=1,geometry.dies_per_chip=1,"
                       "geometry.blocks_per_plane=13,"
                       "geometry.pages_per_block=4,"
                       "ftl.over_provisioning_permille=625,"
                       "gc.trigger_free_blocks=1,nand.endurance_erases=1,"
                       "ftl.mapping=fast");
    g_autoptr(GError) error = NULL;

    for (unsigned b = 0; b < 6; b++) {
        write_offsets(rig, b, "0");
    }
    /* 0 and 1 have data blocks, 6 and 7 do not. */
    write_offsets(rig, 0, "2");
    write_offsets(rig, 6, "1");
    write_offsets(rig, 7, "1");
    write_offsets(rig, 1, "2");
    write_offsets(rig, 2, "2323");
    write_offsets(rig, 3, "2323");
    write_offsets(rig, 4, "0");
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
    /* The first random log block is reclaimed: all four are merged. */
    write_offsets(rig, 5, "2");
    g_assert_cmpuint(rig_stats(rig)->full_merges, >=, 4);
    g_assert_true(scarp_check(rig->drive, &error));
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
            write_offsets(rig, b, round % 3 ? "31" : "0230");
            g_assert_cmpuint(inside_free_blocks(rig->drive, 0), >=, 1);
        }
        g_assert_true(scarp_check(rig->drive, &error));
    }
    /* All that can go bad are. */
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 1);
    rig_free(rig);
}

static void test_refusal(void)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "baseline",
        .overrides = ONE_PLANE ",ftl.mapping=fast,ftl.log_blocks=1",
    };
    g_autoptr(GError) error = NULL;

    g_assert_null(scarp_drive_new(&config, &error));
    g_assert_nonnull(strstr(error->message, "must be 0, or from 2 to 7"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mapping-fast/sequence", test_sequence);
    g_test_add_func("/mapping-fast/deallocated", test_deallocated);
    g_test_add_func("/mapping-fast/oldest-first", test_oldest_first);
    g_test_add_func("/mapping-fast/small-jobs", test_small_jobs);
    g_test_add_func("/mapping-fast/worn-out", test_worn_out);
    g_test_add_func("/mapping-fast/refusal", test_refusal);
    return g_test_run();
}
