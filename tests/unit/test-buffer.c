/*
 * The write buffer, and writes of parts of units: to the nanosecond.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#define ONE_DIE "geometry.channels=1,geometry.dies_per_chip=1"
#define FOUR_PAGES ONE_DIE ",controller.buffer_bytes=16384"
#define READ_DIE (CMD + TR + BUS)
#define PROGRAM_DIE (CMD + BUS + TPROG)

/* 400 MB/s on the channel, 3200 MB/s on the link. */
#define BUS_OF(bytes) ((bytes) * 10 / 4)
#define LINK_OF(bytes) ((bytes) * 10 / 32)

static ScarpCmd flush(void)
{
    return cmd_of(SCARP_OP_FLUSH, 0, 0);
}

/* Room for four: the fifth waits until the first is on flash, and so on. */
static void test_back_pressure(void)
{
    Rig *rig = rig_new("baseline", NULL, FOUR_PAGES);
    ScarpCmd cmd[7];

    for (unsigned i = 0; i < 7; i++) {
        cmd[i] = write_page(i);
        scarp_submit(rig->drive, &cmd[i], 0);
    }
    rig_drain(rig);
    for (int i = 0; i < 7; i++) {
        int64_t in = FW + (i + 1) * LINK;
        int64_t room = i < 4 ? in : FW + LINK + (i - 3) * (int64_t)PROGRAM_DIE;

        g_assert_cmpint(latency(&cmd[i]), ==, room);
        g_assert_cmpint(cmd[i].cause_ns[SCARP_CAUSE_BUFFER_FULL], ==,
                        room - in);
    }
    rig_free(rig);
}

/* A read finds what is buffered, or being programmed, without the flash. */
static void test_read_hit(void)
{
    Rig *rig = rig_new("baseline", NULL, FOUR_PAGES);
    unsigned char out[PAGE], in[PAGE];
    ScarpCmd write = write_page(3), read = read_page(3);

    memset(out, 0x5a, PAGE);
    memset(in, 0, PAGE);
    write.data = out;
    read.data = in;
    scarp_submit(rig->drive, &write, 0);
    scarp_submit(rig->drive, &read, FW + LINK + 1000); /* in its program */
    rig_drain(rig);
    g_assert_cmpint(latency(&write), ==, FW + LINK);
    g_assert_cmpint(latency(&read), ==, FW + LINK);
    g_assert_cmpmem(in, PAGE, out, PAGE);
    g_assert_cmpuint(rig_stats(rig)->buffer_read_units, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->host_page_reads, ==, 0);
    /* On flash, and out of the buffer. */
    g_assert_cmpint(rig_do(rig, &read), ==, FW + READ_DIE + LINK);
    g_assert_cmpuint(rig_stats(rig)->buffer_read_units, ==, 1);
    rig_free(rig);
}

/* Until what came before is on flash; what comes after does not matter. */
static void test_flush(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_DIE
                       ",controller.buffer_bytes=65536,ftl.unit_bytes=1024");
    ScarpCmd before[2], late, f = flush();

    g_assert_cmpint(rig_do(rig, &f), ==, FW); /* nothing to wait for */
    for (unsigned i = 0; i < 2; i++) {
        before[i] = cmd_of(SCARP_OP_WRITE, i * PAGE, 1024);
        g_assert_cmpint(rig_do(rig, &before[i]), ==, FW + LINK_OF(1024));
    }
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 0);
    /*
     * On one plane they share a page, padded; a write that comes while that is
     * programmed stays in the buffer.
     */
    scarp_submit(rig->drive, &f, scarp_now_ns(rig->drive));
    late = cmd_of(SCARP_OP_WRITE, 2 * PAGE, 1024);
    scarp_submit(rig->drive, &late, scarp_now_ns(rig->drive) + 1000);
    rig_drain(rig);
    g_assert_cmpint(latency(&f), ==, FW + PROGRAM_DIE);
    g_assert_cmpint(latency(&late), ==, FW + LINK_OF(1024));
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->padded_units, ==, 2);
    /* A flush without data in the buffer, one page on its way. */
    f = flush();
    rig_do(rig, &f);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 2);
    rig_free(rig);
}

/* Forced unit access ends on flash; the writes beside it do not wait. */
static void test_fua(void)
{
    Rig *rig = rig_new("baseline", NULL, FOUR_PAGES);
    ScarpCmd plain = write_page(0), fua = write_page(1);

    fua.fua = true;
    scarp_submit(rig->drive, &fua, 0);
    scarp_submit(rig->drive, &plain, 0);
    rig_drain(rig);
    g_assert_cmpint(latency(&fua), ==, FW + LINK + PROGRAM_DIE);
    g_assert_cmpint(latency(&plain), ==, FW + 2 * LINK);
    rig_free(rig);
}

/*
 * Room for nine units, of which eight are being programmed.  A forced write has
 * one in a page of its own, and waits for room for the other one, of another
 * plane, when the first one is deallocated: it ends all the same.
 */
static void test_fua_deallocated(void)
{
    Rig *rig = rig_new("baseline", NULL, "controller.buffer_bytes=9216,"
                       "ftl.unit_bytes=1024");
    ScarpCmd plain[2] = { write_page(4), write_page(5) };
    ScarpCmd fua = cmd_of(SCARP_OP_WRITE, PAGE - 1024, 2048);
    ScarpCmd trim = cmd_of(SCARP_OP_DEALLOCATE, PAGE - 1024, 1024);

    fua.fua = true;
    scarp_submit(rig->drive, &plain[0], 0);
    scarp_submit(rig->drive, &plain[1], 0);
    scarp_submit(rig->drive, &fua, 0);
    scarp_submit(rig->drive, &trim, FW + 3 * LINK);
    rig_drain(rig);
    g_assert_cmpint(latency(&trim), ==, FW);
    /* The second unit is programmed behind what keeps its die. */
    g_assert_cmpint(latency(&fua), ==,
                    plain[1].complete_ns + 2 * PROGRAM_DIE);
    g_assert_cmpuint(rig_stats(rig)->deallocated_units, ==, 1);
    rig_free(rig);
}

/* Written twice before its page is full, a unit is programmed once. */
static void test_coalesced(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_DIE
                       ",controller.buffer_bytes=65536,ftl.unit_bytes=1024");
    ScarpCmd f = flush();

    for (unsigned i = 0; i < 5; i++) {
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, 0, 1024);

        rig_do(rig, &cmd);
    }
    rig_do(rig, &f);
    g_assert_cmpuint(rig_stats(rig)->buffer_coalesced_units, ==, 4);
    g_assert_cmpuint(rig_stats(rig)->host_written_units, ==, 5);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 1);
    rig_free(rig);
}

/* A deallocated unit leaves the buffer, and is never programmed. */
static void test_deallocated(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_DIE
                       ",controller.buffer_bytes=65536,ftl.unit_bytes=1024");
    ScarpCmd write = cmd_of(SCARP_OP_WRITE, 0, 1024), f = flush();
    ScarpCmd trim = cmd_of(SCARP_OP_DEALLOCATE, 0, 1024);

    rig_do(rig, &write);
    g_assert_cmpint(rig_do(rig, &trim), ==, FW);
    g_assert_cmpuint(rig_stats(rig)->deallocated_units, ==, 1);
    g_assert_cmpint(rig_do(rig, &f), ==, FW);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 0);
    rig_free(rig);
}

/*
 * A whole unit is unmapped, at once or with a record on flash, but where power
 * may fail and records are not kept: there zeroes are written, and a
 * deallocation changes nothing.  A part is written, or keeps its data.
 */
static void test_fates(void)
{
    static const struct {
        const char *overrides;
        bool unmapped;
        unsigned records, zeroes; /* record writes, units written */
    } rows[] = {
        { "ftl.unit_bytes=1024", true, 0, 0 },
        { "ftl.unit_bytes=1024,nand.power_cuts=1,ftl.recovery=1", false, 0, 1 },
        { "ftl.unit_bytes=1024,nand.power_cuts=1,ftl.recovery=2", true, 1, 0 },
    };
    static const ScarpOp ops[] = { SCARP_OP_DEALLOCATE, SCARP_OP_WRITE_ZEROES };

    for (size_t i = 0; i < G_N_ELEMENTS(rows) * G_N_ELEMENTS(ops); i++) {
        size_t row = i / G_N_ELEMENTS(ops);
        bool zeroes = ops[i % G_N_ELEMENTS(ops)] == SCARP_OP_WRITE_ZEROES;
        Rig *rig = rig_new("baseline", NULL, rows[row].overrides);
        ScarpCmd part = cmd_of(ops[i % G_N_ELEMENTS(ops)], 512, 512);
        ScarpCmd whole = cmd_of(ops[i % G_N_ELEMENTS(ops)], 1024, 1024);
        bool unmapped = rows[row].unmapped;

        rig_write(rig, 0);
        rig_do(rig, &part);
        g_assert_true(scarp_is_mapped(rig->drive, 0, 1024));
        g_assert_cmpuint(rig_stats(rig)->host_written_units, ==, 4 + zeroes);
        rig_do(rig, &whole);
        g_assert_true(scarp_is_mapped(rig->drive, 1024, 1024) != unmapped);
        g_assert_cmpuint(rig_stats(rig)->deallocated_units, ==, unmapped);
        g_assert_cmpuint(rig_stats(rig)->record_writes, ==, rows[row].records);
        g_assert_cmpuint(rig_stats(rig)->host_written_units, ==,
                         4 + zeroes * (1 + rows[row].zeroes));
        rig_free(rig);
    }
}

/* A part of a unit: the rest is read first, once, and only the unit. */
static void test_rmw(void)
{
    static const struct {
        const char *overrides;
        unsigned unit;
        bool buffered;
    } rows[] = {
        { ONE_DIE, 4096, false }, { ONE_DIE ",ftl.unit_bytes=1024", 1024, false },
        { FOUR_PAGES, 4096, true },
        { FOUR_PAGES ",ftl.unit_bytes=1024", 1024, true },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new("baseline", NULL, rows[i].overrides);
        ScarpCmd f = flush(), part = cmd_of(SCARP_OP_WRITE, 512, 512);
        int64_t read = CMD + TR + BUS_OF(rows[i].unit);
        int64_t expected = FW + LINK_OF(512) + read +
                           (rows[i].buffered ? 0 : PROGRAM_DIE);

        rig_write(rig, 0);
        rig_do(rig, &f);
        g_assert_cmpint(rig_do(rig, &part), ==, expected);
        g_assert_cmpint(part.cause_ns[SCARP_CAUSE_RMW], ==, read);
        g_assert_cmpuint(rig_stats(rig)->rmw_reads, ==, 1);
        g_assert_cmpuint(rig_stats(rig)->host_page_reads, ==, 1);
        /* A whole unit needs nothing; nor does one that nobody wrote. */
        part = cmd_of(SCARP_OP_WRITE, 0, rows[i].unit);
        rig_do(rig, &part);
        part = cmd_of(SCARP_OP_WRITE, 40 * PAGE, 512);
        rig_do(rig, &part);
        g_assert_cmpuint(rig_stats(rig)->rmw_reads, ==, 1);
        rig_free(rig);
    }
}

/* Two parts of one unit at once: one read serves both, and both are kept. */
static void test_rmw_twice(void)
{
    Rig *rig = rig_new("baseline", NULL, FOUR_PAGES);
    unsigned char page[PAGE], a[512], b[512];
    ScarpCmd whole = write_page(0), f = flush(), check = read_page(0);
    ScarpCmd part[2] = { cmd_of(SCARP_OP_WRITE, 0, 512),
                         cmd_of(SCARP_OP_WRITE, 1024, 512) };

    memset(page, 1, PAGE);
    memset(a, 2, 512);
    memset(b, 3, 512);
    whole.data = page;
    part[0].data = a;
    part[1].data = b;
    rig_do(rig, &whole);
    rig_do(rig, &f);
    for (int i = 0; i < 2; i++) {
        scarp_submit(rig->drive, &part[i], scarp_now_ns(rig->drive));
    }
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->rmw_reads, ==, 1);
    check.data = page;
    rig_do(rig, &check);
    for (unsigned i = 0; i < PAGE; i++) {
        g_assert_cmpuint(page[i], ==, i < 512 ? 2 : i / 512 == 2 ? 3 : 1);
    }
    rig_do(rig, &f);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/buffer/back-pressure", test_back_pressure);
    g_test_add_func("/buffer/read-hit", test_read_hit);
    g_test_add_func("/buffer/flush", test_flush);
    g_test_add_func("/buffer/fua", test_fua);
    g_test_add_func("/buffer/fua-deallocated", test_fua_deallocated);
    g_test_add_func("/buffer/coalesced", test_coalesced);
    g_test_add_func("/buffer/deallocated", test_deallocated);
    g_test_add_func("/buffer/fates", test_fates);
    g_test_add_func("/buffer/rmw", test_rmw);
    g_test_add_func("/buffer/rmw-twice", test_rmw_twice);
    return g_test_run();
}
