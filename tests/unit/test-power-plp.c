/*
 * controller.plp_bytes: energy ends what the dies run, and saves the buffer.
 * What comes back, in which order, and what of it survives the next cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sweep.h"

#define PLP ",controller.buffer_bytes=65536,controller.plp_bytes=65536"
#define PLP_ONE CUTS "," ONE PLP

static Rig *rig_with(const char *more)
{
    g_autofree char *keys = g_strconcat(PLP_ONE, more, NULL);

    return rig_new("baseline", NULL, keys);
}

/* In the middle of the array's time of what was written last. */
static void run_half(Rig *rig)
{
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TO_ARRAY_NS + TPROG / 2);
}

/*
 * A program under way is done, and its unit not saved; what waits behind it is.
 * What was overwritten since is not, though its program waits, too.
 */
static void test_buffer(void)
{
    Rig *rig = rig_with("");

    power_write(rig, 0, 'a');
    power_write(rig, 1, 'b');
    power_write(rig, 0, 'c');
    power_write(rig, 2, 'd');
    power_write(rig, 1, 'e');
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 5);
    run_half(rig);
    power_off(rig);
    power_cells(rig, 0, "p.");
    g_assert_cmpuint(rig_stats(rig)->torn_pages, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 3);
    g_assert_cmpuint(inside_saved(rig->drive), ==, 3);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 0);
    power_on(rig);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 3);
    g_assert_cmpuint(inside_saved(rig->drive), ==, 0);
    g_assert_cmpint(power_tag(rig, 0), ==, 'c');
    g_assert_cmpint(power_tag(rig, 1), ==, 'e');
    g_assert_cmpint(power_tag(rig, 2), ==, 'd');
    rig_drain(rig);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 0);
    g_assert_cmpint(power_tag(rig, 0), ==, 'c');
    rig_free(rig);
}

/* What is loaded behind a program is done, too. */
static void test_loaded(void)
{
    Rig *rig = rig_with(",nand.cache=1");

    power_write(rig, 0, 'a');
    power_write(rig, 1, 'b');
    power_write(rig, 2, 'c');
    run_half(rig);
    power_off(rig);
    power_cells(rig, 0, "pp.");
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 1);
    power_on(rig);
    g_assert_cmpint(power_tag(rig, 1), ==, 'b');
    g_assert_cmpint(power_tag(rig, 2), ==, 'c');
    rig_drain(rig);
    rig_free(rig);
}

/* A command whose data is on the channel is loaded: it is ended as well. */
static void test_on_the_channel(void)
{
    Rig *rig = rig_with("");

    power_write(rig, 0, 'a');
    power_off_at(rig, scarp_now_ns(rig->drive) + CMD + BUS / 2);
    power_cells(rig, 0, "p.");
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 0);
    power_on(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    rig_free(rig);
}

/* All planes' pages; and pages of the same cells need no other protection. */
static void test_all_is_done(void)
{
    Rig *rig = rig_with(",geometry.planes_per_die=2,nand.multiplane=1,"
                        "nand.cell_bits=3,ftl.paired_pages=plp");
    ScarpCmd cmd = write_tag(0, 4, 'a');

    scarp_submit(rig->drive, &cmd, 0);
    for (unsigned i = 0; i < 2; i++) {
        power_until(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST);
    }
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TPROG / 2);
    power_off(rig);
    g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, 2);
    power_cells(rig, 0, "pp.");
    power_cells(rig, 64, "pp.");
    g_assert_cmpuint(rig_stats(rig)->torn_pages, ==, 0);
    power_on(rig);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpint(power_tag(rig, i), ==, 'a');
    }
    rig_free(rig);
}

/* Deallocations come back in their order among the writes. */
static void test_deallocations(void)
{
    Rig *rig = rig_with("");

    power_write(rig, 0, 'a');
    power_write(rig, 1, 'b');
    power_write(rig, 2, 'c');
    power_flush(rig);
    power_trim(rig, 0, 1);    /* and nothing behind it */
    power_trim(rig, 1, 1);
    power_write(rig, 1, 'd'); /* written again */
    power_write(rig, 2, 'e');
    power_trim(rig, 2, 1);    /* buffered, and deallocated */
    power_write(rig, 3, 'f'); /* never on flash, and deallocated, too */
    power_trim(rig, 3, 1);
    for (int cut = 0; cut < 3; cut++) {
        power_cycle(rig);
        g_assert_cmpint(power_tag(rig, 0), ==, 0);
        g_assert_cmpint(power_tag(rig, 1), ==, 'd');
        g_assert_cmpint(power_tag(rig, 2), ==, 0);
        g_assert_cmpint(power_tag(rig, 3), ==, 0);
    }
    rig_drain(rig);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    g_assert_cmpint(power_tag(rig, 1), ==, 'd');
    rig_free(rig);
}

/*
 * Written again behind the deallocation, and on flash before the record, which
 * still waits for its page to be full: that does not come back over it.
 */
static void test_deallocated_before(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS PLP ",ftl.unit_bytes=1024");

    power_write(rig, 0, 'a');
    power_flush(rig);
    power_trim(rig, 0, 1);
    power_write(rig, 0, 'b');
    rig_drain(rig);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 1);
    g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==, 4);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'b');
    rig_free(rig);
}

/* What was saved is kept until it is ready, however often power fails. */
static void test_cut_again(void)
{
    Rig *rig = rig_with(",ftl.unit_bytes=1024");
    ScarpCmd part = cmd_of(SCARP_OP_WRITE, 1024, 1024);
    uint8_t data[PAGE];

    part.data = bytes_of('b');
    power_write(rig, 0, 'a');
    power_flush(rig);
    power_do(rig, &part);
    for (int cut = 0; cut < 3; cut++) {
        power_off(rig);
        g_assert_cmpuint(inside_saved(rig->drive), ==, 1);
        scarp_run(rig->drive, scarp_now_ns(rig->drive) + 1000000);
    }
    /* It was saved once; in recovery the buffer is empty. */
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 1);
    power_cycle(rig);
    /* And once more, when it is buffered again. */
    power_cycle(rig);
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 2);
    scarp_peek(rig->drive, 0, PAGE, data);
    g_assert_cmpint(data[0], ==, 'a');
    g_assert_cmpint(data[1024], ==, 'b');
    g_assert_cmpint(data[2048], ==, 'a');
    rig_drain(rig);
    rig_free(rig);
}

/* Of a unit of which a part waits for the rest nobody was told to be safe. */
static void test_part(void)
{
    Rig *rig = rig_with("");
    ScarpCmd part = cmd_of(SCARP_OP_WRITE, 512, 512);

    part.data = bytes_of('b');
    power_write(rig, 0, 'a');
    power_flush(rig);
    scarp_submit(rig->drive, &part, scarp_now_ns(rig->drive));
    power_off_at(rig, scarp_now_ns(rig->drive) + FW + LINK / 8 + 100);
    g_assert_cmpuint(rig_stats(rig)->rmw_reads, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 0);
    power_on(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    rig_free(rig);
}

/* Streams keep their blocks. */
static void test_streams(void)
{
    Rig *rig = rig_with(",ftl.streams=2");
    ScarpCmd cmd[2] = { write_tag(0, 1, 'a'), write_tag(1, 1, 'b') };

    cmd[1].stream = 1;
    power_do(rig, &cmd[0]);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + CMD);
    power_do(rig, &cmd[1]);
    power_cycle(rig);
    rig_drain(rig);
    g_assert_cmpuint(inside_l2p(rig->drive, 0) / BLOCK, !=,
                     inside_l2p(rig->drive, 1) / BLOCK);
    g_assert_cmpuint(inside_stream(rig->drive,
                                   inside_l2p(rig->drive, 1) / BLOCK), ==, 1);
    rig_free(rig);
}

/* ---- Stripes ----------------------------------------------------------- */

#define STRIPES "nand.power_cuts=1,ftl.recovery=1,ftl.parity_width=4" PLP

/*
 * A stripe that lacks its parity on flash is open again: its parity is made of
 * what its pages hold.
 */
static void test_stripes(void)
{
    Rig *rig = rig_new("baseline", NULL, STRIPES);
    g_autoptr(GError) error = NULL;
    uint64_t programs;

    for (unsigned i = 0; i < 6; i++) {
        power_write(rig, i, 'a' + i);
    }
    power_flush(rig);
    rig_drain(rig);
    power_write(rig, 1, 'x'); /* a page of the first, and of a new one */
    power_write(rig, 7, 'y');
    for (int cut = 0; cut < 2; cut++) {
        power_off(rig);
        scarp_run(rig->drive, scarp_now_ns(rig->drive) + 300000);
    }
    power_cycle(rig);
    programs = rig_stats(rig)->parity_page_programs;
    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_true(inside_parity_check(rig->drive, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(rig_stats(rig)->parity_page_programs, >, programs);
    for (unsigned i = 0; i < 8; i++) {
        static const char should[] = "axcdef\0y";

        g_assert_cmpint(power_tag(rig, i), ==, should[i]);
    }
    rig_free(rig);
}

/*
 * lie.unserialised brings older pages back, of which their stripes' parity is
 * not.  The drive goes on.
 */
static void test_stripes_of_a_lie(void)
{
    Rig *rig = rig_new("baseline", NULL, STRIPES ",lie.unserialised=1");
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    unsigned old = 0;

    for (unsigned round = 1; round <= 20; round++) {
        for (unsigned i = 0; i < 70; i++) {
            power_write(rig, g_rand_int_range(rand, 8, 24), 'x');
        }
        for (unsigned i = 0; i < 8; i++) {
            power_write(rig, i, round);
        }
        power_flush(rig);
        rig_drain(rig);
        power_cycle(rig); /* the laws hold */
        for (unsigned i = 0; i < 8; i++) {
            old += power_tag(rig, i) != (int)round;
        }
    }
    g_assert_cmpuint(old, >, 0);
    power_write(rig, 3, 'd');
    rig_drain(rig);
    power_check(rig);
    g_assert_cmpint(power_tag(rig, 3), ==, 'd');
    rig_free(rig);
}

/* ---- At every event ---------------------------------------------------- */

static void prepare(Rig *rig)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    /* All of them, and some of them again, until blocks are short. */
    for (uint64_t i = 0; i < 3 * pages; i++) {
        power_write(rig, i < pages ? i : i * 5 % pages, SWEEP_FIRST + i % 90);
    }
}

/* So many writes, deallocations and flushes among each other, collected, too. */
static unsigned commands(ScarpCmd *cmd, uint64_t pages)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    unsigned n = 24;

    for (unsigned i = 0; i < n; i++) {
        uint64_t page = g_rand_int_range(rand, 0, MIN(pages, 9));

        cmd[i] = i % 7 == 3 ? trim_pages(page, 1)
                 : i % 11 == 10 ? cmd_of(SCARP_OP_FLUSH, 0, 0)
                                : write_page(page);
        cmd[i].fua = i % 5 == 4 && cmd[i].op == SCARP_OP_WRITE;
    }
    return n;
}

/* Moments with an erase, or a copy, under way. */
static void count_collections(Rig *rig, void *opaque)
{
    ScarpUnderWay what = power_under_way(rig);

    *(unsigned *)opaque += what.erases + what.programs[SCARP_ORIGIN_GC];
}

#define SMALL ",geometry.blocks_per_plane=12,geometry.pages_per_block=4," \
              "gc.trigger_free_blocks=1,ftl.over_provisioning_permille=1000"

static void test_every_event(void)
{
    ScarpCmd cmd[SWEEP_CMDS];
    unsigned collected = 0;
    Sweep all = { .scheme = "pgc", .overrides = PLP_ONE SMALL,
                  .prepare = prepare, .cmd = cmd, .is_durable = true,
                  .n_cmds = commands(cmd, 9), .look = count_collections,
                  .opaque = &collected };

    g_assert_cmpuint(sweep(&all), >, 40);
    g_assert_cmpuint(collected, >, 5);
    all.twice = true;
    all.overrides = PLP_ONE SMALL ",nand.cache=1,nand.cell_bits=2,"
                    "ftl.paired_pages=plp";
    sweep(&all);
}

static void test_every_event_of_stripes(void)
{
    ScarpCmd cmd[SWEEP_CMDS];
    Sweep all = { .scheme = "baseline", .overrides = STRIPES SMALL
                  ",ftl.parity_stripes=2",
                  .prepare = prepare, .cmd = cmd, .is_durable = true,
                  .keeps_deallocated = true, .n_cmds = commands(cmd, 9) };

    g_assert_cmpuint(sweep(&all), >, 60);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/plp/buffer", test_buffer);
    g_test_add_func("/power/plp/loaded", test_loaded);
    g_test_add_func("/power/plp/on-the-channel", test_on_the_channel);
    g_test_add_func("/power/plp/all-is-done", test_all_is_done);
    g_test_add_func("/power/plp/deallocations", test_deallocations);
    g_test_add_func("/power/plp/deallocated-before", test_deallocated_before);
    g_test_add_func("/power/plp/cut-again", test_cut_again);
    g_test_add_func("/power/plp/part", test_part);
    g_test_add_func("/power/plp/streams", test_streams);
    g_test_add_func("/power/plp/stripes", test_stripes);
    g_test_add_func("/power/plp/stripes-of-a-lie", test_stripes_of_a_lie);
    g_test_add_func("/power/plp/every-event", test_every_event);
    g_test_add_func("/power/plp/every-event-of-stripes",
                    test_every_event_of_stripes);
    return g_test_run();
}
