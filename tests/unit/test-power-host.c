/*
 * What a host is promised over a power cut: FUA and flush, deallocations with
 * records and without.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#define BUFFER ",controller.buffer_bytes=65536"

static Rig *buffered(const char *more)
{
    g_autofree char *keys = g_strconcat(CUTS "," ONE BUFFER, more, NULL);

    return rig_new("baseline", NULL, keys);
}

/* ---- Buffer, FUA and flush --------------------------------------------- */

/* What has completed into the buffer is gone; what was flushed is not. */
static void test_buffer(void)
{
    Rig *rig = buffered("");

    power_write(rig, 0, 'a');
    power_flush(rig);
    power_write(rig, 0, 'b');
    power_write(rig, 1, 'c');
    g_assert_cmpint(power_tag(rig, 0), ==, 'b');
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    g_assert_cmpint(power_tag(rig, 1), ==, 0);
    g_assert_cmpuint(rig_stats(rig)->saved_units, ==, 0);
    rig_free(rig);
}

static void test_fua(void)
{
    Rig *rig = buffered("");
    ScarpCmd cmd = write_tag(0, 1, 'a'), later = write_tag(1, 1, 'b');

    cmd.fua = true;
    scarp_submit(rig->drive, &cmd, 0);
    scarp_submit(rig->drive, &later, 0);
    scarp_run(rig->drive, TO_ARRAY_NS + TPROG);
    g_assert_cmpint(latency(&later), ==, FW + 2 * LINK);
    g_assert_cmpint(latency(&cmd), ==, TO_ARRAY_NS + TPROG);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    g_assert_cmpint(power_tag(rig, 1), ==, 0);
    rig_free(rig);
}

/*
 * A write with FUA is superseded before it lands: it counts on flash until the
 * newer one is there, so no collection takes it, and a cut brings it back.
 */
static void test_superseded_fua(void)
{
    Rig *rig = buffered("");
    ScarpCmd fua = write_tag(0, 1, 'b'), later = write_tag(0, 1, 'c');
    uint32_t old, ppn;

    power_write(rig, 0, 'a');
    power_flush(rig);
    old = inside_l2p(rig->drive, 0);
    fua.fua = true;
    scarp_submit(rig->drive, &fua, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TO_ARRAY_NS + 1);
    scarp_submit(rig->drive, &later, scarp_now_ns(rig->drive));
    while (scarp_reap(rig->drive) != &fua) {
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
    }
    g_assert_cmpint(later.complete_ns, <, fua.complete_ns);
    ppn = inside_l2p(rig->drive, 0);
    g_assert_cmpuint(ppn, !=, old);
    g_assert_true(inside_is_valid(rig->drive, ppn));
    g_assert_false(inside_is_valid(rig->drive, old));
    g_assert_cmpint(power_tag(rig, 0), ==, 'c');
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'b');
    rig_free(rig);
}

/*
 * The older of two programs of a unit ends last, and does not count: it waits
 * behind a slow page, and the newer one goes to another die.
 */
static void test_overtaken(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS BUFFER ",ftl.allocation=dynamic,"
                       "nand.cell_bits=3,ftl.paired_pages=backup,"
                       "timing.program_ns=100000;100000;9000000");
    ScarpCmd busy[4], old = write_tag(9, 1, 'o'), new = write_tag(9, 1, 'n');

    for (unsigned i = 0; i < 2; i++) {
        inside_set_first_plane(rig->drive, 0);
        rig_write(rig, i);
    }
    inside_set_first_plane(rig->drive, 1);
    for (unsigned i = 0; i < 4; i++) {
        busy[i] = write_page(2 + i);
        busy[i].fua = true;
        scarp_submit(rig->drive, &busy[i], scarp_now_ns(rig->drive));
    }
    old.fua = new.fua = true;
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + 4 * LINK);
    inside_set_first_plane(rig->drive, 0);
    scarp_submit(rig->drive, &old, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + 1000000);
    scarp_submit(rig->drive, &new, scarp_now_ns(rig->drive));
    rig_drain(rig);
    g_assert_cmpint(new.complete_ns, <, old.complete_ns);
    g_assert_cmpint(power_tag(rig, 9), ==, 'n');
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 9), ==, 'n');
    rig_free(rig);
}

/* ---- Deallocations ----------------------------------------------------- */

/*
 * Deallocated, and the record of that is in the buffer: reads are told zeroes,
 * and the unit keeps its place, so that the last contents come back, and no
 * older ones.
 */
static void test_no_record_yet(void)
{
    Rig *rig = buffered("");
    uint32_t first, second;
    ScarpCmd read = read_page(0);
    uint8_t data[PAGE];

    power_write(rig, 0, 'a');
    power_flush(rig);
    first = inside_l2p(rig->drive, 0);
    power_write(rig, 0, 'b');
    power_flush(rig);
    second = inside_l2p(rig->drive, 0);
    g_assert_false(inside_is_valid(rig->drive, first));
    g_assert_cmpint(power_trim(rig, 0, 1), ==, FW);
    g_assert_cmpuint(rig_stats(rig)->deallocated_units, ==, 1);
    read.data = data;
    power_do(rig, &read);
    g_assert_cmpint(data[0], ==, 0);
    g_assert_cmpint(latency(&read), ==, FW + LINK);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    g_assert_false(scarp_is_mapped(rig->drive, 0, PAGE));
    g_assert_true(inside_is_valid(rig->drive, second));
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'b');
    g_assert_true(scarp_is_mapped(rig->drive, 0, PAGE));
    rig_free(rig);
}

/* The record is there: zeroes, and the unit has lost its place. */
static void test_record(void)
{
    Rig *rig = buffered("");
    uint32_t ppn;

    power_write(rig, 0, 'a');
    power_flush(rig);
    ppn = inside_l2p(rig->drive, 0);
    power_trim(rig, 0, 1);
    g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==, 1);
    power_flush(rig);
    g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==, 0);
    g_assert_false(inside_is_valid(rig->drive, ppn));
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    /* And again, as older contents are still in the cells. */
    power_write(rig, 0, 'b');
    power_flush(rig);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'b');
    rig_free(rig);
}

/*
 * Written once more behind the deallocation: what is not on flash is lost, with
 * the record or without it; never what was before.
 */
static void test_written_again(void)
{
    Rig *rig = buffered("");

    power_write(rig, 0, 'a');
    power_flush(rig);
    power_trim(rig, 0, 1);
    power_write(rig, 0, 'b');
    g_assert_cmpint(power_tag(rig, 0), ==, 'b');
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    power_trim(rig, 0, 1);
    power_write(rig, 0, 'c');
    power_flush(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'c');
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'c');
    rig_free(rig);
}

/*
 * A part of it is written behind the deallocation, whose record still waits for
 * its page to be full: the rest is zeroes.
 */
static void test_part_written_again(void)
{
    Rig *rig = buffered(",ftl.unit_bytes=1024");
    ScarpCmd part = cmd_of(SCARP_OP_WRITE, 512, 512);
    uint8_t data[PAGE];

    part.data = bytes_of('b');
    power_write(rig, 0, 'a');
    power_flush(rig);
    power_trim(rig, 0, 1);
    power_do(rig, &part);
    g_assert_cmpint(latency(&part), ==, FW + LINK / 8);
    power_flush(rig);
    for (int cut = 0; cut < 2; cut++) {
        scarp_peek(rig->drive, 0, PAGE, data);
        g_assert_cmpint(data[511], ==, 0);
        g_assert_cmpint(data[512], ==, 'b');
        g_assert_cmpint(data[1024], ==, 0);
        power_cycle(rig);
    }
    rig_free(rig);
}

/* What was deallocated on its way to flash lands behind the record of that. */
static void test_record_lands_first(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS BUFFER);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    ScarpCmd before = write_tag(4, 1, 'x'), cmd = write_tag(0, 1, 'a');
    ScarpCmd trims = trim_pages(0, 1);

    /* Pages 0 and 4 go to die 0, the first record to another one. */
    g_assert_cmpuint(pages % 4, !=, 0);
    scarp_submit(rig->drive, &before, 0);
    scarp_submit(rig->drive, &cmd, 0);
    scarp_submit(rig->drive, &trims, FW + 2 * LINK);
    scarp_run(rig->drive, TO_ARRAY_NS + TPROG + 2 * FW);
    g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==, 0);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 1);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    rig_drain(rig);
    g_assert_cmpuint(inside_l2p(rig->drive, 0), ==, INSIDE_NONE);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    rig_free(rig);
}

/*
 * Deallocated, written, and deallocated again, before the first record is on
 * flash: that one says nothing of what was written behind it.
 */
static void test_deallocated_twice(void)
{
    Rig *rig = buffered("");
    ScarpCmd cmd = write_tag(0, 1, 'b');

    power_write(rig, 0, 'a');
    power_flush(rig);
    power_trim(rig, 0, 1);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + CMD);
    power_do(rig, &cmd);
    power_trim(rig, 0, 1);
    g_assert_cmpuint(power_under_way(rig).buffered_units, ==, 3);
    while (power_under_way(rig).buffered_units) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        g_assert_cmpint(power_tag(rig, 0), ==, 0);
        g_assert_cmpuint(power_under_way(rig).unrecorded_units, ==,
                         power_under_way(rig).buffered_units > 0);
    }
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    rig_free(rig);
}

/*
 * No collection takes a unit whose record is not on flash: power fails at each
 * event of one that collects its block, and what is there is what was last
 * written, or zeroes.
 */
static void test_record_and_collection(void)
{
    unsigned kept = 0, zeroes = 0;
    bool ended = false;

    for (unsigned events = 0; !ended; events++) {
        Rig *rig = buffered(",geometry.blocks_per_plane=16,"
                            "geometry.pages_per_block=4,"
                            "gc.trigger_free_blocks=1,"
                            "ftl.over_provisioning_permille=1000");
        uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
        ScarpCmd trims = trim_pages(0, 1), cmd[40];

        for (unsigned round = 0; round < 2; round++) {
            for (uint64_t page = 0; page < pages; page++) {
                power_write(rig, page, 'a' + round);
            }
        }
        power_flush(rig);
        rig_drain(rig);
        scarp_submit(rig->drive, &trims, scarp_now_ns(rig->drive));
        for (unsigned i = 0; i < G_N_ELEMENTS(cmd); i++) {
            cmd[i] = write_tag(1 + i * 5 % (pages - 1), 1, 'c');
            scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive));
        }
        for (unsigned i = 0; i < events && !ended; i++) {
            int64_t next_ns = scarp_next_event_ns(rig->drive);

            ended = next_ns == SCARP_TIME_NEVER;
            if (!ended) {
                scarp_run(rig->drive, next_ns);
            }
        }
        while (scarp_reap(rig->drive)) {
            continue;
        }
        power_cycle(rig);
        g_assert_true(power_tag(rig, 0) == 'b' || power_tag(rig, 0) == 0);
        kept += power_tag(rig, 0) == 'b';
        zeroes += power_tag(rig, 0) == 0;
        rig_drain(rig);
        rig_free(rig);
    }
    g_assert_cmpuint(kept, >, 5);
    g_assert_cmpuint(zeroes, >, 5);
}

/* Without records deallocations change nothing, before a cut or after it. */
static void test_without_records(void)
{
    Rig *rig = rig_new("baseline", NULL, "nand.power_cuts=1,ftl.recovery=1,"
                       ONE);
    uint32_t ppn;

    power_write(rig, 0, 'a');
    ppn = inside_l2p(rig->drive, 0);
    g_assert_cmpint(power_trim(rig, 0, 1), ==, FW);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    g_assert_cmpuint(inside_l2p(rig->drive, 0), ==, ppn);
    g_assert_cmpuint(rig_stats(rig)->deallocates, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->deallocated_units, ==, 0);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    rig_free(rig);
}

/* Zeroes are written as data there: they take a program, and stay. */
static void test_zeroes_without_records(void)
{
    Rig *rig = rig_new("baseline", NULL, "nand.power_cuts=1,ftl.recovery=1,"
                       ONE);
    ScarpCmd zeroes = cmd_of(SCARP_OP_WRITE_ZEROES, 0, PAGE);

    power_write(rig, 0, 'a');
    power_do(rig, &zeroes);
    g_assert_cmpint(latency(&zeroes), ==, FW + PROGRAM_NS);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 2);
    g_assert_true(scarp_is_mapped(rig->drive, 0, PAGE));
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    rig_free(rig);
}

/* With records they are a deallocation, which ends when its record is there. */
static void test_zeroes(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS "," ONE);
    ScarpCmd zeroes = cmd_of(SCARP_OP_WRITE_ZEROES, 0, PAGE);

    power_write(rig, 0, 'a');
    power_do(rig, &zeroes);
    g_assert_cmpint(latency(&zeroes), ==, FW + PROGRAM_NS);
    g_assert_cmpuint(rig_stats(rig)->record_writes, ==, 1);
    g_assert_false(scarp_is_mapped(rig->drive, 0, PAGE));
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 0);
    rig_free(rig);
}

/* ---- A lie -------------------------------------------------------------- */

/*
 * lie.unserialised tells versions by 8 bits.  While less than 128 are between
 * two of a page the newer one is found, whatever the numbers are; behind more
 * the old one comes back.
 */
static void test_unserialised(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS "," ONE ",lie.unserialised=1");

    for (unsigned tag = 1; tag <= 100; tag++) {
        power_write(rig, 0, tag);
    }
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 0), ==, 100);
    power_write(rig, 1, 'a');
    for (unsigned i = 0; i < 150; i++) {
        power_write(rig, 2, 'b');
    }
    power_write(rig, 1, 'c');
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 1), ==, 'a');
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/host/buffer", test_buffer);
    g_test_add_func("/power/host/fua", test_fua);
    g_test_add_func("/power/host/superseded-fua", test_superseded_fua);
    g_test_add_func("/power/host/overtaken", test_overtaken);
    g_test_add_func("/power/host/no-record-yet", test_no_record_yet);
    g_test_add_func("/power/host/record", test_record);
    g_test_add_func("/power/host/written-again", test_written_again);
    g_test_add_func("/power/host/part-written-again", test_part_written_again);
    g_test_add_func("/power/host/record-lands-first", test_record_lands_first);
    g_test_add_func("/power/host/deallocated-twice", test_deallocated_twice);
    g_test_add_func("/power/host/record-and-collection",
                    test_record_and_collection);
    g_test_add_func("/power/host/without-records", test_without_records);
    g_test_add_func("/power/host/zeroes-without-records",
                    test_zeroes_without_records);
    g_test_add_func("/power/host/zeroes", test_zeroes);
    g_test_add_func("/power/host/unserialised", test_unserialised);
    return g_test_run();
}
