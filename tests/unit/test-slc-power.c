/*
 * Power cuts of drives with an SLC cache. A page of the cache has its cells for
 * itself; a block's mode survives; a fold's source stays until its copies are
 * safe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

/* One plane of 64 blocks of 24 pages, or of 8 in SLC mode. */
#define PAD CUTS "," ONE ",geometry.pages_per_block=24,nand.cell_bits=3," \
    "ftl.paired_pages=pad,timing.slc_read_ns=30000," \
    "timing.slc_program_ns=200000,timing.slc_erase_ns=2000000"
#define DYNAMIC PAD ",slc.dynamic=1"
#define FOLD PAD ",slc.static_blocks=1,slc.full=fold"
#define IDLE PAD ",slc.static_blocks=4,slc.fold_idle_us=10000"

enum {
    SLC_TR = 30000, SLC_TPROG = 200000,
    SLC_PAGES = 8, BLOCKS = 64, RESERVED = 7, IDLE_NS = 10000 * 1000,
    SLC_WRITE = FW + LINK + CMD + BUS + SLC_TPROG,
    REAL_WRITE = FW + LINK + PROGRAM_NS,
    SLC_READ = FW + CMD + SLC_TR + BUS + LINK,
};

static const ScarpSlcStats *slc_of(const Rig *rig)
{
    return scarp_slc_stats(rig->drive);
}

/* Writes page with the tag 'a' + page. */
static void write_one(Rig *rig, unsigned page)
{
    power_write(rig, page, 'a' + page);
}

static void check_tags(const Rig *rig, unsigned pages)
{
    for (unsigned i = 0; i < pages; i++) {
        g_assert_cmpint(power_tag(rig, i), ==, 'a' + i);
    }
}

/* A torn page of the cache takes no other with it, and none needs pads. */
static void test_own_cells(void)
{
    unsigned torn = 0;

    for (unsigned seed = 0; seed < 16; seed++) {
        Rig *rig = rig_new_seeded("baseline", NULL, DYNAMIC, seed);
        ScarpCmd cmd = write_tag(2, 1, 'c');

        write_one(rig, 0);
        write_one(rig, 1);
        g_assert_cmpint(scarp_now_ns(rig->drive), ==, 2 * SLC_WRITE);
        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
        power_off_at(rig, scarp_now_ns(rig->drive) + TO_ARRAY_NS + 1);
        g_assert_cmpint(power_cell(rig, 0, 0), ==, 'p');
        g_assert_cmpint(power_cell(rig, 0, 1), ==, 'p');
        torn += power_cell(rig, 0, 2) == 't';
        power_on(rig);
        check_tags(rig, 2);
        g_assert_cmpuint(rig_stats(rig)->pair_pad_pages, ==, 0);
        rig_free(rig);
    }
    g_assert_cmpuint(torn, >, 0);
}

/* Past the cache a page waits until its cells are filled. */
static void test_direct(void)
{
    Rig *rig = rig_new("baseline", NULL, DYNAMIC ",slc.most_blocks=1");

    for (unsigned i = 0; i < SLC_PAGES; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, SLC_PAGES), ==,
                    REAL_WRITE + 2 * PROGRAM_NS);
    g_assert_cmpuint(rig_stats(rig)->pair_pad_pages, ==, 2);
    power_cells(rig, 1, "ppp.....................");
    rig_free(rig);
}

/*
 * Pads fill real cells, even if the cache has room again when somebody asks for
 * them, as the plane has folded meanwhile.
 */
static void test_pads_are_real(void)
{
    Rig *rig = rig_new("baseline", NULL, PAD ",slc.static_blocks=1,"
                       "slc.fold_idle_us=1000,controller.buffer_bytes=65536");

    for (unsigned i = 0; i <= SLC_PAGES; i++) {
        power_write(rig, i, 'a' + i);
    }
    /* the last one's program has ended, and it waits; then the plane folds */
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + 100 * 1000 * 1000);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 1);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    power_flush(rig);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 1);
    power_cycle(rig);
    check_tags(rig, SLC_PAGES + 1);
    rig_free(rig);
}

/* Modes survive, and so do counters; an open block of the cache is closed. */
static void test_modes(void)
{
    Rig *rig = rig_new("baseline", NULL, DYNAMIC);
    ScarpCmd cmd = read_page(3);

    for (unsigned i = 0; i < 20; i++) {
        write_one(rig, i);
    }
    power_cycle(rig);
    check_tags(rig, 20);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 3);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, 20);
    g_assert_cmpint(rig_do(rig, &cmd), ==, SLC_READ);
    g_assert_cmpint(rig_write(rig, 20), ==, SLC_WRITE);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 4);
    for (unsigned i = 1; i < (BLOCKS - RESERVED - 3) * SLC_PAGES; i++) {
        g_assert_cmpint(rig_write(rig, 20 + i), ==, SLC_WRITE);
    }
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, BLOCKS - RESERVED);
    rig_free(rig);
}

/* A block was opened in SLC mode, and its first program had not begun. */
static void test_no_page(void)
{
    Rig *rig = rig_new("baseline", NULL, DYNAMIC);
    ScarpCmd cmd = write_tag(0, 1, 'a');

    scarp_submit(rig->drive, &cmd, 0);
    power_off_at(rig, TO_ARRAY_NS);
    power_on(rig);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    g_assert_cmpuint(mark_times(rig, "cut_before_slc_page"), ==, 1);
    for (unsigned i = 0; i < (BLOCKS - RESERVED) * SLC_PAGES; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    rig_free(rig);
}

/*
 * Power fails after each event of a fold in turn: all that was acknowledged is
 * there, whatever the cut tears.
 */
static void fold_cut(const char *overrides, unsigned before)
{
    bool ended = false;

    for (unsigned events = 1; !ended; events++) {
        Rig *rig = rig_new_seeded("baseline", NULL, overrides, events);
        ScarpCmd cmd = write_tag(before, 1, 'a' + before);

        for (unsigned i = 0; i < before; i++) {
            write_one(rig, i);
        }
        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
        for (unsigned i = 0; i < events && !ended; i++) {
            int64_t next_ns = scarp_next_event_ns(rig->drive);
            int64_t now_ns = scarp_now_ns(rig->drive);

            ended = next_ns == SCARP_TIME_NEVER;
            scarp_run(rig->drive, ended ? now_ns
                      : i + 1 < events ? next_ns : (now_ns + next_ns) / 2);
        }
        g_assert_cmpuint(events, <, 200);
        if (ended) {
            g_assert_nonnull(scarp_reap(rig->drive));
            /* 8 pages of the fold, and one that fills the last cells */
            g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, SLC_PAGES);
            g_assert_cmpuint(rig_stats(rig)->pair_pad_pages, ==, 1);
            g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
        }
        power_cycle(rig);
        check_tags(rig, before + ended);
        power_write(rig, before, 'a' + before);
        power_cycle(rig);
        check_tags(rig, before + 1);
        rig_free(rig);
    }
}

static void test_fold(void)
{
    fold_cut(FOLD, SLC_PAGES);
    fold_cut(DYNAMIC ",slc.most_blocks=1,slc.full=fold", SLC_PAGES);
}

/* ---- A plane without a free block --------------------------------------- */

/*
 * Power fails when the plane has no free block but recovery's, as a plane may
 * that takes in copies of others. Its only full blocks are SLC blocks. Recovery
 * copies two of them into its own block, and erases them. Power fails again at
 * each event of that.
 */
static void test_mended(void)
{
    bool ready = false;

    for (unsigned events = 0; !ready; events++) {
        Rig *rig = rig_new_seeded("baseline", NULL, DYNAMIC, events);
        unsigned pages = 3 * SLC_PAGES;

        for (unsigned i = 0; i < pages; i++) {
            write_one(rig, i);
        }
        inside_lose_blocks(rig->drive, 0, 1);
        power_off(rig);
        for (unsigned i = 0; i < events && !ready; i++) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
            ready = scarp_is_ready(rig->drive);
        }
        if (ready) {
            g_assert_cmpuint(mark_times(rig, "mended_by_fold"), ==, 2);
            g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 1);
            g_assert_cmpuint(events, >, 2 * SLC_PAGES);
        } else if (events) {
            power_off(rig);
        }
        power_on(rig);
        check_tags(rig, pages);
        rig_drain(rig);
        rig_free(rig);
    }
}

/* A die is idle from the time at which the drive is ready. */
static void test_idle(void)
{
    Rig *rig = rig_new("baseline", NULL, IDLE);
    int64_t ready_ns;

    for (unsigned i = 0; i < 16; i++) {
        write_one(rig, i);
    }
    power_cycle(rig);
    ready_ns = scarp_now_ns(rig->drive);
    scarp_run(rig->drive, ready_ns + IDLE_NS - 1);
    g_assert_cmpuint(rig_stats(rig)->gc_page_reads, ==, 0);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 2);
    scarp_run(rig->drive, ready_ns + 10 * IDLE_NS);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 2);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    check_tags(rig, 16);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slc-power/own-cells", test_own_cells);
    g_test_add_func("/slc-power/direct", test_direct);
    g_test_add_func("/slc-power/pads-are-real", test_pads_are_real);
    g_test_add_func("/slc-power/modes", test_modes);
    g_test_add_func("/slc-power/no-page", test_no_page);
    g_test_add_func("/slc-power/fold", test_fold);
    g_test_add_func("/slc-power/mended", test_mended);
    g_test_add_func("/slc-power/idle", test_idle);
    return g_test_run();
}
