/*
 * HIOS: who gets how many segments, and when everything ends, to the
 * nanosecond.  docs/papers/hios.md names these tests.
 *
 * The drive: one die of 16 blocks of 8 pages, and 64 logical pages; or two such
 * dies.  A collection is due at 5 free blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hios.h"
#include "inside.h"

#define BLOCKS "geometry.blocks_per_plane=16,geometry.pages_per_block=8," \
               "ftl.over_provisioning_permille=1000,gc.trigger_free_blocks=5"
#define ONE_DIE BLOCKS ",geometry.channels=1,geometry.dies_per_chip=1"
#define TWO_CHANNELS BLOCKS ",geometry.channels=2,geometry.dies_per_chip=1"
#define ONE_CHANNEL BLOCKS ",geometry.channels=1,geometry.dies_per_chip=2"

enum {
    MS = 1000000,
};

/*
 * On each die: full; then 17 pages overwritten, so that 5 blocks are free: the
 * first block has 4 valid pages left, each other one 6 or more.  The last of
 * the writes takes the block that makes a collection due; the next write finds
 * it.
 */
static void make_due(Rig *rig, unsigned dies)
{
    static const unsigned again[] = {
        0, 1, 2, 3, 8, 16, 24, 32, 40, 48, 56, 9, 17, 25, 33, 41, 49,
    };

    rig_fill(rig, 0, 64 * dies);
    for (size_t i = 0; i < G_N_ELEMENTS(again); i++) {
        rig_fill(rig, again[i] * dies, dies);
    }
    for (unsigned plane = 0; plane < dies; plane++) {
        g_assert_cmpuint(inside_free_blocks(rig->drive, plane), ==, 5);
        g_assert_cmpuint(inside_valid(rig->drive, 16 * plane), ==, 4);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 0);
    scarp_stats_reset(rig->drive);
    rig->n_ops = 0;
}

static Rig *due_rig(const char *scheme, const char *params,
                    const char *overrides)
{
    g_autofree char *all = g_strconcat(ONE_DIE, overrides, NULL);
    Rig *rig = rig_new(scheme, params, all);

    make_due(rig, 1);
    return rig;
}

/* A drive whose flash takes no time has rounds, too. */
static void test_no_time(void)
{
    Rig *rig = rig_new("hios-1", EXACT, ONE_DIE ",timing.command_ns=0,"
                       "timing.erase_ns=0,timing.read_ns=0,timing.program_ns=0");

    make_due(rig, 1);
    for (unsigned i = 0; !rig_stats(rig)->erases; i++) {
        g_assert_cmpuint(i, <, 64);
        rig_write(rig, i);
    }
    rig_free(rig);
}

/* ---- Algorithm 2: redistribution ----------------------------------------- */

/*
 * Three writes.  The second one's deadline leaves room for one segment, or,
 * when it is a nanosecond earlier, for none; the third one's is far, and it
 * carries what is left of the four.
 */
static void test_segments(void)
{
    for (int early = 0; early < 2; early++) {
        Rig *rig = due_rig("hios-1", EXACT, ONE_SLOT);
        ScarpCmd read, cmd[3] = { write_page(57), write_page(58),
                                  write_page(59) };
        int64_t at = begin_busy(rig, &read, 60), second, third;

        cmd[1].deadline_ns = at + 2 * OWN + SEGMENT - early;
        submit(rig, cmd, 3);
        second = at + (early ? LINK : SEGMENT) + PROGRAM_NS;
        g_assert_cmpint(cmd[0].complete_ns, ==, second);
        g_assert_cmpuint(gc_programs(rig, second), ==, !early);
        /* The first one's data came while the page moved: a little is left. */
        third = second + OWN;
        g_assert_cmpint(cmd[1].complete_ns, ==, third);
        g_assert_cmpint(third, <=, cmd[1].deadline_ns);
        g_assert_cmpuint(gc_programs(rig, third), ==, !early);
        g_assert_cmpint(cmd[2].complete_ns, ==,
                        third + (3 + early) * SEGMENT + PROGRAM_NS);
        g_assert_cmpuint(gc_programs(rig, INT64_MAX), ==, 4);
        g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 4);
        g_assert_cmpuint(rig_stats(rig)->gc_redistributed_ns, ==, 4 * SEGMENT);
        /* The victim goes back unerased. */
        g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
        g_assert_true(inside_collects(rig->drive, 0));
        rig_free(rig);
    }
}

/*
 * Four segments are granted. Three of the victim's pages are deallocated while
 * the first one moves, so one page moves: no other is counted.
 */
static void test_grants_that_never_run(void)
{
    Rig *rig = due_rig("hios-1", EXACT, ",controller.slots=4");
    ScarpCmd write = write_page(57), trim = read_page(5);

    trim.op = SCARP_OP_DEALLOCATE;
    trim.length_bytes = 3 * PAGE;
    scarp_submit(rig->drive, &write, scarp_now_ns(rig->drive));
    while (!rig->n_grants) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    g_assert_cmpuint(rig->grant[0].segments, ==, 4);
    submit(rig, &trim, 1);
    g_assert_cmpuint(gc_programs(rig, INT64_MAX), ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_redistributed_ns, ==, SEGMENT);
    rig_free(rig);
}

/* The next round: the erase of the last victim, then pages of the next. */
static void test_erase_first(void)
{
    Rig *rig = due_rig("hios-1", EXACT, ONE_SLOT);
    ScarpCmd read, first = write_page(57), second = write_page(58);
    int64_t at = begin_busy(rig, &read, 60);

    submit(rig, &first, 1);
    g_assert_cmpint(first.complete_ns, ==, at + 4 * SEGMENT + PROGRAM_NS);
    at = begin_busy(rig, &read, 60);
    second.deadline_ns = at + OWN + ERASE_NS + 2 * SEGMENT;
    submit(rig, &second, 1);
    /* Its data crossed the link meanwhile. */
    g_assert_cmpint(second.complete_ns, ==, second.deadline_ns - LINK);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 6);
    g_assert_cmpuint(rig_stats(rig)->gc_redistributed_ns, ==,
                     6 * SEGMENT + ERASE_NS);
    rig_free(rig);

    /* A nanosecond less than the erase: nothing at all. */
    rig = due_rig("hios-1", EXACT, ONE_SLOT);
    first = write_page(57);
    second = write_page(58);
    begin_busy(rig, &read, 60);
    submit(rig, &first, 1);
    at = begin_busy(rig, &read, 60);
    second.deadline_ns = at + OWN + ERASE_NS - 1;
    submit(rig, &second, 1);
    g_assert_cmpint(second.complete_ns, ==, at + OWN);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
    rig_free(rig);
}

/* erase_last: with the last segments, if there is room for it, too. */
static void test_erase_last(void)
{
    for (int early = 0; early < 2; early++) {
        Rig *rig = due_rig("hios-1", EXACT ",erase_last=1", ONE_SLOT);
        ScarpCmd read, cmd = write_page(57);
        int64_t at = begin_busy(rig, &read, 60);

        cmd.deadline_ns = at + OWN + 4 * SEGMENT + ERASE_NS - early;
        submit(rig, &cmd, 1);
        g_assert_cmpint(cmd.complete_ns, ==,
                        at + 4 * SEGMENT + (early ? 0 : ERASE_NS) + PROGRAM_NS);
        g_assert_cmpuint(rig_stats(rig)->erases, ==, !early);
        rig_free(rig);
    }
}

/* Only commands that share the die lose slack by it, or all (serial). */
static void test_serial(void)
{
    for (int i = 0; i < 4; i++) {
        bool serial = i % 2, shares = i / 2;
        Rig *rig = due_rig("hios-1", serial ? EXACT ",serial=1" : EXACT,
                           ONE_SLOT);
        ScarpCmd read, cmd[2] = { write_page(57), read_page(63 - shares) };
        int64_t at;

        /* Unmapped: it needs the link alone. */
        scarp_submit(rig->drive,
                     &(ScarpCmd) { .op = SCARP_OP_DEALLOCATE,
                                   .offset_bytes = 63 * PAGE,
                                   .length_bytes = PAGE,
                                   .deadline_ns = SCARP_TIME_NEVER },
                     scarp_now_ns(rig->drive) + 1);
        at = begin_busy(rig, &read, 60);
        cmd[1].deadline_ns = at + OWN + SEGMENT + LINK +
                             (shares ? READ_NS : 0);
        submit(rig, cmd, 2);
        g_assert_cmpuint(rig_stats(rig)->gc_segments, ==,
                         serial || shares ? 1 : 4);
        g_assert_cmpuint(rig_stats(rig)->missed_reads, ==,
                         !serial && !shares);
        rig_free(rig);
    }
}

/* What the margin says is not granted. */
static void test_margin(void)
{
    for (int less = 0; less < 2; less++) {
        Rig *rig = due_rig("hios-1", "margin_us=100,accumulate_us=0", ONE_SLOT);
        ScarpCmd read, cmd = write_page(57);
        int64_t at = begin_busy(rig, &read, 60);

        cmd.deadline_ns = at + OWN + 2 * SEGMENT + 100000 - less;
        submit(rig, &cmd, 1);
        g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 2 - less);
        rig_free(rig);
    }
}

/* ---- All rounds that are under way --------------------------------------- */

static Rig *two_dies(const char *dies, const char *slots)
{
    g_autofree char *all = g_strconcat(dies, ",controller.slots=", slots, NULL);
    Rig *rig = rig_new("hios-1", EXACT, all);

    make_due(rig, 2);
    return rig;
}

static ScarpCmd write_both(unsigned page)
{
    return cmd_of(SCARP_OP_WRITE, 2 * page * PAGE, 2 * PAGE);
}

/*
 * A write of a page of each die, which finds that both must collect.  It has
 * room for three segments on each, or, a nanosecond earlier, for two.
 *
 * If the dies share a channel, a segment costs two transfers of the other's
 * more.  What really happens there, from the time at which both begin:
 *
 *     first segment  the second die's read command goes CMD after the first
 *                    one's.  When both have sensed, the first one's data
 *                    crosses, then the second one's, and only then the first
 *                    one's program: BUS late.  The second one's program is
 *                    next: it begins CMD + BUS after the first one's.
 *     second         the first die is not delayed.  When the second one has
 *                    sensed, CMD of that program has crossed; it waits BUS for
 *                    the rest, and is then CMD + 2 * BUS behind.
 *     third          it has sensed when that program has just crossed.
 *
 * So after two segments and after three, the first die is BUS later than it
 * would be alone, and the second one CMD + 2 * BUS behind it.
 */
static void test_all_rounds(void)
{
    static const struct {
        const char *dies;
        int64_t each_ns; /* what a segment is taken for */
        int64_t late_ns; /* how much longer they really take, all together */
    } rows[] = {
        { TWO_CHANNELS, SEGMENT, 0 },
        { ONE_CHANNEL, SEGMENT + 2 * BUS, BUS + CMD + 2 * BUS },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (int early = 0; early < 2; early++) {
            Rig *rig = two_dies(rows[i].dies, "1");
            ScarpCmd read, cmd = write_both(57);
            int64_t at = begin_busy(rig, &read, 120);

            cmd.deadline_ns = at + 2 * LINK + PROGRAM_NS + 3 * rows[i].each_ns -
                              early;
            submit(rig, &cmd, 1);
            g_test_message("row %zu, %d", i, early);
            g_assert_cmpuint(rig->n_grants, ==, 2);
            expect_grant(rig, 0, &cmd, at, 0, 3 - early);
            expect_grant(rig, 1, &cmd, at, 1, 3 - early);
            g_assert_cmpint(cmd.complete_ns, ==,
                            at + (3 - early) * SEGMENT + rows[i].late_ns +
                                PROGRAM_NS);
            g_assert_cmpint(cmd.complete_ns, <=, cmd.deadline_ns);
            g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 2 * (3 - early));
            g_assert_cmpuint(rig_stats(rig)->gc_redistributed_ns, ==,
                             2 * (3 - early) * SEGMENT);
            rig_free(rig);
        }
    }
}

/*
 * What waits behind it for the second die leaves room for one segment there.
 * A nanosecond earlier it does not, but it has that room when it is dispatched
 * itself: its time on the link, which was counted as time of its die, has run
 * while the first one's data crossed.  Earlier than that, there is none.  The
 * first die's round is done all the same.
 *
 * Two reads keep the two slots; the second one's data crosses the link after
 * the first one's.
 */
static void test_room_of_each_die(void)
{
    static const struct {
        int64_t less_ns;
        int carrier; /* of the second die's segment; -1: there is none */
        int64_t after_ns;
        int64_t takes_ns; /* until its programs begin */
    } rows[] = {
        { 0, 0, 0, SEGMENT },
        { 1, 1, LINK, LINK + SEGMENT },
        { LINK, 1, LINK, LINK + SEGMENT },
        { LINK + 1, -1, 0, 2 * LINK },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = two_dies(TWO_CHANNELS, "2");
        ScarpCmd read[2], cmd[2] = { write_both(57), write_page(2 * 58 + 1) };
        int64_t at = begin_busy(rig, &read[0], 120);

        g_test_message("row %zu", i);
        read[1] = read_page(121);
        scarp_submit(rig->drive, &read[1], scarp_now_ns(rig->drive) + 1);
        cmd[1].deadline_ns = at + 2 * LINK + PROGRAM_NS + OWN + SEGMENT -
                             rows[i].less_ns;
        submit(rig, cmd, 2);
        expect_grant(rig, 0, &cmd[0], at, 0, 4);
        if (rows[i].carrier >= 0) {
            expect_grant(rig, 1, &cmd[rows[i].carrier], at + rows[i].after_ns,
                         1, 1);
        }
        g_assert_cmpuint(rig->n_grants, ==, 1 + (rows[i].carrier >= 0));
        g_assert_cmpint(cmd[0].complete_ns, ==, at + 4 * SEGMENT + PROGRAM_NS);
        g_assert_cmpint(cmd[1].complete_ns, ==,
                        at + rows[i].takes_ns + 2 * PROGRAM_NS);
        g_assert_cmpint(cmd[1].complete_ns, <=, cmd[1].deadline_ns);
        rig_free(rig);
    }
}

/* ---- Equation 1: classification ------------------------------------------ */

static void expect_kind(int64_t slack_ns, unsigned positive, unsigned neutral,
                        unsigned negative)
{
    Rig *rig = rig_new("hios-1", NULL, ONE_DIE ONE_SLOT);
    ScarpCmd read, cmd = write_page(57);
    int64_t at;

    rig_fill(rig, 0, 64);
    scarp_stats_reset(rig->drive);
    at = begin_busy(rig, &read, 60);
    cmd.deadline_ns = at + OWN + slack_ns;
    submit(rig, &cmd, 1);
    g_assert_cmpint(cmd.complete_ns, ==, at + OWN);
    /* The read, too, had all the slack that there is. */
    g_assert_cmpuint(rig_stats(rig)->positive_activities, ==, positive + 1);
    g_assert_cmpuint(rig_stats(rig)->neutral_activities, ==, neutral);
    g_assert_cmpuint(rig_stats(rig)->negative_activities, ==, negative);
    g_assert_cmpuint(rig_stats(rig)->missed_writes, ==, negative);
    rig_free(rig);
}

static void test_classes(void)
{
    const int64_t range_ns = 8ll * PROGRAM_NS / 32; /* pages / queue x e_io */

    expect_kind(range_ns, 1, 0, 0);
    expect_kind(range_ns - 1, 0, 1, 0);
    expect_kind(0, 0, 1, 0);
    expect_kind(-1, 0, 0, 1);
}

/* With what its collection costs: 4 pages and an erase. */
static void test_negative(void)
{
    for (int less = 0; less < 2; less++) {
        Rig *rig = due_rig("hios-1", EXACT, ONE_SLOT);
        ScarpCmd read, cmd = write_page(57);
        int64_t at = begin_busy(rig, &read, 60);

        g_assert_cmpint(inside_gc_cost_ns(rig->drive, 0), ==,
                        4 * SEGMENT + ERASE_NS);
        cmd.deadline_ns = at + OWN + 4 * SEGMENT + ERASE_NS - less;
        submit(rig, &cmd, 1);
        g_assert_cmpuint(rig_stats(rig)->negative_activities, ==, less);
        /* It was found in time: it is not late for that. */
        g_assert_cmpuint(rig_stats(rig)->missed_writes, ==, 0);
        g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 4);
        rig_free(rig);
    }
}

/* ---- Algorithm 1: accumulation ------------------------------------------- */

/*
 * A negative write waits: for as long as the parameter says; until another one
 * with enough slack comes; or until its own slack is used up.
 */
static void test_accumulates(void)
{
    static const struct {
        int64_t slack_ns, other_ns, waits_ns;
    } rows[] = {
        { 4 * SEGMENT, -1, MS },             /* lacks an erase */
        { 4 * SEGMENT, 300000, 300000 },
        { 4 * SEGMENT + ERASE_NS, -1, 0 },      /* lacks nothing */
        { 200000, -1, 200000 },
        { 200000, 100000, 100000 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = due_rig("hios-1", "margin_us=0,accumulate_us=1000", "");
        ScarpCmd cmd = write_page(57), other = write_page(58);
        int64_t at = scarp_now_ns(rig->drive) + 1 + FW;

        g_test_message("row %zu", i);
        cmd.deadline_ns = at + OWN + rows[i].slack_ns;
        scarp_submit(rig->drive, &cmd, at - FW);
        if (rows[i].other_ns >= 0) {
            scarp_submit(rig->drive, &other, at - FW + rows[i].other_ns);
        }
        rig_drain(rig);
        latency(&cmd);
        g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                        rows[i].waits_ns);
        g_assert_cmpint(cmd.complete_ns, <=, cmd.deadline_ns);
        rig_free(rig);
    }
}

/* Not when the queue that it sees is full. */
static void test_queue_full(void)
{
    Rig *rig = due_rig("hios-1", "accumulate_us=1000", ",controller.queue=1");
    ScarpCmd cmd = write_page(57);

    cmd.deadline_ns = scarp_now_ns(rig->drive) + 1 + FW + OWN + SEGMENT;
    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive) + 1);
    rig_drain(rig);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==, 0);
    rig_free(rig);
}

/* ---- A deadline that cannot be met ---------------------------------------- */

static void test_unmeetable(void)
{
    Rig *rig = due_rig("hios-1", "deadline_us=100", ONE_SLOT);
    uint64_t n = 64;

    /* None has slack: collections wait until the last block, and then run. */
    rig_fill(rig, 0, n);
    g_assert_cmpuint(rig_stats(rig)->unmeetable_deadlines, ==, n);
    g_assert_cmpuint(rig_stats(rig)->missed_writes, ==, n);
    g_assert_cmpuint(rig_stats(rig)->negative_activities, ==, n);
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, >, 0);
    g_assert_cmpuint(rig_stats(rig)->erases, ==,
                     rig_stats(rig)->gc_forced_runs);
    g_assert_cmpuint(rig_stats(rig)->cmds_completed, ==, n);
    rig_free(rig);

    /* At a segment and an erase, it can. */
    for (int less = 0; less < 2; less++) {
        ScarpCmd cmd = write_page(57);

        rig = rig_new("hios-1", NULL, ONE_DIE);
        cmd.deadline_ns = 1000 + SEGMENT + ERASE_NS - less;
        scarp_submit(rig->drive, &cmd, 1000);
        rig_drain(rig);
        g_assert_cmpuint(rig_stats(rig)->unmeetable_deadlines, ==, less);
        g_assert_cmpuint(rig_stats(rig)->missed_writes, ==, 0);
        rig_free(rig);
    }
}

/* ---- What runs when nothing waits, and at the last free block -------------- */

static void test_idle(void)
{
    Rig *rig = due_rig("hios-1", EXACT, ONE_SLOT);
    g_autoptr(GError) error = NULL;
    ScarpCmd read, cmd = write_page(57);
    int64_t at = begin_busy(rig, &read, 60);

    cmd.deadline_ns = at + OWN + SEGMENT;
    submit(rig, &cmd, 1);
    /* The die is free for a second, and nothing of the collection happens. */
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + 1000 * (int64_t)MS);
    g_assert_cmpuint(gc_programs(rig, INT64_MAX), ==, 1);
    g_assert_true(inside_collects(rig->drive, 0));
    /* A drive that is brought to rest ends it, erase and all. */
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(gc_programs(rig, INT64_MAX), ==, 4);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    g_assert_false(inside_collects(rig->drive, 0));
    rig_free(rig);
}

static uint32_t fewest_free;

static void see_free(ScarpDrive *drive, uint32_t plane,
                     uint32_t block G_GNUC_UNUSED)
{
    fewest_free = MIN(fewest_free, inside_free_blocks(drive, plane));
}

/* It runs to its end at the last free block, and not before. */
static void test_last_free_block(void)
{
    Rig *rig = due_rig("hios-1", "deadline_us=100", ONE_SLOT);
    uint64_t before;

    for (unsigned page = 0; inside_free_blocks(rig->drive, 0) > 2; page++) {
        rig_write(rig, page % 64);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, ==, 0);
    g_assert_cmpuint(gc_programs(rig, INT64_MAX), ==, 0);
    before = rig_stats(rig)->writes;
    fewest_free = UINT32_MAX;
    inside_watch_victims(rig->drive, see_free);
    rig_fill(rig, 0, 8);
    inside_unwatch_victims(rig->drive);
    g_assert_cmpuint(rig_stats(rig)->writes, ==, before + 8);
    g_assert_cmpuint(rig_stats(rig)->gc_forced_runs, >, 0);
    g_assert_cmpuint(rig_stats(rig)->erases, >, 0);
    rig_free(rig);
}

/* ---- The next round ------------------------------------------------------- */

/*
 * Two planes, both due.  A write to the second one waits while the first one's
 * round has work; others pass it, until it has to go to be in time.
 */
static void test_next_round(void)
{
    Rig *rig = rig_new("hios-1", "margin_us=0,accumulate_us=0,deadline_us=6000",
                       ONE_DIE ",geometry.planes_per_die=2" ONE_SLOT);
    ScarpCmd read, cmd[5];
    int64_t at;
    unsigned i;

    /* Both planes as make_due() leaves one; odd pages are the second one's. */
    rig_fill(rig, 0, 128);
    for (i = 0; inside_free_blocks(rig->drive, 0) > 5 ||
                inside_free_blocks(rig->drive, 1) > 5; i++) {
        rig_write(rig, i * 7 % 128);
    }
    scarp_stats_reset(rig->drive);
    at = begin_busy(rig, &read, 60);
    cmd[0] = write_page(100);
    cmd[1] = write_page(101); /* the other plane */
    cmd[2] = write_page(102);
    cmd[3] = write_page(104);
    cmd[4] = write_page(106);
    cmd[0].deadline_ns = at + 5 * OWN + SEGMENT; /* a segment, no more */
    submit(rig, cmd, 5);
    g_assert_cmpuint(rig_stats(rig)->passed_to_next_round, ==, 1);
    g_assert_cmpint(cmd[1].complete_ns, >, cmd[2].complete_ns);
    g_assert_cmpint(cmd[1].complete_ns, <=, cmd[1].submit_ns + 6 * MS);
    /* The others kept their order. */
    g_assert_cmpint(cmd[0].complete_ns, <, cmd[2].complete_ns);
    g_assert_cmpint(cmd[2].complete_ns, <, cmd[3].complete_ns);
    g_assert_cmpint(cmd[3].complete_ns, <, cmd[4].complete_ns);
    rig_free(rig);
}

/* ---- Algorithm 3: neutral activities --------------------------------------- */

/*
 * Two slots: one has a write to die 0, the other a read, which ends first.
 * Then a read of die 0 is the oldest, and one of die 2 waits behind it.
 */
static void test_empty_channel_first(void)
{
    enum { READ = READ_NS + LINK };
    static const struct {
        const char *scheme;
        int64_t deadline_ns; /* of the older one, after it comes; 0: far */
        int64_t waits_ns[2]; /* in the host queue */
    } rows[] = {
        /* The younger one comes when the write's slot is free. */
        { "hios-1", 0, { READ, LINK + PROGRAM_NS } },
        { "hios-2", 0, { 2 * READ, READ } },
        /* The older one has no time to lose. */
        { "hios-2", FW + 1, { READ, LINK + PROGRAM_NS } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new(rows[i].scheme, NULL, "controller.slots=2");
        ScarpCmd cmd[4] = { write_page(0), read_page(1), read_page(4),
                            read_page(5) };
        int64_t now;

        rig_fill(rig, 0, 8);
        now = scarp_now_ns(rig->drive) + 1;
        if (rows[i].deadline_ns) {
            cmd[2].deadline_ns = now + rows[i].deadline_ns;
        }
        for (int c = 0; c < 4; c++) {
            scarp_submit(rig->drive, &cmd[c], now);
        }
        rig_drain(rig);
        for (int c = 0; c < 2; c++) {
            g_assert_cmpint(cmd[2 + c].cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                            rows[i].waits_ns[c]);
        }
        rig_free(rig);
    }
}

/* When every channel is at work, the oldest goes (popVictim). */
static void test_pop_victim(void)
{
    Rig *rig = rig_new("hios-2", NULL, "controller.slots=2");
    /* Two long ones; then reads behind them, of the same dies. */
    ScarpCmd cmd[4] = { write_page(0), write_page(1), read_page(4),
                        read_page(5) };

    rig_fill(rig, 0, 8);
    for (int c = 0; c < 4; c++) {
        scarp_submit(rig->drive, &cmd[c], scarp_now_ns(rig->drive) + !c);
    }
    rig_drain(rig);
    /* The first slot that is free has the oldest: its die is free, too. */
    g_assert_cmpint(cmd[2].complete_ns, <, cmd[3].complete_ns);
    rig_free(rig);
}

/* Neighbours in a page, while their die is at work, are one program. */
static void test_aggregation(void)
{
    static const struct {
        const char *scheme, *params;
        unsigned kib[3]; /* written, of page 0 */
        unsigned programs, aggregated;
    } rows[] = {
        { "hios-2", NULL, { 0, 1, 2 }, 1, 2 },
        { "hios-1", NULL, { 0, 1, 2 }, 3, 0 },
        { "hios-2", "aggregate=0", { 0, 1, 2 }, 3, 0 },
        { "hios-2", NULL, { 3, 2, 1 }, 1, 2 },
        { "hios-2", NULL, { 0, 2, 4 }, 3, 0 }, /* a gap, and another page */
        { "hios-2", NULL, { 0, 0, 1 }, 2, 1 }, /* the same unit: no neighbour */
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new(rows[i].scheme, rows[i].params,
                           "controller.slots=1,ftl.unit_bytes=1024");
        ScarpCmd first = write_page(4), cmd[3];
        char data[3][1024], back[1024];
        int64_t end_ns = 0;

        scarp_submit(rig->drive, &first, 1);
        for (int c = 0; c < 3; c++) {
            cmd[c] = cmd_of(SCARP_OP_WRITE, rows[i].kib[c] * 1024, 1024);
            cmd[c].data = memset(data[c], 'a' + c, sizeof(data[c]));
            scarp_submit(rig->drive, &cmd[c], 1);
        }
        rig_drain(rig);
        g_test_message("row %zu", i);
        g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==,
                         rows[i].programs + 1);
        g_assert_cmpuint(rig_stats(rig)->aggregated_writes, ==,
                         rows[i].aggregated);
        for (int c = 0; c < 3; c++) {
            latency(&cmd[c]);
            end_ns = MAX(end_ns, cmd[c].complete_ns);
        }
        for (int c = 0; c < 3; c++) {
            ScarpCmd read = cmd_of(SCARP_OP_READ, rows[i].kib[c] * 1024, 1024);

            read.data = back;
            rig_do(rig, &read);
            /* Of two writes of one unit, the one that ended last. */
            g_assert_true(back[512] == data[c][512] ||
                          (!c && rows[i].kib[0] == rows[i].kib[1] &&
                           back[512] == data[1][512]));
        }
        if (rows[i].aggregated == 2) {
            /* All three cross the link, 320 ns each, then their page. */
            g_assert_cmpint(end_ns, ==,
                            1 + FW + OWN + 3 * LINK / 4 + PROGRAM_NS);
        }
        rig_free(rig);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hios/no-time", test_no_time);
    g_test_add_func("/hios/redistribution/segments", test_segments);
    g_test_add_func("/hios/redistribution/grants-that-never-run",
                    test_grants_that_never_run);
    g_test_add_func("/hios/redistribution/erase-first", test_erase_first);
    g_test_add_func("/hios/redistribution/erase-last", test_erase_last);
    g_test_add_func("/hios/redistribution/serial", test_serial);
    g_test_add_func("/hios/redistribution/margin", test_margin);
    g_test_add_func("/hios/redistribution/all-rounds", test_all_rounds);
    g_test_add_func("/hios/redistribution/room-of-each-die",
                    test_room_of_each_die);
    g_test_add_func("/hios/slack/classes", test_classes);
    g_test_add_func("/hios/slack/negative", test_negative);
    g_test_add_func("/hios/accumulation/waits", test_accumulates);
    g_test_add_func("/hios/accumulation/queue-full", test_queue_full);
    g_test_add_func("/hios/unmeetable", test_unmeetable);
    g_test_add_func("/hios/idle", test_idle);
    g_test_add_func("/hios/last-free-block", test_last_free_block);
    g_test_add_func("/hios/next-round", test_next_round);
    g_test_add_func("/hios/neutral/empty-channel-first",
                    test_empty_channel_first);
    g_test_add_func("/hios/neutral/pop-victim", test_pop_victim);
    g_test_add_func("/hios/neutral/aggregation", test_aggregation);
    return g_test_run();
}
