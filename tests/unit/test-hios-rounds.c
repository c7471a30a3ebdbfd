/*
 * HIOS: rounds that meet what is on its way, and the commands in the device.
 *
 * The drive: one die of 16 blocks of 8 pages, and 64 logical pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hios.h"
#include "inside.h"

#define BLOCKS "geometry.blocks_per_plane=16,geometry.pages_per_block=8," \
               "ftl.over_provisioning_permille=1000"
#define ONE_DIE BLOCKS ",geometry.channels=1,geometry.dies_per_chip=1"

static void submit_now(Rig *rig, ScarpCmd *cmd)
{
    scarp_submit(rig->drive, cmd, scarp_now_ns(rig->drive));
}

/* Unit by unit, what was written last. */
static void expect_data(Rig *rig, uint64_t offset, unsigned bytes, char value)
{
    ScarpCmd read = cmd_of(SCARP_OP_READ, offset, bytes);
    char data[PAGE];

    read.data = data;
    rig_do(rig, &read);
    g_assert_cmpint(data[0], ==, value);
    g_assert_cmpint(data[bytes - 1], ==, value);
}

/*
 * A collection is due, but held: 4 blocks are free.  The open one has one page
 * left, and what it holds is stale but for a page; each other one holds five
 * valid pages or more.
 */
static Rig *nearly_full(const char *scheme, const char *overrides)
{
    g_autofree char *all = g_strconcat(ONE_DIE ",gc.trigger_free_blocks=4",
                                       overrides, NULL);
    Rig *rig = rig_new(scheme, EXACT, all);

    scarp_hold_collections(rig->drive, SCARP_TIME_LAST / 2);
    for (unsigned i = 0; i < 64 + 24 + 7; i++) {
        ScarpCmd cmd = write_page(i < 64 ? i : i < 88 ? (i * 8 + i / 8) % 64 : 0);

        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive) + 1);
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
        scarp_reap(rig->drive);
    }
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 4);
    return rig;
}

/*
 * The block that has the least valid pages is full, but its last page is being
 * programmed: no round begins with it before that has ended.
 */
static void test_last_page(void)
{
    Rig *rig = nearly_full("hios-1", NULL);
    char data[2][PAGE];
    ScarpCmd last = write_page(0), next = write_page(1), third = write_page(2);

    last.data = memset(data[0], 'a', PAGE);
    next.data = memset(data[1], 'b', PAGE);
    submit_now(rig, &last);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + LINK + PROGRAM_NS / 2);
    scarp_hold_collections(rig->drive, 0);
    submit_now(rig, &next);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + LINK);
    g_assert_false(inside_collects(rig->drive, 0));
    rig_drain(rig);
    g_assert_cmpint(latency(&last), ==, FW + LINK + PROGRAM_NS);
    latency(&next);
    /* The third one finds it, and carries its only page. */
    rig_do(rig, &third);
    g_assert_true(inside_collects(rig->drive, 0));
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_moved_units, ==, 1);
    expect_data(rig, 0, PAGE, 'a');
    expect_data(rig, PAGE, PAGE, 'b');
    rig_free(rig);
}

/*
 * The last page of that block has two units, of two commands.  When the first
 * one has ended, the next command is looked at: the second one's is on flash,
 * too.
 */
static void test_last_units(void)
{
    Rig *rig = nearly_full("hios-2", ",controller.slots=2,ftl.unit_bytes=2048");
    char data[2][PAGE / 2];
    ScarpCmd busy[2] = { read_page(8), read_page(9) };
    ScarpCmd part[2] = { cmd_of(SCARP_OP_WRITE, 0, PAGE / 2),
                         cmd_of(SCARP_OP_WRITE, PAGE / 2, PAGE / 2) };
    ScarpCmd next = write_page(1);

    for (int i = 0; i < 2; i++) {
        part[i].data = memset(data[i], 'a' + i, sizeof(data[i]));
        submit_now(rig, &busy[i]);
    }
    submit_now(rig, &part[0]);
    submit_now(rig, &part[1]);
    submit_now(rig, &next);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + 3 * READ_NS);
    g_assert_cmpuint(rig_stats(rig)->aggregated_writes, ==, 1);
    scarp_hold_collections(rig->drive, 0);
    rig_drain(rig);
    g_assert_cmpint(part[0].complete_ns, ==, part[1].complete_ns);
    g_assert_cmpint(next.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                    part[0].complete_ns - next.submit_ns - FW);
    expect_data(rig, 0, PAGE / 2, 'a');
    expect_data(rig, PAGE / 2, PAGE / 2, 'b');
    rig_free(rig);
}

/*
 * erase_last: a page of the victim is on its way when it is deallocated.  The
 * next command carries the other three, and the erase, to their end.
 */
static void test_stale_on_its_way(void)
{
    Rig *rig = rig_new("hios-1", EXACT ",erase_last=1", BLOCKS
                       ",geometry.channels=2,geometry.dies_per_chip=1,"
                       "gc.trigger_free_blocks=5");
    ScarpCmd first = write_page(2 * 57), second = read_page(1);
    ScarpCmd trim = cmd_of(SCARP_OP_DEALLOCATE, 2 * 4 * PAGE, PAGE);
    ScarpCmd third = read_page(3);

    rig_fill(rig, 0, 128);
    /* Pages 4 to 7 of die 0 are what is left of its first block. */
    for (unsigned i = 0; i < 17; i++) {
        rig_write(rig, 2 * (i < 4 ? i : 8 + (i - 4) * 8 % 56 + (i - 4) / 7));
    }
    scarp_stats_reset(rig->drive);
    /* Its deadline lets it find the round, but carry nothing. */
    first.deadline_ns = scarp_now_ns(rig->drive) + 1 + FW + OWN;
    rig_do(rig, &first);
    g_assert_true(inside_collects(rig->drive, 0));
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 0);
    second.deadline_ns = scarp_now_ns(rig->drive) + FW + READ_NS + LINK +
                         SEGMENT;
    submit_now(rig, &second);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + READ_NS + BUS);
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_page_reads, ==, 1);
    submit_now(rig, &trim);
    submit_now(rig, &third);
    rig_drain(rig);
    latency(&third);
    g_assert_cmpuint(rig_stats(rig)->gc_page_reads, ==, 4);
    g_assert_cmpuint(rig_stats(rig)->gc_moved_units, ==, 3);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    g_assert_false(inside_collects(rig->drive, 0));
    rig_free(rig);
}

/*
 * Three commands are in the device, of a queue of two.  Of those that wait the
 * one whose die has nothing to do goes first, whichever of the three keeps the
 * other one's busy.
 */
static void test_sight(void)
{
    static const unsigned page_of_die[] = { 0, 2, 1, 3 };

    for (unsigned busy = 1; busy < 3; busy++) {
        Rig *rig = rig_new("hios-2", NULL,
                           "controller.slots=3,controller.queue=2");
        ScarpCmd cmd[5] = { read_page(page_of_die[0]),
                            write_page(page_of_die[1]),
                            write_page(page_of_die[2]),
                            read_page(4 + page_of_die[busy]),
                            read_page(4 + page_of_die[3]) };

        rig_fill(rig, 0, 8);
        scarp_submit(rig->drive, &cmd[0], scarp_now_ns(rig->drive) + 1);
        for (int c = 1; c < 5; c++) {
            submit_now(rig, &cmd[c]);
        }
        rig_drain(rig);
        g_assert_cmpint(cmd[4].complete_ns, <, cmd[3].complete_ns);
        g_assert_cmpint(cmd[4].cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                        READ_NS + LINK);
        rig_free(rig);
    }
}

/* What HIOS left for later is due at once under a scheme that comes next. */
static void test_next_scheme(void)
{
    Rig *rig = nearly_full("hios-1", NULL);
    g_autoptr(GError) error = NULL;
    ScarpCmd read = read_page(9);

    scarp_hold_collections(rig->drive, 0);
    submit_now(rig, &read); /* the die has a look */
    rig_drain(rig);
    g_assert_false(inside_collects(rig->drive, 0));
    g_assert_true(scarp_drive_set_scheme(rig->drive, "baseline", NULL, &error));
    g_assert_true(inside_collects(rig->drive, 0));
    rig_drain(rig);
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), >, 4);
    rig_free(rig);
}

/*
 * An erase was granted that takes a nanosecond, on a die that is sent a page
 * for 11 ms: a write that waits for the room is not looked at each nanosecond.
 */
static void test_looks(void)
{
    Rig *rig = rig_new("hios-1+gc-par", NULL,
                       "geometry.channels=1,geometry.dies_per_chip=1,"
                       "geometry.planes_per_die=4,geometry.blocks_per_plane=9,"
                       "geometry.pages_per_block=2,geometry.page_bytes=32768,"
                       "nand.cache=1,timing.erase_ns=1,timing.command_ns=0,"
                       "timing.channel_mts=3,controller.buffer_bytes=131072,"
                       "ftl.over_provisioning_permille=2000,"
                       "gc.trigger_free_blocks=1");
    static const uint16_t sectors[][2] = {
        { 128, 1 }, { 0, 256 }, { 1152, 1 }, { 626, 16 }, { 626, 16 },
        { 626, 16 }, { 626, 16 }, { 626, 16 }, { 626, 16 }, { 626, 32 },
        { 626, 32 }, { 0, 0 }, { 626, 32 }, { 626, 32 }, { 626, 1 },
        { 626, 32 },
    };
    ScarpCmd cmd[G_N_ELEMENTS(sectors)];
    ScarpAge age = { .utilisation_permille = 900, .pattern = "sequential",
                     .seed = 1 };
    g_autoptr(GError) error = NULL;
    unsigned looks = 0;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
        cmd[i] = cmd_of(sectors[i][1] ? SCARP_OP_WRITE : SCARP_OP_FLUSH,
                        sectors[i][0] * 512, sectors[i][1] * 512);
        submit_now(rig, &cmd[i]);
        while (!scarp_reap(rig->drive)) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
            g_assert_cmpuint(looks++, <, 1000);
        }
        latency(&cmd[i]);
    }
    rig_drain(rig);
    rig_free(rig);
}

/*
 * Two quarters of a page, a read and a write, wait for the only slot.  They are
 * no single program: the second one has the slot when the first one has ended.
 */
static void test_read_beside(void)
{
    static const ScarpOp ops[][2] = { { SCARP_OP_WRITE, SCARP_OP_READ },
                                      { SCARP_OP_READ, SCARP_OP_WRITE } };

    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++) {
        Rig *rig = rig_new("hios-2", NULL,
                           "controller.slots=1,ftl.unit_bytes=1024");
        ScarpCmd busy = write_page(4), cmd[2] = { cmd_of(ops[i][0], 0, 1024),
                                                  cmd_of(ops[i][1], 1024, 1024) };

        rig_write(rig, 0);
        submit_now(rig, &busy);
        submit_now(rig, &cmd[0]);
        submit_now(rig, &cmd[1]);
        rig_drain(rig);
        g_assert_cmpuint(rig_stats(rig)->aggregated_writes, ==, 0);
        g_assert_cmpint(cmd[1].submit_ns + FW +
                            cmd[1].cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                        cmd[0].complete_ns);
        rig_free(rig);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hios-rounds/last-page", test_last_page);
    g_test_add_func("/hios-rounds/last-units", test_last_units);
    g_test_add_func("/hios-rounds/stale-on-its-way", test_stale_on_its_way);
    g_test_add_func("/hios-rounds/sight", test_sight);
    g_test_add_func("/hios-rounds/next-scheme", test_next_scheme);
    g_test_add_func("/hios-rounds/looks", test_looks);
    g_test_add_func("/hios-rounds/read-beside", test_read_beside);
    return g_test_run();
}
