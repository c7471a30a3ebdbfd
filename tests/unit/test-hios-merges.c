/*
 * HIOS on mappings that merge: who gets how many segments of a merge, and when
 * everything ends, to the nanosecond.  docs/papers/hios.md names these tests.
 *
 * The drive: merges.h.  A read keeps its only slot, so that the policy sees all
 * that comes meanwhile at once, when the read ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hios.h"
#include "merges.h"

#define ONE_LOG ONE_PLANE ONE_SLOT ",ftl.mapping=block,ftl.log_blocks=1"

/* So many logical blocks, each in order in a data block. */
static Rig *full_rig(const char *params, const char *overrides,
                     unsigned blocks)
{
    Rig *rig = rig_new("hios-1", params, overrides);

    for (unsigned b = 0; b < blocks; b++) {
        write_offsets(rig, b, "0123");
    }
    return rig;
}

static void forget(Rig *rig)
{
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 0);
    scarp_stats_reset(rig->drive);
    rig->n_ops = 0;
}

static ScarpCmd write_of(unsigned block, unsigned offset)
{
    return write_page(block * BLOCK_PAGES + offset);
}

/* ---- Block mapping with log blocks --------------------------------------- */

/*
 * Block 0 has the only log.  Three writes of block 1, whose first one is found
 * to need that log's merge: four pages.  As soon as the merge has begun there
 * is a log for block 1.  The second one's deadline leaves room for one segment,
 * or, when it is a nanosecond earlier, for none; the third one carries the
 * rest.
 */
static void test_full_merge(void)
{
    for (int early = 0; early < 2; early++) {
        Rig *rig = full_rig(EXACT, ONE_LOG, 2);
        ScarpCmd read, cmd[3] = { write_of(1, 2), write_of(1, 3),
                                  write_of(1, 0) };
        uint32_t data = block_of(rig, 0, 3);
        int64_t at, second, third;

        write_offsets(rig, 0, "1");
        forget(rig);
        at = begin_busy(rig, &read, 3);
        cmd[1].deadline_ns = at + 2 * OWN + SEGMENT - early;
        submit(rig, cmd, 3);
        second = at + (early ? LINK : SEGMENT) + PROGRAM_NS;
        g_assert_cmpint(cmd[0].complete_ns, ==, second);
        g_assert_cmpuint(gc_programs(rig, second), ==, !early);
        third = second + OWN;
        g_assert_cmpint(cmd[1].complete_ns, ==, third);
        g_assert_cmpuint(gc_programs(rig, third), ==, !early);
        g_assert_cmpint(cmd[2].complete_ns, ==,
                        third + (3 + early) * SEGMENT + PROGRAM_NS);
        g_assert_cmpuint(gc_programs(rig, INT64_MAX), ==, 4);
        g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 4);
        g_assert_cmpuint(rig_stats(rig)->gc_redistributed_ns, ==, 4 * SEGMENT);
        expect_grant(rig, 1 - early, &cmd[2], third, 0, 3 + early);
        if (!early) {
            expect_grant(rig, 0, &cmd[0], at, 0, 1);
        }
        g_assert_cmpuint(rig->n_grants, ==, 2 - early);
        g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 0);
        /* The mapping has changed; both old blocks go back unerased. */
        g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
        g_assert_true(inside_collects(rig->drive, 0));
        for (unsigned i = 0; i < BLOCK_PAGES; i++) {
            g_assert_cmpuint(page_of(rig, 0, i), ==, i);
            g_assert_cmpuint(block_of(rig, 0, i), ==, block_of(rig, 0, 0));
        }
        g_assert_cmpuint(block_of(rig, 0, 0), !=, data);
        g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 16 - 5);
        rig_free(rig);
    }
}

/*
 * Then a write of block 2, for which the log of block 1 is merged: first the
 * two erases of the last merge, then pages.
 */
static void test_erases_first(void)
{
    static const struct {
        int64_t room_ns;
        unsigned erases, segments, forced;
    } rows[] = {
        { 2 * ERASE_NS + 2 * SEGMENT, 2, 2, 0 },
        { 2 * ERASE_NS + 2 * SEGMENT - 1, 2, 1, 0 },
        { 2 * ERASE_NS, 2, 0, 0 },
        /*
         * Without both there is no merge.  The write stays in the queue while
         * one of them runs, then it goes, and has no room.
         */
        { 2 * ERASE_NS - 1, 1, 0, 1 },
        { ERASE_NS - 1, 0, 0, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = full_rig(EXACT, ONE_LOG, 3);
        ScarpCmd read, first = write_of(1, 2), second = write_of(2, 1);
        int64_t at, end;

        g_test_message("row %zu", i);
        write_offsets(rig, 0, "1");
        forget(rig);
        at = begin_busy(rig, &read, 3);
        submit(rig, &first, 1);
        g_assert_cmpint(first.complete_ns, ==, at + 4 * SEGMENT + PROGRAM_NS);
        at = begin_busy(rig, &read, 3);
        second.deadline_ns = at + OWN + rows[i].room_ns;
        submit(rig, &second, 1);
        /* If it has room in time, its data crosses the link meanwhile. */
        end = at + (rows[i].forced ? LINK : 0) + 2 * ERASE_NS +
              rows[i].segments * SEGMENT + PROGRAM_NS;
        g_assert_cmpint(second.complete_ns, ==, end);
        g_assert_cmpuint(rig_stats(rig)->erases, ==, 2);
        g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 4 + rows[i].segments);
        g_assert_cmpuint(rig_stats(rig)->gc_redistributed_ns, ==,
                         (4 + rows[i].segments) * SEGMENT +
                             rows[i].erases * ERASE_NS);
        g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, rows[i].forced);
        g_assert_cmpuint(rig_stats(rig)->missed_writes, ==,
                         rows[i].forced);
        rig_free(rig);
    }
}

/* What a write costs is in its slack: copies, and erases of both blocks. */
static void test_negative(void)
{
    static const struct {
        const char *log;
        int64_t cost_ns;
    } rows[] = {
        { "1", 4 * SEGMENT + 2 * ERASE_NS },  /* full */
        { "0", 3 * SEGMENT + ERASE_NS },      /* partial */
        { "0123", ERASE_NS },                 /* switch */
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (int less = 0; less < 2; less++) {
            Rig *rig = full_rig(EXACT, ONE_LOG, 2);
            ScarpCmd read, cmd = write_of(1, 2);
            int64_t at;

            write_offsets(rig, 0, rows[i].log);
            forget(rig);
            at = begin_busy(rig, &read, 3);
            cmd.deadline_ns = at + OWN + rows[i].cost_ns - less;
            submit(rig, &cmd, 1);
            g_test_message("%s, %d ns less", rows[i].log, less);
            g_assert_cmpuint(rig_stats(rig)->negative_activities, ==, less);
            g_assert_cmpuint(rig_stats(rig)->missed_writes, ==, 0);
            rig_free(rig);
        }
    }
}

/*
 * The length of the request against the pages that its log block has left: two
 * of four.  Pages that are on their way there count, too.
 */
static void test_length(void)
{
    for (unsigned pages = 1; pages <= 3; pages++) {
        Rig *rig = full_rig(EXACT, ONE_PLANE ",ftl.mapping=block,"
                            "ftl.log_blocks=3,controller.slots=8", 2);
        ScarpCmd one = write_of(0, 0);

        write_offsets(rig, 0, "12");
        forget(rig);
        one.length_bytes = pages * PAGE;
        submit(rig, &one, 1);
        g_assert_cmpuint(rig_stats(rig)->gc_segments > 0, ==, pages > 2);
        rig_free(rig);

        rig = full_rig(EXACT, ONE_PLANE ",ftl.mapping=block,"
                       "ftl.log_blocks=3,controller.slots=8", 2);
        write_offsets(rig, 0, "12");
        forget(rig);
        submit(rig, (ScarpCmd[3]) { write_of(0, 0), write_of(0, 2),
                                    write_of(0, 1) }, pages);
        g_assert_cmpuint(rig_stats(rig)->gc_segments > 0, ==, pages > 2);
        rig_free(rig);
    }
}

/*
 * The merge of a plane's only log is under way when another one is needed:
 * that write waits for the next round, and those behind it go first.
 */
static void test_next_round(void)
{
    Rig *rig = full_rig(EXACT, ONE_LOG, 4);
    ScarpCmd read, cmd[4] = { write_of(1, 1), write_of(2, 1), write_of(1, 2),
                              read_page(13) };
    int64_t at;

    write_offsets(rig, 0, "1");
    forget(rig);
    at = begin_busy(rig, &read, 3);
    /* One segment at a time. */
    cmd[0].deadline_ns = at + OWN + SEGMENT;
    cmd[2].deadline_ns = at + 2 * OWN + 2 * SEGMENT;
    submit(rig, cmd, 4);
    g_assert_cmpuint(rig_stats(rig)->passed_to_next_round, ==, 1);
    g_assert_cmpint(cmd[0].complete_ns, ==, at + SEGMENT + PROGRAM_NS);
    g_assert_cmpint(cmd[2].complete_ns, ==,
                    cmd[0].complete_ns + SEGMENT + PROGRAM_NS);
    g_assert_cmpint(cmd[3].complete_ns, >, cmd[2].complete_ns);
    g_assert_cmpint(cmd[1].complete_ns, >, cmd[3].complete_ns);
    rig_free(rig);
}

/* ---- Superblock mapping -------------------------------------------------- */

#define SUPER ONE_PLANE ONE_SLOT ",ftl.mapping=superblock," \
              "ftl.superblock_blocks=2,ftl.log_blocks=1"

/*
 * A superblock's only update block is full; of its blocks the first has one
 * valid page left.  The next write to it needs that page's copy, so that it has
 * a block, and nobody else is there to carry it.
 */
static void test_superblock(void)
{
    for (int less = 0; less < 2; less++) {
        Rig *rig = rig_new("hios-1", EXACT, SUPER);
        ScarpCmd read, cmd = write_page(5);
        int64_t at;

        rig_fill(rig, 0, 8);
        rig_fill(rig, 0, 3);
        rig_write(rig, 4);
        forget(rig);
        at = begin_busy(rig, &read, 3);
        cmd.deadline_ns = at + OWN + SEGMENT - less;
        submit(rig, &cmd, 1);
        g_assert_cmpuint(rig_stats(rig)->negative_activities, ==, 1);
        if (!less) {
            g_assert_cmpint(cmd.complete_ns, ==, at + SEGMENT + PROGRAM_NS);
            g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 1);
            g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 0);
            g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
        } else {
            /* It arrives, and has no room: the merge runs to its end. */
            g_assert_cmpint(cmd.complete_ns, ==, at + LINK + SEGMENT +
                                                     ERASE_NS + PROGRAM_NS);
            g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 0);
            g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 1);
        }
        rig_free(rig);
    }
}

/*
 * The same, and others wait behind it.  It is in nobody's interest that it goes
 * first: the next one goes before, with the copy, and then it has room.
 */
static void test_superblock_others_carry(void)
{
    Rig *rig = rig_new("hios-1", EXACT, SUPER);
    ScarpCmd read, cmd[2] = { write_page(5), read_page(7) };
    int64_t at;

    rig_fill(rig, 0, 8);
    rig_fill(rig, 0, 3);
    rig_write(rig, 4);
    forget(rig);
    at = begin_busy(rig, &read, 3);
    submit(rig, cmd, 2);
    g_assert_cmpint(cmd[1].complete_ns, ==, at + SEGMENT + READ_NS + LINK);
    g_assert_cmpint(cmd[0].complete_ns, ==, cmd[1].complete_ns + OWN);
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->passed_to_next_round, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 0);
    rig_free(rig);
}

/*
 * Two erases of a merge were granted, and the scheme changes while the first
 * one runs: the other one goes on by itself.  When that runs, nothing is left.
 */
static void test_switched(void)
{
    Rig *rig = full_rig(EXACT, ONE_LOG, 3);
    ScarpCmd read, first = write_of(1, 2), second = write_of(2, 1);
    g_autoptr(GError) error = NULL;
    int64_t at;

    write_offsets(rig, 0, "1");
    forget(rig);
    begin_busy(rig, &read, 3);
    submit(rig, &first, 1);
    at = begin_busy(rig, &read, 3);
    second.deadline_ns = at + OWN + 2 * ERASE_NS;
    scarp_submit(rig->drive, &second, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, at + ERASE_NS - 1);
    g_assert_cmpint(inside_granted_ns(rig->drive, 0), ==, ERASE_NS);
    g_assert_true(scarp_drive_set_scheme(rig->drive, "hios-1", EXACT, &error));
    g_assert_cmpint(inside_granted_ns(rig->drive, 0), ==, ERASE_NS);
    scarp_run(rig->drive, at + 2 * ERASE_NS - 1);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    g_assert_cmpint(inside_granted_ns(rig->drive, 0), ==, 0);
    rig_drain(rig);
    g_assert_cmpint(second.complete_ns, ==, at + 2 * ERASE_NS + PROGRAM_NS);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 2);
    rig_free(rig);
}

/* A merge that was asked for by hand is for no write of the host. */
static void test_for_nobody(void)
{
    Rig *rig = full_rig(NULL, ONE_PLANE ",ftl.mapping=block", 2);

    /* A switch: nothing is to be copied. */
    write_offsets(rig, 1, "0123");
    g_assert_cmpuint(scarp_collect_now(rig->drive, 64), ==, 1);
    g_assert_false(inside_makes_room(rig->drive, 0, 0));
    rig_free(rig);
}

/*
 * A merge has left one block to erase, and two are free, of which the last one
 * is for the next merge.  Blocks 6 and 7 have no data block: each would open
 * one.  For one there is room; not for the other one behind it, which the
 * policy must know before, so that it grants the erase.
 */
static void test_data_block_ahead(void)
{
    Rig *rig = full_rig(EXACT, ONE_PLANE ",ftl.mapping=block", 6);
    const uint32_t first = 6 * BLOCK_PAGES, other = 7 * BLOCK_PAGES;

    write_offsets(rig, 0, "0");
    for (unsigned b = 1; b < 7; b++) {
        write_offsets(rig, b, "1");
    }
    forget(rig);
    /* Seven logs are all: that of block 0 is filled up as its data block. */
    write_offsets(rig, 7, "1");
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 3);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 2);
    g_assert_true(inside_has_page_behind(rig->drive, 0, first, NULL, 0));
    g_assert_true(inside_has_page_behind(rig->drive, 0, other, NULL, 0));
    g_assert_false(inside_has_page_behind(rig->drive, 0, first, &other, 1));
    /* So it comes. */
    write_offsets(rig, 7, "0");
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 1);
    g_assert_false(inside_has_page(rig->drive, 0, first));
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hios/merges/full", test_full_merge);
    g_test_add_func("/hios/merges/erases-first", test_erases_first);
    g_test_add_func("/hios/merges/negative", test_negative);
    g_test_add_func("/hios/merges/length", test_length);
    g_test_add_func("/hios/merges/next-round", test_next_round);
    g_test_add_func("/hios/merges/for-nobody", test_for_nobody);
    g_test_add_func("/hios/merges/switched", test_switched);
    g_test_add_func("/hios/merges/superblock", test_superblock);
    g_test_add_func("/hios/merges/superblock/others-carry",
                    test_superblock_others_carry);
    g_test_add_func("/hios/merges/data-block-ahead", test_data_block_ahead);
    return g_test_run();
}
