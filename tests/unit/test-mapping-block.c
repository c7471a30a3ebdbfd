/*
 * Block mapping with log blocks: each kind of merge from a known state, with
 * what it copies and erases, and the time that the write waits for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "merges.h"

#define BLOCK ONE_PLANE ",ftl.mapping=block"
#define ONE_LOG BLOCK ",ftl.log_blocks=1"

/* First writes, in order, need no log and no merge. */
static void test_in_place(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_LOG);

    for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
        for (unsigned i = 0; i < BLOCK_PAGES; i++) {
            write_after(rig, b, i, (Merges) { 0 });
            g_assert_cmpuint(page_of(rig, b, i), ==, i);
            g_assert_cmpuint(block_of(rig, b, i), ==, block_of(rig, b, 0));
        }
    }
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 8);
    rig_free(rig);
}

/*
 * Blocks 0 and 1 are full, and block 0 has the only log.  A page of block 1 is
 * written once more: the log must be merged before.
 */
static void merge_of_log(const char *log, Merges should)
{
    Rig *rig = rig_new("baseline", NULL, ONE_LOG);
    uint32_t data;

    write_offsets(rig, 0, "0123");
    write_offsets(rig, 1, "0123");
    data = block_of(rig, 0, 3);
    write_offsets(rig, 0, log);
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 13);
    write_after(rig, 1, 2, should);
    for (unsigned i = 0; i < BLOCK_PAGES; i++) {
        g_assert_cmpuint(page_of(rig, 0, i), ==, i);
        g_assert_cmpuint(block_of(rig, 0, i), !=, data);
        g_assert_cmpuint(block_of(rig, 0, i), ==, block_of(rig, 0, 0));
    }
    /* Two data blocks, and the log of block 1. */
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 13);
    g_assert_cmpuint(page_of(rig, 1, 2), ==, 0);
    rig_free(rig);
}

static void test_switch(void)
{
    merge_of_log("0123", (Merges) { .switches = 1, .erases = 1 });
}

static void test_partial(void)
{
    merge_of_log("0", (Merges) { .partials = 1, .reads = 3, .programs = 3,
                                 .erases = 1 });
    merge_of_log("012", (Merges) { .partials = 1, .reads = 1, .programs = 1,
                                   .erases = 1 });
}

static void test_full(void)
{
    static const char *const logs[] = { "1", "10", "013", "00", "0122", "3210" };

    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        merge_of_log(logs[i], (Merges) { .fulls = 1, .reads = 4,
                                         .programs = 4, .erases = 2 });
    }
}

/* A log block that is full is merged when its own logical block is written. */
static void test_own_log(void)
{
    Rig *rig = rig_new("baseline", NULL, BLOCK ",ftl.log_blocks=3");

    write_offsets(rig, 0, "0123");
    write_offsets(rig, 0, "1111");
    write_after(rig, 0, 1, (Merges) { .fulls = 1, .reads = 4, .programs = 4,
                                      .erases = 2 });
    g_assert_cmpuint(page_of(rig, 0, 1), ==, 0);
    rig_free(rig);
}

/* Of three log blocks the one that was written least recently goes. */
static void test_least_recent(void)
{
    Rig *rig = rig_new("baseline", NULL, BLOCK ",ftl.log_blocks=3");
    uint32_t log[3];

    for (unsigned b = 0; b < 4; b++) {
        write_offsets(rig, b, "0123");
    }
    write_offsets(rig, 0, "1");
    write_offsets(rig, 1, "1");
    write_offsets(rig, 2, "1");
    write_offsets(rig, 0, "2");
    for (unsigned b = 0; b < 3; b++) {
        log[b] = block_of(rig, b, 1);
    }
    write_after(rig, 3, 1, (Merges) { .fulls = 1, .reads = 4, .programs = 4,
                                      .erases = 2 });
    g_assert_cmpuint(block_of(rig, 0, 1), ==, log[0]);
    g_assert_cmpuint(block_of(rig, 1, 1), !=, log[1]);
    g_assert_cmpuint(block_of(rig, 2, 1), ==, log[2]);
    rig_free(rig);
}

/* What was deallocated is not copied. */
static void test_deallocated(void)
{
    static const struct {
        unsigned first, n;
        Merges should;
    } rows[] = {
        /* A page without data comes before page 3, not behind page 2. */
        { 2, 1, { .partials = 1, .reads = 1, .programs = 2, .pads = 1,
                  .erases = 1 } },
        { 3, 1, { .partials = 1, .reads = 1, .programs = 1, .erases = 1 } },
        { 2, 2, { .switches = 1, .erases = 1 } },
        /* In the log: it goes on in the place of the data block. */
        { 0, 1, { .partials = 1, .reads = 2, .programs = 2, .erases = 1 } },
        /* The log holds nothing that is valid, but the data block does. */
        { 0, 2, { .erases = 1 } },
        { 0, 4, { .erases = 2 } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new("baseline", NULL, ONE_LOG);

        write_offsets(rig, 0, "0123");
        write_offsets(rig, 1, "0123");
        write_offsets(rig, 0, "01");
        trim(rig, 0, rows[i].first, rows[i].n);
        write_after(rig, 1, 0, rows[i].should);
        for (unsigned k = 0; k < BLOCK_PAGES; k++) {
            bool gone = k >= rows[i].first && k < rows[i].first + rows[i].n;

            g_assert_true((block_of(rig, 0, k) == INSIDE_NONE) == gone);
        }
        rig_free(rig);
    }
}

/* First writes out of order go to a log; in order, to the data block again. */
static void test_out_of_order(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_LOG);
    uint32_t log;

    write_offsets(rig, 0, "2");
    log = block_of(rig, 0, 2);
    g_assert_cmpuint(page_of(rig, 0, 2), ==, 0);
    write_offsets(rig, 0, "01");
    g_assert_cmpuint(block_of(rig, 0, 0), !=, log);
    write_offsets(rig, 0, "2");
    g_assert_cmpuint(block_of(rig, 0, 2), ==, block_of(rig, 0, 0));
    /* Nothing in the log is valid any longer. */
    write_offsets(rig, 1, "0");
    write_after(rig, 1, 0, (Merges) { .erases = 1 });
    rig_free(rig);

    /* Without a data block, pages that were never written are padded. */
    rig = rig_new("baseline", NULL, ONE_LOG);
    write_offsets(rig, 0, "2");
    write_after(rig, 1, 2, (Merges) { .fulls = 1, .reads = 1, .programs = 3,
                                      .pads = 2, .erases = 1 });
    /* The data block goes on behind them. */
    write_after(rig, 0, 3, (Merges) { 0 });
    g_assert_cmpuint(page_of(rig, 0, 3), ==, 3);
    rig_free(rig);
}

/*
 * A merge that yields, and a page that is overwritten between the read of its
 * copy and its program: the copy is stale, and the new page valid.
 */
static void test_overwritten(void)
{
    Rig *rig = rig_new("pgc", "pgc_floor=1",
                       ONE_PLANE ",ftl.mapping=block,gc.trigger_free_blocks=4");
    ScarpCmd late = write_page(1), last = write_page(12);
    g_autoptr(GError) error = NULL;

    for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
        write_offsets(rig, b, "0123");
    }
    for (unsigned b = 0; b < 3; b++) {
        write_offsets(rig, b, "1");
    }
    merges_of(rig);
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 5);
    scarp_submit(rig->drive, &last, scarp_now_ns(rig->drive));
    /* The fourth log opens, and block 0 is merged: page 1 is being read. */
    while (!rig_stats(rig)->gc_page_programs) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    scarp_submit(rig->drive, &late, scarp_now_ns(rig->drive));
    rig_drain(rig);
    /* Then a log of block 0 is the fourth again, and block 1 is merged. */
    g_assert_cmpuint(rig_stats(rig)->full_merges, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->gc_moved_units, ==, 3 + 4);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 4 + 4);
    g_assert_cmpuint(block_of(rig, 0, 0), !=, block_of(rig, 0, 1));
    g_assert_cmpuint(block_of(rig, 0, 0), ==, block_of(rig, 0, 2));
    g_assert_true(scarp_check(rig->drive, &error));
    rig_free(rig);
}

/* The plane keeps a free block for merges, however much is written. */
static void test_last_spare_block(void)
{
    Rig *rig = rig_new("baseline", NULL, BLOCK);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (unsigned i = 0; i < 500; i++) {
        rig_write(rig, g_rand_int_range(rand, 0, 8 * BLOCK_PAGES));
        g_assert_cmpuint(inside_free_blocks(rig->drive, 0), >=, 1);
    }
    /* A log for each of the seven but one; then one is merged for another. */
    g_assert_cmpuint(rig_stats(rig)->full_merges, >, 100);
    rig_free(rig);
}

/*
 * docs/mappings.md: runs of k pages, in order, from an offset on, of one logical
 * block after the other: (P + ...) / k.
 */
static void test_write_amplification(void)
{
    static const struct {
        const char *offsets;
        uint64_t milli;
    } rows[] = {
        { "0123", 1000 }, /* 1: a switch */
        { "012", 1333 },  /* P / k: a partial merge of P - k pages */
        { "01", 2000 },
        { "0", 4000 },
        { "123", 2333 },  /* 1 + P / k: a full merge */
        { "23", 3000 },
        { "3", 5000 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new("baseline", NULL, BLOCK);

        for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
            write_offsets(rig, b, "0123");
        }
        for (unsigned round = 0; round < 6; round++) {
            if (round == 2) {
                scarp_stats_reset(rig->drive);
            }
            for (unsigned b = 0; b < LOGICAL_BLOCKS; b++) {
                write_offsets(rig, b, rows[i].offsets);
            }
        }
        g_assert_cmpuint(amplification(rig), ==, rows[i].milli);
        rig_free(rig);
    }
}

/* A write that waits for a merge waits for what the die does for it. */
static void test_causes(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_LOG);
    ScarpCmd cmd = write_page(BLOCK_PAGES);

    write_offsets(rig, 0, "0123");
    write_offsets(rig, 1, "0123");
    write_offsets(rig, 0, "10");
    rig_do(rig, &cmd);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_DIE_GC_READ], ==, 4 * READ_NS);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM], ==,
                    4 * PROGRAM_NS);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_DIE_ERASE], ==, 2 * ERASE_NS);
    g_assert_cmpuint(rig->n_runs, ==, 1);
    g_assert_cmpint(rig->run[0].merge, ==, SCARP_MERGE_FULL);
    g_assert_cmpuint(rig->run[0].moved_units, ==, 4);
    g_assert_cmpint(rig->run[0].end_ns - rig->run[0].begin_ns, ==,
                    4 * (READ_NS + PROGRAM_NS) + 2 * ERASE_NS);
    rig_free(rig);
}

/*
 * What a die's merge still needs: what is left of the erase that runs, and the
 * erases after it.  A full merge copies four pages, then it erases two blocks.
 */
static void test_remaining(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_LOG);
    int64_t erases_ns;

    write_offsets(rig, 0, "0123");
    write_offsets(rig, 0, "1");
    erases_ns = scarp_now_ns(rig->drive) + 4 * (READ_NS + PROGRAM_NS) + CMD;
    g_assert_cmpint(inside_gc_remaining_ns(rig->drive, 0), ==, 0);
    g_assert_cmpuint(scarp_collect_now(rig->drive, 64), ==, 1);
    scarp_run(rig->drive, erases_ns + 1000000);
    g_assert_cmpint(inside_gc_remaining_ns(rig->drive, 0), ==,
                    TBERS - 1000000 + TBERS);
    scarp_run(rig->drive, erases_ns + ERASE_NS + 1000000);
    g_assert_cmpint(inside_gc_remaining_ns(rig->drive, 0), ==,
                    TBERS - 1000000);
    rig_drain(rig);
    g_assert_cmpint(inside_gc_remaining_ns(rig->drive, 0), ==, 0);
    g_assert_cmpint(rig->run[0].merge, ==, SCARP_MERGE_FULL);
    rig_free(rig);
}

/* What of a description or a scheme does not go with it. */
static void test_refusals(void)
{
    static const char *const refused[][3] = {
        { "baseline", "ftl.unit_bytes=1024", "ftl.unit_bytes=1024: with "
          "ftl.mapping=block it must be 0" },
        { "baseline", "ftl.streams=2", "ftl.streams=2: with" },
        { "baseline", "ftl.parity_width=2", "ftl.parity_width=2: with" },
        { "baseline", "ftl.allocation=dynamic", "ftl.allocation=dynamic: with" },
        { "baseline", "gc.wear_spread_erases=1", "gc.wear_spread_erases=1" },
        { "baseline", "ftl.log_blocks=8", "must be 0, or from 1 to 7" },
        /* Two of 16 are bad. */
        { "baseline", "ftl.log_blocks=6,nand.bad_blocks_permille=130",
          "must be 0, or from 1 to 5" },
        { "baseline", "ftl.superblock_blocks=4", "it must be 0" },
        { "fifo", "", "'fifo' needs a mapping" },
        { "random", "", "'random' needs a mapping" },
        { "d-choices", "", "'d-choices' needs a mapping" },
        { "cost-benefit", "", "'cost-benefit' needs a mapping" },
        { "global", "", "'global' needs a mapping" },
        { "pregc", "", "'pregc' needs a mapping" },
        { "dynamic", "", "'dynamic' needs a mapping" },
    };
    static const char *const allowed[] = {
        "ftl.unit_bytes=4096", "ftl.log_blocks=7", "nand.copyback=1",
        "ftl.log_blocks=5,nand.bad_blocks_permille=130",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(refused) + G_N_ELEMENTS(allowed); i++) {
        bool refuse = i < G_N_ELEMENTS(refused);
        g_autofree char *overrides = g_strconcat(
            ONE_PLANE ",ftl.mapping=block",
            refuse && !*refused[i][1] ? "" : ",",
            refuse ? refused[i][1] : allowed[i - G_N_ELEMENTS(refused)], NULL);
        ScarpConfig config = {
            .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini",
                                                    NULL),
            .scheme = refuse ? refused[i][0] : "baseline",
            .overrides = overrides,
        };
        g_autoptr(GError) error = NULL;
        ScarpDrive *drive = scarp_drive_new(&config, &error);

        g_test_message("%s", overrides);
        g_assert_true(!drive == refuse);
        if (refuse) {
            g_assert_nonnull(strstr(error->message, refused[i][2]));
            g_assert_null(strchr(error->message, '\n'));
        } else {
            scarp_drive_free(drive);
        }
    }
}

/*
 * Pages 1 and 2 are on their way to the data block of page 0.  Page 3 is its
 * next one behind them, and needs no other block.  Behind page 1 alone it is
 * not, and the log block that it needs would be the last free one.
 */
static void test_behind_its_own(void)
{
    const uint32_t ahead[] = { 1, 2 };
    Rig *rig = rig_new("baseline", NULL, BLOCK);
    uint32_t was_free;

    rig_write(rig, 0);
    was_free = inside_free_blocks(rig->drive, 0);
    inside_set_free_blocks(rig->drive, 0, 1);
    g_assert_true(inside_has_page_behind(rig->drive, 0, 3, ahead, 2));
    g_assert_false(inside_has_page_behind(rig->drive, 0, 3, ahead, 1));
    inside_set_free_blocks(rig->drive, 0, was_free);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mapping-block/in-place", test_in_place);
    g_test_add_func("/mapping-block/switch", test_switch);
    g_test_add_func("/mapping-block/partial", test_partial);
    g_test_add_func("/mapping-block/full", test_full);
    g_test_add_func("/mapping-block/own-log", test_own_log);
    g_test_add_func("/mapping-block/least-recent", test_least_recent);
    g_test_add_func("/mapping-block/deallocated", test_deallocated);
    g_test_add_func("/mapping-block/out-of-order", test_out_of_order);
    g_test_add_func("/mapping-block/overwritten", test_overwritten);
    g_test_add_func("/mapping-block/last-spare-block", test_last_spare_block);
    g_test_add_func("/mapping-block/write-amplification",
                    test_write_amplification);
    g_test_add_func("/mapping-block/causes", test_causes);
    g_test_add_func("/mapping-block/remaining", test_remaining);
    g_test_add_func("/mapping-block/refusals", test_refusals);
    g_test_add_func("/mapping-block/behind-its-own", test_behind_its_own);
    return g_test_run();
}
