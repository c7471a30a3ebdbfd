/*
 * ftl.mapping=demand when power fails: translation units that are torn or lack
 * what had changed in RAM, and checkpoints: where the journal begins, what is
 * read, and what counts while one is being written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sweep.h"

#define DEMAND "nand.power_cuts=1,ftl.recovery=1,ftl.mapping=demand," ONE
/*
 * One translation unit has all 750 pages, and all of its entries fit into RAM;
 * another one is the checkpoints'.
 */
#define DEMAND_ONE DEMAND ",ftl.map_cache_bytes=8192"
#define EACH_40 DEMAND_ONE ",ftl.checkpoint_pages=40"

enum { SCAN_NS = CMD + TR + 40 };

static Rig *written(const char *overrides, unsigned pages)
{
    Rig *rig = rig_new("baseline", NULL, overrides);

    for (unsigned i = 0; i < pages; i++) {
        power_write(rig, i, 1 + i);
    }
    return rig;
}

static void check_tags(const Rig *rig, unsigned pages)
{
    for (unsigned i = 0; i < pages; i++) {
        g_assert_cmpint(power_tag(rig, i), ==, 1 + i);
    }
}

/*
 * So many pages in all: those of blocks in use, and the first of each other one,
 * which says that it is erased.
 */
static void expect_scans(Rig *rig, unsigned scans)
{
    uint64_t before = rig_stats(rig)->recovery_page_reads;

    g_assert_cmpint(power_on(rig), ==, (int64_t)scans * SCAN_NS);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_reads - before, ==, scans);
    g_assert_cmpuint(rig_stats(rig)->recovery_page_programs, ==, 0);
}

/* No translation unit was ever written: spare areas tell, and one is. */
static void test_never_written(void)
{
    Rig *rig = written(DEMAND_ONE, 10);

    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 0);
    power_off(rig);
    expect_scans(rig, 11 + 63);
    check_tags(rig, 10);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->map_written_units, ==, 1);
    rig_free(rig);
}

/* It lacks what changed in RAM since: it is read, and written once more. */
static void test_stale(void)
{
    Rig *rig = written(DEMAND_ONE, 10);
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_drain(rig->drive, &error));
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 1);
    power_cycle(rig);
    rig_drain(rig);
    /* Nothing had changed. */
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 1);
    power_write(rig, 3, 4);
    power_cycle(rig);
    check_tags(rig, 10);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 2);
    rig_free(rig);
}

/* A torn one: the one before it, and spare areas. */
static void test_torn(void)
{
    bool torn = false, done = false;

    for (unsigned more = 1; more < 17; more++) {
        Rig *rig = written(DEMAND_ONE, 10);
        uint32_t tu, first;
        g_autoptr(GError) error = NULL;

        g_assert_true(scarp_drain(rig->drive, &error));
        tu = inside_first_translation_unit(rig->drive);
        first = inside_l2p(rig->drive, tu);
        /* So that the lot falls otherwise. */
        for (unsigned i = 0; i < more; i++) {
            power_write(rig, 3, 4);
        }
        power_cycle(rig);
        power_until(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP);
        scarp_run(rig->drive, rig->op[rig->n_ops - 1].f.end_ns + 1);
        power_off(rig);
        torn |= inside_l2p(rig->drive, tu) == first;
        done |= inside_l2p(rig->drive, tu) != first;
        power_on(rig);
        check_tags(rig, 10);
        rig_drain(rig);
        rig_free(rig);
    }
    g_assert_true(torn && done);
}

/* ---- Checkpoints ---------------------------------------------------------- */

/*
 * When 40 pages have been programmed the translation unit is, then the unit that
 * says where the journal begins: at the block with the last 8 of them, the first
 * that is not full.
 */
static void test_checkpoint(void)
{
    Rig *rig = written(EACH_40, 39);
    uint32_t tu = inside_first_translation_unit(rig->drive);
    uint32_t open = inside_l2p(rig->drive, 38) / BLOCK;

    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 0);
    power_write(rig, 39, 40);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 0);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->map_page_reads, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 1);
    g_assert_cmpuint(inside_l2p(rig->drive, tu + 1), ==,
                     inside_l2p(rig->drive, tu) + 1);
    power_off(rig);
    g_assert_cmpuint(inside_journal(rig->drive), ==,
                     inside_block_seq(rig->drive, open));
    /* The first pages of two blocks, 8 of the journal, 2 of the mapping. */
    expect_scans(rig, 2 + (8 + 1) + (2 + 1) + 60);
    check_tags(rig, 40);
    rig_drain(rig);
    rig_free(rig);
}

/* What came behind it is in the journal. */
static void test_journal(void)
{
    Rig *rig = written(EACH_40, 40);

    rig_drain(rig);
    for (unsigned i = 0; i < 20; i++) { /* 8 of its block, 12 of another */
        power_write(rig, 2 * i, 1 + 2 * i);
    }
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 1);
    power_off(rig);
    expect_scans(rig, 2 + 16 + (12 + 1) + (2 + 1) + 59);
    check_tags(rig, 40);
    /* Then the translation unit is written; the next checkpoint comes as ever. */
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 3);
    for (unsigned i = 0; i < 40; i++) {
        power_write(rig, i, 1 + i);
    }
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 2);
    rig_free(rig);
}

static uint64_t journal_at_next(Rig *rig)
{
    uint64_t journal;

    rig_drain(rig);
    power_off(rig);
    journal = inside_journal(rig->drive);
    power_on(rig);
    return journal;
}

/* A block of translation units, which stays open for long, does not hold it back. */
static void test_journal_goes_on(void)
{
    Rig *rig = written(EACH_40, 40);
    uint64_t own, journal;

    rig_drain(rig);
    own = inside_l2p(rig->drive, inside_first_translation_unit(rig->drive));
    for (unsigned i = 0; i < 80; i++) {
        power_write(rig, i % 40, 1 + i % 40);
    }
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 3);
    g_assert_cmpuint(inside_l2p(rig->drive,
                                inside_first_translation_unit(rig->drive)) / BLOCK,
                     ==, own / BLOCK);
    journal = journal_at_next(rig);
    g_assert_cmpuint(journal, >, inside_block_seq(rig->drive, own / BLOCK));
    check_tags(rig, 40);
    rig_free(rig);
}

/* Nor does one that a power cut left with pages to write: nobody writes them. */
static void test_journal_after_a_cut(void)
{
    Rig *rig = written(EACH_40, 40);
    uint64_t journal = journal_at_next(rig);

    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 1);
    for (unsigned i = 0; i < 40; i++) {
        power_write(rig, 0, 1);
    }
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 2);
    g_assert_cmpuint(journal_at_next(rig), >, journal);
    check_tags(rig, 40);
    rig_drain(rig);
    rig_free(rig);
}

/* A checkpoint is due after so many pages, also if power fails in between. */
static void test_pages_count_over_cuts(void)
{
    Rig *rig = written(EACH_40, 30);

    power_cycle(rig);
    for (unsigned i = 0; i < 9; i++) {
        power_write(rig, i, 1 + i);
    }
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 0);
    power_write(rig, 9, 10);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 1);
    check_tags(rig, 30);
    rig_free(rig);
}

/* Without them all spare areas are read. */
static void test_no_checkpoints(void)
{
    Rig *rig = written(DEMAND_ONE, 40);

    rig_drain(rig);
    power_off(rig);
    g_assert_cmpuint(inside_journal(rig->drive), ==, 0);
    expect_scans(rig, 16 + 16 + 9 + 61);
    check_tags(rig, 40);
    rig_drain(rig);
    rig_free(rig);
}

/*
 * A drive that reads the journal alone has lost what the checkpoint says, and
 * the laws know of its lie: cells that it does not read say otherwise.
 */
static void test_checkpoint_of_a_lie(void)
{
    Rig *rig = written(EACH_40 ",lie.no_checkpoint=1", 40);
    unsigned lost = 0;

    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 1);
    power_check(rig);
    power_cycle(rig);
    for (unsigned i = 0; i < 40; i++) {
        lost += power_tag(rig, i) != (int)(1 + i);
    }
    g_assert_cmpuint(lost, ==, 32); /* all but the block that was open */
    power_write(rig, 3, 4);
    rig_drain(rig);
    power_check(rig);
    g_assert_cmpint(power_tag(rig, 3), ==, 4);
    rig_free(rig);
}

/*
 * Power fails while its own unit is programmed: torn, there is no checkpoint, as
 * before; done, it counts.
 */
static void test_seal(void)
{
    bool torn = false, done = false;

    for (unsigned more = 0; more < 16; more++) {
        Rig *rig = written(EACH_40, 30);
        const ScarpFlashOp *op;
        char is;

        for (unsigned i = 0; i < more; i++) { /* another lot */
            ScarpCmd cmd = read_page(i);

            power_do(rig, &cmd);
        }
        for (unsigned i = 30; i < 40; i++) {
            power_write(rig, i, 1 + i);
        }
        op = power_until_nth(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP, 1);
        scarp_run(rig->drive, op->end_ns + 1);
        g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 0);
        power_off(rig);
        is = power_cell(rig, op->block, 1);
        torn |= is == 't';
        done |= is == 'p';
        g_assert_cmpint(power_cell(rig, op->block, 0), ==, 'p');
        expect_scans(rig, is == 't' ? 16 + 16 + 9 + 3 + 60
                                    : 2 + 9 + 3 + 60);
        check_tags(rig, 40);
        rig_drain(rig);
        rig_free(rig);
    }
    g_assert_true(torn && done);
}

/* The second one is not whole: the journal of the first counts. */
static void test_second_seal(void)
{
    Rig *rig = written(EACH_40, 40);
    uint64_t journal;
    char is = 'p';

    rig_drain(rig);
    power_off(rig);
    journal = inside_journal(rig->drive);
    power_on(rig);
    for (unsigned round = 0; is == 'p'; round++) {
        const ScarpFlashOp *op;
        uint64_t checkpoints = rig_stats(rig)->checkpoints;

        g_assert_cmpuint(round, <, 10);
        while (rig_stats(rig)->checkpoints == checkpoints &&
               inside_units_since_checkpoint(rig->drive) < 39) {
            power_write(rig, 0, 1);
        }
        power_write(rig, 0, 1);
        power_until(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP);
        op = power_until(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_MAP);
        scarp_run(rig->drive, op->end_ns + 1);
        power_off(rig);
        is = power_cell(rig, op->block, op->page);
        if (is == 'p') {
            g_assert_cmpuint(inside_journal(rig->drive), >, journal);
            journal = inside_journal(rig->drive);
        }
        g_assert_cmpuint(inside_journal(rig->drive), ==, journal);
        power_on(rig);
        check_tags(rig, 40);
    }
    rig_drain(rig);
    rig_free(rig);
}

/* Of an aged drive everything is as if one had just been written. */
static void test_aged(void)
{
    Rig *rig = rig_new("baseline", NULL, EACH_40);
    ScarpAge age = { .utilisation_permille = 1000, .pattern = "sequential" };

    g_assert_true(scarp_age(rig->drive, &age, NULL));
    power_off(rig);
    /* 750 pages: 46 full blocks, 14 pages of another, 2 of the mapping. */
    expect_scans(rig, 46 + 15 + 3 + 16);
    for (unsigned i = 0; i < 750; i++) {
        g_assert_true(scarp_is_mapped(rig->drive, i * PAGE, PAGE));
    }
    rig_free(rig);
}

/*
 * After a clean shutdown translation units have it all: where they lie, and 16
 * bytes for each block, are in one page.
 */
static void test_clean(void)
{
    Rig *rig = written(EACH_40, 50);

    g_assert_true(scarp_shut_down(rig->drive, NULL));
    g_assert_cmpint(power_cycle(rig), ==, READ_NS);
    check_tags(rig, 50);
    rig_drain(rig);
    rig_free(rig);
}

/* A checkpoint that is nearly due is not begun before something is written. */
static void test_clean_stays(void)
{
    Rig *rig = written(EACH_40, 79);

    g_assert_true(scarp_shut_down(rig->drive, NULL));
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(power_cycle(rig), ==, READ_NS);
        rig_drain(rig);
    }
    check_tags(rig, 79);
    power_write(rig, 0, 1);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->checkpoints, ==, 2);
    rig_free(rig);
}

/* ---- At every event -------------------------------------------------------- */

/*
 * 30 pages of the host are 240 units, of which 128 have a translation unit; a
 * flash page has two units, a block 8, and RAM few entries.
 */
#define TIGHT DEMAND ",geometry.page_bytes=1024,ftl.unit_bytes=512," \
              "geometry.blocks_per_plane=64,geometry.pages_per_block=4," \
              "gc.trigger_free_blocks=1,ftl.over_provisioning_permille=1000," \
              "ftl.map_cache_bytes=384"

enum { UNIT_BYTES = 512, UNITS = 240 };

/* A unit of its block's 8 at a time, so that collections find valid ones. */
static ScarpCmd write_unit(unsigned i, uint8_t tag)
{
    ScarpCmd cmd = cmd_of(SCARP_OP_WRITE,
                          (uint64_t)(i * 11 % UNITS) * UNIT_BYTES, UNIT_BYTES);

    cmd.data = bytes_of(tag);
    return cmd;
}

static void prepare(Rig *rig)
{
    g_assert_cmpuint(scarp_drive_logical_bytes(rig->drive), >=,
                     UNITS * UNIT_BYTES);
    for (unsigned i = 0; i < 2 * UNITS; i++) {
        ScarpCmd cmd = write_unit(i < UNITS ? i : 3 * i, SWEEP_FIRST + i % 90);

        power_do(rig, &cmd);
    }
}

static void count(Rig *rig, void *opaque)
{
    ScarpUnderWay what = power_under_way(rig);
    unsigned *met = opaque;

    met[0] += what.programs[SCARP_ORIGIN_MAP];
    met[1] += what.programs[SCARP_ORIGIN_GC];
    met[2] += what.erases;
}

static void cut_all(const char *more, bool twice)
{
    g_autofree char *keys = g_strconcat(TIGHT, more, NULL);
    unsigned met[3] = { 0 };
    ScarpCmd cmd[SWEEP_CMDS];
    Sweep all = { .scheme = "pgc", .overrides = keys, .prepare = prepare,
                  .cmd = cmd, .n_cmds = 80, .is_durable = true,
                  .keeps_deallocated = true, .twice = twice,
                  .look = count, .opaque = met };

    for (unsigned i = 0; i < all.n_cmds; i++) {
        cmd[i] = write_unit(i * 5, 0);
    }
    sweep(&all);
    for (unsigned i = 0; i < 3; i++) {
        g_test_message("%u: %u", i, met[i]);
        g_assert_cmpuint(met[i], >, 0);
    }
}

static void test_every_event(void)
{
    if (g_test_slow()) {
        cut_all("", false);
    }
    cut_all("", true);
}

static void test_every_event_of_checkpoints(void)
{
    if (g_test_slow()) {
        cut_all(",ftl.checkpoint_pages=12", false);
    }
    cut_all(",ftl.checkpoint_pages=12", true);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/demand/never-written", test_never_written);
    g_test_add_func("/power/demand/stale", test_stale);
    g_test_add_func("/power/demand/torn", test_torn);
    g_test_add_func("/power/demand/checkpoint", test_checkpoint);
    g_test_add_func("/power/demand/journal", test_journal);
    g_test_add_func("/power/demand/journal-goes-on", test_journal_goes_on);
    g_test_add_func("/power/demand/journal-after-a-cut",
                    test_journal_after_a_cut);
    g_test_add_func("/power/demand/pages-count-over-cuts",
                    test_pages_count_over_cuts);
    g_test_add_func("/power/demand/no-checkpoints", test_no_checkpoints);
    g_test_add_func("/power/demand/checkpoint-of-a-lie",
                    test_checkpoint_of_a_lie);
    g_test_add_func("/power/demand/seal", test_seal);
    g_test_add_func("/power/demand/second-seal", test_second_seal);
    g_test_add_func("/power/demand/aged", test_aged);
    g_test_add_func("/power/demand/clean", test_clean);
    g_test_add_func("/power/demand/clean-stays", test_clean_stays);
    g_test_add_func("/power/demand/every-event", test_every_event);
    g_test_add_func("/power/demand/every-event-of-checkpoints",
                    test_every_event_of_checkpoints);
    return g_test_run();
}
