/*
 * How long a drive takes to get ready after a power cut, to the nanosecond;
 * what it does meanwhile, and what goes on behind it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

enum {
    /* 16 bytes of a page of one unit cross the channel. */
    SCAN_NS = CMD + TR + 40,
};

static Rig *one(const char *more)
{
    g_autofree char *keys = g_strconcat(CUTS "," ONE, more, NULL);

    return rig_new("baseline", NULL, keys);
}

/* A cut and a recovery, of so many reads of spare areas, and more time. */
static void expect(Rig *rig, uint64_t scans, int64_t more_ns)
{
    uint64_t reads = rig_stats(rig)->recovery_page_reads;

    g_assert_cmpint(power_cycle(rig), ==, (int64_t)scans * SCAN_NS + more_ns);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads - reads, ==, scans);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_programs, ==, 0);
}

/* The first page of each block says that it is erased. */
static void test_empty(void)
{
    Rig *rig = one("");

    expect(rig, 64, 0);
    expect(rig, 64, 0);
    g_assert_cmpuint(rig_stats(rig)->power_cuts, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->recovery_ns, ==, 2 * 64 * SCAN_NS);
    rig_free(rig);
}

/*
 * Dies go beside each other.  Those of a channel share it: the second one's
 * command waits for the first one's (200), then once its data for the first
 * one's next command and data, and never again.
 */
static void test_dies(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS);

    g_assert_cmpint(power_cycle(rig), ==, 64 * SCAN_NS + CMD + 40);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads, ==, 4 * 64);
    rig_free(rig);
}

/* All pages of full blocks, and in another one up to the first erased page. */
static void test_half_full(void)
{
    Rig *rig = one("");

    rig_fill(rig, 0, 2 * BLOCK + 8);
    expect(rig, BLOCK + BLOCK + 9 + 61, 0);
    /* That one is not written on: 61 blocks are still erased. */
    rig_fill(rig, 100, 3);
    power_cells(rig, 3, "ppp.");
    expect(rig, BLOCK + BLOCK + 9 + 4 + 60, 0);
    rig_free(rig);
}

/* A torn page is in use, too. */
static void test_torn(void)
{
    Rig *rig = one("");
    ScarpCmd cmd = write_tag(1, 1, 'b');

    power_write(rig, 0, 'a');
    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TO_ARRAY_NS + 1);
    power_off(rig);
    g_assert_cmpint(power_cell(rig, 0, 1), !=, '.');
    g_assert_cmpint(power_on(rig), ==, (63 + 3) * SCAN_NS);
    rig_free(rig);
}

/* What holds nothing of use is erased. */
static void test_stale_blocks(void)
{
    Rig *rig = one("");

    rig_fill(rig, 0, BLOCK);
    rig_fill(rig, 0, BLOCK);
    expect(rig, 2 * BLOCK + 62, ERASE_NS);
    power_cells(rig, 0, "................");
    g_assert_cmpuint(inside_erases(rig->drive, 0), ==, 1);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    expect(rig, BLOCK + 63, 0);
    rig_free(rig);
}

static void test_bad_blocks(void)
{
    Rig *rig = one(",nand.bad_blocks_permille=100");

    expect(rig, 64 - 6, 0);
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 6);
    g_assert_cmpuint(inside_bad_blocks(rig->drive, 0), ==, 6);
    rig_free(rig);
}

/* 64 bytes of a page of four units; each page type has its time. */
static void test_units_and_types(void)
{
    Rig *rig = one(",ftl.unit_bytes=1024");

    g_assert_cmpint(power_cycle(rig), ==, 64 * (CMD + TR + 160));
    rig_free(rig);
    rig = one(",nand.cell_bits=2,ftl.paired_pages=backup,"
              "timing.read_ns=50000;100000");
    rig_fill(rig, 0, 3);
    /* Pages 0 to 3 of the first block. */
    g_assert_cmpint(power_cycle(rig), ==,
                    (63 + 4) * (CMD + 40) + (63 + 2) * 50000 + 2 * 100000);
    rig_free(rig);
}

/* ---- A clean shutdown -------------------------------------------------- */

static void shut_down(Rig *rig)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_shut_down(rig->drive, &error));
    g_assert_no_error(error);
}

/*
 * 787 units of the host and records, 4 bytes each, and 64 blocks, 16 each: 4172
 * bytes are two pages of tables, read as a whole.
 */
static void test_clean(void)
{
    Rig *rig = one("");
    uint64_t reads;

    rig_fill(rig, 0, 100);
    shut_down(rig);
    g_assert_cmpuint(rig_stats(rig)->map_ram_bytes, ==, 787 * 4);
    g_assert_cmpint(power_cycle(rig), ==, 2 * READ_NS);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads, ==, 2);
    /* Nothing was written since. */
    rig_drain(rig);
    g_assert_cmpint(power_cycle(rig), ==, 2 * READ_NS);
    for (unsigned i = 0; i < 100; i++) {
        ScarpCmd cmd = read_page(i);

        rig_do(rig, &cmd);
    }
    g_assert_cmpint(power_cycle(rig), ==, 2 * READ_NS);
    reads = rig_stats(rig)->recovery_page_reads;
    rig_write(rig, 0);
    power_cycle(rig);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads - reads, ==,
                     6 * BLOCK + 5 + 2 + 56);
    rig_free(rig);
}

/* A program that is cut short is something that was written, too. */
static void test_not_clean(void)
{
    Rig *rig = one("");
    ScarpCmd cmd = write_page(0);

    shut_down(rig);
    scarp_submit(rig->drive, &cmd, 0);
    power_off_at(rig, TO_ARRAY_NS);
    g_assert_cmpint(power_on(rig), ==, 2 * READ_NS);
    cmd = write_page(0);
    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
    power_off_at(rig, scarp_now_ns(rig->drive) + TO_ARRAY_NS + 1);
    g_assert_cmpint(power_on(rig), >, 60 * SCAN_NS);
    rig_free(rig);
}

/* 16,688 bytes of four planes: five pages, the first plane's are two. */
static void test_clean_planes(void)
{
    Rig *rig = rig_new("baseline", NULL, CUTS);

    shut_down(rig);
    power_cycle(rig);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads, ==, 5);
    rig_free(rig);
}

/* Of other drives it is a drive at rest. */
static void test_without_the_key(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE);
    g_autoptr(GError) error = NULL;

    power_write(rig, 0, 'a');
    shut_down(rig);
    g_assert_true(scarp_is_ready(rig->drive));
    g_assert_null(scarp_power_cut(rig->drive, &error));
    g_assert_cmpstr(error->message, ==, "nand.power_cuts=0: the power of such "
                    "a drive cannot fail");
    g_assert_cmpint(power_tag(rig, 0), ==, 'a');
    rig_write(rig, 1);
    rig_free(rig);
}

/* ---- Meanwhile, and afterwards ----------------------------------------- */

/* A command waits for it in the host queue, as if there were no slot. */
static void test_commands_wait(void)
{
    Rig *rig = one("");
    ScarpCmd read = read_page(0), flush = cmd_of(SCARP_OP_FLUSH, 0, 0);
    int64_t from_ns, ready_ns = (63 + 2) * SCAN_NS;

    power_write(rig, 0, 'a');
    power_off(rig);
    from_ns = scarp_now_ns(rig->drive);
    scarp_submit(rig->drive, &read, from_ns);
    scarp_submit(rig->drive, &flush, from_ns);
    scarp_run(rig->drive, from_ns + ready_ns - 1);
    g_assert_false(scarp_is_ready(rig->drive));
    g_assert_null(scarp_reap(rig->drive));
    scarp_run(rig->drive, from_ns + ready_ns);
    g_assert_true(scarp_is_ready(rig->drive));
    rig_drain(rig);
    g_assert_cmpint(latency(&read), ==, ready_ns + READ_NS + LINK);
    g_assert_cmpint(read.cause_ns[SCARP_CAUSE_CONTROLLER], ==, FW);
    g_assert_cmpint(read.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==, ready_ns - FW);
    g_assert_cmpint(latency(&flush), ==, ready_ns);
    rig_free(rig);
}

/* Time, counters, scheme and its parameters, and who observes. */
static void test_goes_on(void)
{
    Rig *rig = rig_new("pgc+d-choices", "d=5", CUTS "," ONE);
    uint64_t reads;
    int64_t now_ns;
    unsigned ops;

    rig_fill(rig, 0, 10);
    reads = rig_stats(rig)->host_page_programs;
    now_ns = scarp_now_ns(rig->drive);
    ops = rig->n_ops;
    power_off(rig);
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, now_ns);
    g_assert_cmpstr(scarp_drive_scheme(rig->drive), ==, "pgc+d-choices");
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, reads);
    power_on(rig);
    g_assert_cmpuint(rig->n_ops, ==, ops + 3 * (63 + 11));
    g_assert_cmpint(rig->op[ops].f.kind, ==, SCARP_FLASH_READ);
    g_assert_cmpint(rig->op[ops].f.origin, ==, SCARP_ORIGIN_MAP);
    g_assert_cmpuint(rig->op[ops].f.n_cmds, ==, 0);
    rig_free(rig);
}

/* A recovery that is cut short counts its reads, but not as a time. */
static void test_cut_short(void)
{
    Rig *rig = one("");

    power_off(rig);
    power_off_at(rig, 10 * SCAN_NS + 1);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads, ==, 10);
    g_assert_cmpuint(rig_stats(rig)->recovery_ns, ==, 0);
    g_assert_cmpint(power_on(rig), ==, 64 * SCAN_NS);
    rig_free(rig);
}

/* The erase that it does can be torn as well, and its pages are lost once. */
static void test_erase_torn_again(void)
{
    Rig *rig = one("");
    int64_t scan_ns = (2 * BLOCK + 62) * SCAN_NS;

    rig_fill(rig, 0, BLOCK);
    rig_fill(rig, 0, BLOCK);
    for (unsigned i = 0; i < 3; i++) {
        power_off(rig);
        power_off_at(rig, scarp_now_ns(rig->drive) + scan_ns + CMD + TBERS / 2);
        power_cells(rig, 0, "tttttttttttttttt");
        g_assert_cmpuint(rig_stats(rig)->torn_pages, ==, BLOCK);
        g_assert_cmpuint(inside_erases(rig->drive, 0), ==, 0);
    }
    g_assert_cmpint(power_on(rig), ==, scan_ns + ERASE_NS);
    rig_free(rig);
}

/* Two drives with one history come to the same, to the nanosecond. */
static void test_the_same_again(void)
{
    Rig *rig[2];

    for (int i = 0; i < 2; i++) {
        ScarpCmd cmd[8];

        rig[i] = rig_new("baseline", NULL, CUTS);
        rig_fill(rig[i], 0, 30);
        for (unsigned k = 0; k < 8; k++) {
            cmd[k] = write_tag(k, 1, 'a' + k);
            scarp_submit(rig[i]->drive, &cmd[k], scarp_now_ns(rig[i]->drive));
        }
        power_off_at(rig[i], scarp_now_ns(rig[i]->drive) + 500000);
        power_on(rig[i]);
    }
    g_assert_cmpint(scarp_now_ns(rig[0]->drive), ==,
                    scarp_now_ns(rig[1]->drive));
    g_assert_cmpmem(rig_stats(rig[0]), sizeof(ScarpStats), rig_stats(rig[1]),
                    sizeof(ScarpStats));
    for (unsigned b = 0; b < inside_blocks(rig[0]->drive); b++) {
        g_autofree char *cells = inside_cells(rig[0]->drive, b);

        power_cells(rig[1], b, cells);
    }
    rig_free(rig[0]);
    rig_free(rig[1]);
}

/* ---- The block that is kept for it ------------------------------------- */

typedef struct {
    Rig *rig;
    GRand *rand;
    ScarpCmd cmd[64];
    uint8_t is[64]; /* tags that are durable: there is no buffer */
    uint64_t pages;
} Full;

/*
 * Only the block that is kept is free, copies fill the last other one, and the
 * victim had more than the first of them.
 */
static bool is_last(const Rig *rig)
{
    ScarpUnderWay what;

    scarp_under_way(rig->drive, &what);
    return inside_erased_blocks(rig->drive, 0) == 1 &&
           what.programs[SCARP_ORIGIN_GC] &&
           inside_valid(rig->drive, inside_victim(rig->drive, 0)) > 1;
}

/* Writes all over the drive, until it is so in the middle of a program. */
static void work(Full *f, unsigned round)
{
    const ScarpCmd *done;

    for (unsigned i = 0; i < G_N_ELEMENTS(f->cmd); i++) {
        f->cmd[i] = write_tag(g_rand_int_range(f->rand, 0, f->pages), 1,
                              1 + (round * 64 + i) % 250);
        scarp_submit(f->rig->drive, &f->cmd[i], scarp_now_ns(f->rig->drive));
    }
    while (!is_last(f->rig)) {
        int64_t now_ns = scarp_next_event_ns(f->rig->drive);

        g_assert_cmpint(now_ns, !=, SCARP_TIME_NEVER);
        scarp_run(f->rig->drive, now_ns);
        scarp_run(f->rig->drive,
                  now_ns + (scarp_next_event_ns(f->rig->drive) - now_ns) / 2);
    }
    while ((done = scarp_reap(f->rig->drive))) {
        f->is[done->offset_bytes / PAGE] = *(const uint8_t *)done->data;
    }
}

static void look(Full *f)
{
    for (uint64_t page = 0; page < f->pages; page++) {
        int is = power_tag(f->rig, page);
        bool found = is == f->is[page];

        for (unsigned i = 0; i < G_N_ELEMENTS(f->cmd); i++) {
            found |= f->cmd[i].offset_bytes == page * PAGE &&
                     is == *(const uint8_t *)f->cmd[i].data;
        }
        g_assert_true(found);
        f->is[page] = is;
    }
}

/* Everything is written, and it has no more blocks than it needs. */
static Full *full_new(void)
{
    Full *f = g_new0(Full, 1);

    f->rand = g_rand_new_with_seed(1);
    f->rig = rig_new("pgc", NULL, CUTS "," ONE ",geometry.blocks_per_plane=16,"
                     "geometry.pages_per_block=4,gc.trigger_free_blocks=1,"
                     "ftl.over_provisioning_permille=460");
    f->pages = scarp_drive_logical_bytes(f->rig->drive) / PAGE;
    g_assert_cmpuint(f->pages, ==, 42); /* and a record: 10 3/4 blocks */
    for (uint64_t page = 0; page < f->pages; page++) {
        f->is[page] = 1 + page % 250;
        power_write(f->rig, page, f->is[page]);
    }
    return f;
}

static void full_free(Full *f)
{
    rig_drain(f->rig);
    rig_free(f->rig);
    g_rand_free(f->rand);
    g_free(f);
}

/* 50 times in a row. */
static void test_last_block(void)
{
    Full *f = full_new();

    for (unsigned round = 0; round < 50; round++) {
        work(f, round);
        power_cycle(f->rig);
        look(f);
        /* The one that is kept, and one to go on with. */
        g_assert_cmpuint(inside_erased_blocks(f->rig->drive, 0), >=, 2);
    }
    /* Copies whose sources are there are of no use: nothing is to be moved. */
    g_assert_cmpuint(rig_stats(f->rig)->recovery_page_programs, ==, 0);
    full_free(f);
}

/* And at each event of what it does to get there, one after the other. */
static void test_cut_while_mending(void)
{
    Full *f = full_new();
    unsigned mended = 0;

    for (unsigned round = 0; round < 12; round++) {
        bool ready = false;

        work(f, round);
        for (unsigned cut = 0; !ready; cut++) {
            uint64_t reads = 0, erases;

            power_off(f->rig);
            erases = rig_stats(f->rig)->erases;
            /* Behind the scan. */
            for (; reads < 16 * 4 && !scarp_is_ready(f->rig->drive) &&
                   erases == rig_stats(f->rig)->erases; reads++) {
                scarp_run(f->rig->drive, scarp_next_event_ns(f->rig->drive));
            }
            for (unsigned i = 0; !scarp_is_ready(f->rig->drive) &&
                                 i < cut; i++) {
                scarp_run(f->rig->drive, scarp_next_event_ns(f->rig->drive));
            }
            ready = scarp_is_ready(f->rig->drive);
            mended += !ready;
        }
        look(f);
    }
    g_assert_cmpuint(mended, >, 50);
    full_free(f);
}

/* Where what it may take has more nanoseconds than a number holds. */
static void test_long_bound(void)
{
    Rig *rig = rig_new(
        "baseline", NULL,
        "nand.power_cuts=1,ftl.recovery=1,ftl.paired_pages=backup,"
        "nand.cell_bits=2,nand.layers=2,nand.layer_fastest_permille=10000,"
        "nand.layer_slowest_permille=10000,timing.read_ns=1000000000,"
        "timing.program_ns=1000000000,timing.erase_ns=10000000000,"
        "timing.command_ns=1000000,timing.channel_mts=1,"
        "geometry.channels=1,geometry.chips_per_channel=4,"
        "geometry.dies_per_chip=50,geometry.planes_per_die=16,"
        "geometry.blocks_per_plane=7,geometry.pages_per_block=4096,"
        "geometry.page_bytes=32768,ftl.over_provisioning_permille=10000,"
        "gc.trigger_free_blocks=1");

    g_assert_cmpint(scarp_recovery_bound_ns(rig->drive), ==, SCARP_TIME_LAST);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/recovery/empty", test_empty);
    g_test_add_func("/power/recovery/dies", test_dies);
    g_test_add_func("/power/recovery/half-full", test_half_full);
    g_test_add_func("/power/recovery/torn", test_torn);
    g_test_add_func("/power/recovery/stale-blocks", test_stale_blocks);
    g_test_add_func("/power/recovery/bad-blocks", test_bad_blocks);
    g_test_add_func("/power/recovery/units-and-types", test_units_and_types);
    g_test_add_func("/power/recovery/clean", test_clean);
    g_test_add_func("/power/recovery/not-clean", test_not_clean);
    g_test_add_func("/power/recovery/clean-planes", test_clean_planes);
    g_test_add_func("/power/recovery/without-the-key", test_without_the_key);
    g_test_add_func("/power/recovery/commands-wait", test_commands_wait);
    g_test_add_func("/power/recovery/goes-on", test_goes_on);
    g_test_add_func("/power/recovery/cut-short", test_cut_short);
    g_test_add_func("/power/recovery/erase-torn-again", test_erase_torn_again);
    g_test_add_func("/power/recovery/the-same-again", test_the_same_again);
    g_test_add_func("/power/recovery/last-block", test_last_block);
    g_test_add_func("/power/recovery/cut-while-mending",
                    test_cut_while_mending);
    g_test_add_func("/power/recovery/long-bound", test_long_bound);
    return g_test_run();
}
