/*
 * The SLC cache, to the nanosecond and to the page: sums computed by hand from
 * docs/model.md, with the constants of helpers.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

/*
 * One plane of 64 blocks of 24 pages, or of 8 in SLC mode. 3 + 2 + 1 blocks
 * (scarp_reserved_blocks()) stay free of SLC blocks.
 */
#define TLC "geometry.channels=1,geometry.dies_per_chip=1," \
    "geometry.pages_per_block=24,nand.cell_bits=3,timing.slc_read_ns=30000," \
    "timing.slc_program_ns=200000,timing.slc_erase_ns=2000000"
#define QLC "geometry.channels=1,geometry.dies_per_chip=1," \
    "nand.cell_bits=4,timing.slc_read_ns=30000," \
    "timing.slc_program_ns=200000,timing.slc_erase_ns=2000000"
#define DYNAMIC ",slc.dynamic=1"
#define FOLD ",slc.full=fold"
#define IDLE_US 10000
#define IDLE ",slc.static_blocks=10,slc.fold_idle_us=10000"

enum {
    SLC_TR = 30000, SLC_TPROG = 200000, SLC_TBERS = 2000000,
    BLOCKS = 64, RESERVED = 6, TRIGGER = 3,
    SLC_WRITE = FW + LINK + CMD + BUS + SLC_TPROG,
    REAL_WRITE = FW + LINK + PROGRAM_NS,
    SLC_READ = FW + CMD + SLC_TR + BUS + LINK,
    REAL_READ = FW + READ_NS + LINK,
    /* a page of SLC cells is read, and then programmed into real ones */
    MOVE_NS = CMD + SLC_TR + BUS + PROGRAM_NS,
    SLC_ERASE_NS = CMD + SLC_TBERS,
};

static const ScarpSlcStats *slc_of(const Rig *rig)
{
    return scarp_slc_stats(rig->drive);
}

/* ---- Times -------------------------------------------------------------- */

static void test_latencies(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC);
    ScarpCmd cmd = read_page(0);

    g_assert_cmpint(rig_write(rig, 0), ==, SLC_WRITE);
    g_assert_cmpint(rig_do(rig, &cmd), ==, SLC_READ);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, 1);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 1);
    rig_free(rig);
}

/* What was written past the cache is read from real cells. */
static void test_latencies_direct(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ",slc.most_blocks=2");
    ScarpCmd cmd = read_page(16);

    rig_fill(rig, 0, 16);
    g_assert_cmpint(rig_write(rig, 16), ==, REAL_WRITE);
    g_assert_cmpint(rig_do(rig, &cmd), ==, REAL_READ);
    cmd = read_page(15);
    g_assert_cmpint(rig_do(rig, &cmd), ==, SLC_READ);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 1);
    rig_free(rig);
}

/* An SLC page's times do not depend on its type or layer; a real page's do. */
static void test_latencies_of_types(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ",slc.most_blocks=1,"
                       "timing.program_ns=500000;900000;1600000,nand.layers=8,"
                       "nand.layer_slowest_permille=2000");

    for (unsigned i = 0; i < 8; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, 8), ==, FW + LINK + CMD + BUS + 500000);
    g_assert_cmpint(rig_write(rig, 9), ==, FW + LINK + CMD + BUS + 900000);
    g_assert_cmpint(rig_write(rig, 10), ==, FW + LINK + CMD + BUS + 1600000);
    rig_free(rig);
}

/* Writes until one goes past the cache, and returns how many did not. */
static unsigned writes_fast(Rig *rig, uint64_t page, int64_t first_wait_ns)
{
    unsigned n = 0;

    for (;; n++) {
        ScarpCmd cmd = write_page(page + n);
        int64_t ns;

        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
        while (!scarp_reap(rig->drive)) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        }
        ns = latency(&cmd) - (n ? 0 : first_wait_ns);
        if (ns != SLC_WRITE) {
            g_assert_cmpint(ns, ==, REAL_WRITE);
            return n;
        }
    }
}

static void wait_for(Rig *rig, int64_t ns)
{
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + ns);
}

/* ---- The first cliff ---------------------------------------------------- */

/* Sequential writes go into the cache, and then past it. */
static void first_cliff(const char *overrides, unsigned pages)
{
    Rig *rig = rig_new("baseline", NULL, overrides);

    g_assert_cmpuint(writes_fast(rig, 0, 0), ==, pages);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, pages);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 0);
    rig_free(rig);
}

static void test_first_cliff(void)
{
    first_cliff(TLC DYNAMIC, (BLOCKS - RESERVED) * 8);
    first_cliff(QLC DYNAMIC, (BLOCKS - RESERVED) * 4);
    first_cliff(TLC DYNAMIC ",geometry.channels=2,geometry.planes_per_die=2",
                4 * (BLOCKS - RESERVED) * 8);
    first_cliff(TLC DYNAMIC ",slc.most_blocks=5", 5 * 8);
    first_cliff(TLC IDLE, 10 * 8);
    /* ten static ones, and what is above the reserve without them */
    first_cliff(TLC DYNAMIC IDLE, (BLOCKS - RESERVED) * 8);
}

/* The cache is as large as what is free allows: it shrinks as data grows. */
static void test_shrinks(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC);
    ScarpAge age = { .utilisation_permille = 500, .pattern = "sequential",
                     .seed = 1 };
    uint64_t real = scarp_drive_logical_bytes(rig->drive) / PAGE * 500 / 1000;
    uint64_t blocks = (real + 23) / 24;
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    for (uint64_t i = 0; i < (BLOCKS - RESERVED - blocks) * 8; i++) {
        g_assert_cmpint(rig_write(rig, real + i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, 0), ==, REAL_WRITE);
    rig_free(rig);
}

/* ---- Behind a full cache ------------------------------------------------ */

/*
 * Of `direct`, in steady state: bits folds free bits blocks and fill one, so
 * that the host has bits - 1 blocks, until the next bits folds.
 */
static void direct_behind_full(const char *overrides, unsigned bits,
                               unsigned real_pages)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    uint64_t next = (BLOCKS - RESERVED) * (real_pages / bits);
    const unsigned cycles = 3, host = (bits - 1) * real_pages;
    ScarpStats before;

    rig_fill(rig, 0, next);
    /* to where free blocks are few, and one more cycle */
    rig_fill(rig, next, (RESERVED - TRIGGER) * real_pages + host);
    next += (RESERVED - TRIGGER) * real_pages + host;
    before = *rig_stats(rig);
    rig_fill(rig, next, cycles * host);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs -
                         before.host_page_programs, ==, cycles * host);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs -
                         before.gc_page_programs, ==, cycles * real_pages);
    /* bits / (bits - 1) real pages for each of the host's */
    g_assert_cmpuint((cycles * host + cycles * real_pages) * (bits - 1), ==,
                     cycles * host * bits);
    g_assert_cmpuint(rig_stats(rig)->erases - before.erases, ==, cycles * bits);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==,
                     (BLOCKS - RESERVED) * (real_pages / bits));
    g_assert_cmpuint(slc_of(rig)->slc_erases, ==, rig_stats(rig)->erases);
    g_assert_cmpuint(slc_of(rig)->folded_units, ==,
                     rig_stats(rig)->gc_moved_units);
    rig_free(rig);
}

static void test_direct(void)
{
    direct_behind_full(TLC DYNAMIC, 3, 24);
    direct_behind_full(QLC DYNAMIC, 4, 16);
}

/*
 * Of `fold`: a write into the cache for each of the host's. Of a dynamic cache
 * bits folds free bits - 1 blocks for it.
 */
static void fold_behind_full(const char *overrides, unsigned bits,
                             unsigned real_pages)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    unsigned slc_pages = real_pages / bits, host = (bits - 1) * slc_pages;
    uint64_t next = (BLOCKS - RESERVED) * slc_pages;
    const unsigned cycles = 5;
    ScarpStats before;

    rig_fill(rig, 0, next);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 0);
    rig_fill(rig, next, host);
    next += host;
    before = *rig_stats(rig);
    rig_fill(rig, next, cycles * host);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==,
                     rig_stats(rig)->host_page_programs);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs -
                         before.gc_page_programs, ==, cycles * real_pages);
    g_assert_cmpuint(cycles * real_pages * (bits - 1), ==,
                     cycles * host * bits);
    rig_free(rig);
}

static void test_fold_dynamic(void)
{
    fold_behind_full(TLC DYNAMIC FOLD, 3, 24);
    fold_behind_full(QLC DYNAMIC FOLD, 4, 16);
}

/* Of a static cache a fold makes room for as many pages as it moves. */
static void test_fold_static(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC FOLD ",slc.static_blocks=4");
    int64_t fold_ns = 8 * MOVE_NS + SLC_ERASE_NS;

    rig_fill(rig, 0, 4 * 8);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 0);
    for (unsigned i = 0; i < 10; i++) {
        uint64_t first = (4 + i) * 8;

        g_assert_cmpint(rig_write(rig, first), ==, SLC_WRITE + fold_ns);
        for (unsigned page = 1; page < 8; page++) {
            g_assert_cmpint(rig_write(rig, first + page), ==, SLC_WRITE);
        }
        g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, (i + 1) * 8);
        g_assert_cmpint(rig->run[i].end_ns - rig->run[i].begin_ns, ==, fold_ns);
    }
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, 14 * 8);
    g_assert_cmpuint(slc_of(rig)->slc_erases, ==, 10);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 4);
    rig_free(rig);
}

/* ---- Causes ------------------------------------------------------------- */

/*
 * A write's waits for a fold are in its causes. cause_ns[] counts them as those
 * of any collection, as programs of before the SLC cache expect.
 */
static void test_fold_causes(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC FOLD ",slc.static_blocks=1");
    ScarpCmd cmd = write_page(8);
    int64_t read_ns = 8 * (CMD + SLC_TR + BUS), program_ns = 8 * PROGRAM_NS;
    uint64_t slowest[SCARP_CAUSE__ALL];
    ScarpTail tail;

    g_assert_cmpuint(scarp_drive_causes(rig->drive), ==, SCARP_CAUSE__ALL);
    rig_fill(rig, 0, 8);
    rig_do(rig, &cmd);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_DIE_GC_READ], ==, read_ns);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM], ==, program_ns);
    g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_DIE_GC_READ), ==, 0);
    g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_DIE_GC_PROGRAM), ==, 0);
    g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_DIE_FOLD_READ), ==, read_ns);
    g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_DIE_FOLD_PROGRAM), ==,
                    program_ns);
    g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_DIE_ERASE), ==, SLC_ERASE_NS);
    g_assert_cmpint(cause_of(&cmd, SCARP_CAUSE_THROTTLED), ==, 0);
    scarp_latency_tail(rig->drive, SCARP_OP_WRITE, 1, &tail);
    scarp_latency_tail_causes(rig->drive, SCARP_OP_WRITE, 1, slowest);
    g_assert_cmpuint(tail.n, ==, 1);
    g_assert_cmpuint(tail.cause_ns[SCARP_CAUSE_DIE_GC_READ], ==, read_ns);
    g_assert_cmpuint(slowest[SCARP_CAUSE_DIE_GC_READ], ==, 0);
    g_assert_cmpuint(slowest[SCARP_CAUSE_DIE_FOLD_READ], ==, read_ns);
    g_assert_cmpuint(slowest[SCARP_CAUSE_DIE_FOLD_PROGRAM], ==, program_ns);
    rig_free(rig);
}

/*
 * A read comes to the die into_ns after an idle fold has begun to move its
 * third page. With `pgc` it waits only for the fold's present flash command.
 */
static void read_behind_fold(int64_t into_ns, int64_t read_ns,
                             int64_t program_ns)
{
    Rig *rig = rig_new("pgc", NULL, TLC IDLE);
    ScarpCmd read = read_page(79);
    int64_t idle_from_ns;

    g_assert_cmpuint(writes_fast(rig, 0, 0), ==, 80);
    idle_from_ns = scarp_now_ns(rig->drive);
    wait_for(rig, IDLE_US * 1000 + 2 * MOVE_NS);
    scarp_submit(rig->drive, &read, idle_from_ns + IDLE_US * 1000 +
                                        2 * MOVE_NS + into_ns - FW);
    rig_drain(rig);
    g_assert_cmpint(cause_of(&read, SCARP_CAUSE_DIE_FOLD_READ), ==, read_ns);
    g_assert_cmpint(cause_of(&read, SCARP_CAUSE_DIE_FOLD_PROGRAM), ==,
                    program_ns);
    g_assert_cmpint(cause_of(&read, SCARP_CAUSE_DIE_GC_READ), ==, 0);
    g_assert_cmpint(cause_of(&read, SCARP_CAUSE_DIE_GC_PROGRAM), ==, 0);
    g_assert_cmpint(latency(&read), ==, read_ns + program_ns + SLC_READ);
    g_assert_cmpuint(rig_stats(rig)->cause_ns[SCARP_CAUSE_DIE_GC_READ], ==,
                     read_ns);
    rig_free(rig);
}

static void test_read_behind_fold_read(void)
{
    read_behind_fold(FW, CMD + SLC_TR + BUS - FW, 0);
}

static void test_read_behind_fold_program(void)
{
    int64_t read_ns = CMD + SLC_TR + BUS;

    read_behind_fold(read_ns + 1000, 0, PROGRAM_NS - 1000);
}

/* Behind a collection of real blocks, a drive with a cache says die_gc_*. */
static void test_causes_of_collections(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC ",slc.static_blocks=1,"
                       "slc.keep_blocks=1,slc.fold_idle_us=1");
    const ScarpStats *stats = rig_stats(rig);
    uint64_t units = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autofree char *json = NULL;

    while (!stats->cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM]) {
        ScarpCmd cmd[4];
        int64_t at_ns = scarp_now_ns(rig->drive) + 1;

        g_assert_cmpuint(stats->writes, <, 20 * units);
        for (size_t i = 0; i < G_N_ELEMENTS(cmd); i++) {
            cmd[i] = write_page(g_rand_int_range(rand, 0, units));
            scarp_submit(rig->drive, &cmd[i], at_ns);
        }
        rig_drain(rig);
        for (size_t i = 0; i < G_N_ELEMENTS(cmd); i++) {
            g_assert_cmpint(cause_of(&cmd[i], SCARP_CAUSE_DIE_GC_PROGRAM), ==,
                            cmd[i].cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM]);
        }
    }
    g_assert_cmpuint(slc_of(rig)->folded_units, ==, 0);
    json = scarp_stats_json(rig->drive);
    g_assert_nonnull(strstr(json, "\"cause_die_fold_program_ns\": 0,"));
    g_assert_null(strstr(json, "\"cause_die_gc_program_ns\": 0,"));
    rig_free(rig);
}

/* Other drives have neither the causes nor their names. */
static void test_causes_without_cache(void)
{
    Rig *rig = rig_new("baseline", NULL, "");
    g_autofree char *json = scarp_stats_json(rig->drive);

    g_assert_cmpuint(scarp_drive_causes(rig->drive), ==, SCARP_CAUSE__COUNT);
    g_assert_null(strstr(json, "fold"));
    g_assert_null(strstr(json, "throttled"));
    rig_free(rig);
}

/* ---- Folds that move nothing, or cost nothing ---------------------------- */

/* Units that the host has overwritten meanwhile are not copied. */
static void test_fold_of_stale(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC FOLD ",slc.static_blocks=2");

    rig_fill(rig, 0, 8);
    rig_fill(rig, 0, 8);
    g_assert_cmpint(rig_write(rig, 0), ==, SLC_WRITE + SLC_ERASE_NS);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 0);
    rig_free(rig);
}

/* With `ideal` a fold costs nothing. */
static void test_ideal(void)
{
    Rig *rig = rig_new("ideal", NULL, TLC FOLD ",slc.static_blocks=2");

    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpuint(slc_of(rig)->folded_units, >=, 80);
    rig_free(rig);
}

/* A stream has open blocks of its own. */
static void test_streams(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ",ftl.streams=2");

    for (unsigned i = 0; i < 8; i++) {
        ScarpCmd cmd = write_page(i);

        cmd.stream = i % 2;
        rig_do(rig, &cmd);
    }
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 2);
    rig_free(rig);
}

/* ---- Planes of a die ---------------------------------------------------- */

/* Folds of two planes run together: reads, programs and erases do. */
static void test_planes(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC FOLD ",slc.static_blocks=1,"
                       "geometry.planes_per_die=2,nand.multiplane=1,"
                       "slc.fold_planes=2");
    int64_t fold_ns = 8 * (2 * CMD + SLC_TR + 2 * BUS +
                           2 * (CMD + BUS) + TPROG) + 2 * CMD + SLC_TBERS;

    rig_fill(rig, 0, 16);
    g_assert_cmpint(rig_write(rig, 16), ==, SLC_WRITE + fold_ns);
    g_assert_cmpint(rig_write(rig, 17), ==, SLC_WRITE);
    g_assert_cmpuint(slc_of(rig)->folded_units, ==, 16);
    g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, 8 + 8 + 1);
    rig_free(rig);
}

static uint32_t plane_erases(const Rig *rig, uint32_t p)
{
    uint32_t blocks = inside_blocks_per_plane(rig->drive);
    uint32_t erases = 0;

    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        erases += inside_erases(rig->drive, b);
    }
    return erases;
}

/*
 * Two of four planes fold at once behind a dynamic cache, and all fold equally
 * often: otherwise one plane's cache would have room while the others' has not,
 * and their programs would not run together.
 */
static void test_planes_in_turn(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ",slc.most_blocks=40,"
                       "geometry.planes_per_die=4,nand.multiplane=1,"
                       "ftl.allocation=pcwd,slc.fold_planes=2");
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    uint64_t in_cache = 4 * 40 * 8;
    uint32_t most = 0, least = UINT32_MAX;

    rig_fill(rig, 0, pages);
    for (uint32_t p = 0; p < 4; p++) {
        most = MAX(most, plane_erases(rig, p));
        least = MIN(least, plane_erases(rig, p));
    }
    g_assert_cmpuint(least, >, 10);
    g_assert_cmpuint(most - least, <=, 1);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, in_cache);
    rig_free(rig);
}

/* Programs of planes do not join if one of them goes to real cells. */
static void test_planes_of_modes(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ",slc.most_blocks=1,"
                       "geometry.planes_per_die=2,nand.multiplane=1");
    ScarpCmd cmd[3];

    for (unsigned i = 0; i < 9; i++) { /* the first plane's cache is full */
        rig_write(rig, i * 2);
    }
    rig_drain(rig);
    cmd[0] = read_page(0); /* keeps the die busy until both have arrived */
    cmd[1] = write_page(18);
    cmd[2] = write_page(1);
    for (unsigned i = 0; i < 3; i++) {
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive) + !i);
    }
    rig_drain(rig);
    g_assert_cmpint(latency(&cmd[1]), ==,
                    FW + CMD + SLC_TR + BUS + PROGRAM_NS);
    g_assert_cmpint(latency(&cmd[2]), ==, latency(&cmd[1]) + CMD + BUS +
                                              SLC_TPROG);
    g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, 0);
    rig_free(rig);
}

/* ---- Idle time ---------------------------------------------------------- */

/*
 * After a pause the cache takes what the pause has folded. The fold that is
 * under way when the next write comes ends first.
 */
static void test_pause(void)
{
    const int64_t fold_ns = 8 * MOVE_NS + SLC_ERASE_NS;
    const int64_t idle_ns = IDLE_US * 1000;

    for (unsigned folds = 0; folds < 8; folds++) {
        Rig *rig = rig_new("baseline", NULL, TLC IDLE);
        int64_t part_ns = 1000;

        g_assert_cmpuint(writes_fast(rig, 0, 0), ==, 80);
        /* The last write, past the cache, has just ended. */
        wait_for(rig, idle_ns + folds * fold_ns + part_ns);
        g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, folds);
        /* its data comes while the fold goes on */
        g_assert_cmpuint(writes_fast(rig, 81, fold_ns - part_ns - FW - LINK),
                         ==, (folds + 1) * 8);
        scarp_drain(rig->drive, NULL);
        rig_free(rig);
    }
}

/*
 * A pause in which one plane of two could be emptied: both have folded equally
 * often, so the cache takes as much from each.
 */
static void test_pause_of_planes(void)
{
    const int64_t fold_ns = 8 * MOVE_NS + SLC_ERASE_NS;
    Rig *rig = rig_new("baseline", NULL, TLC IDLE ",geometry.planes_per_die=2,"
                       "ftl.allocation=pcwd");

    g_assert_cmpuint(writes_fast(rig, 0, 0), ==, 2 * 80);
    wait_for(rig, IDLE_US * 1000 + 6 * fold_ns + 1000);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 6);
    g_assert_cmpuint(plane_erases(rig, 0), ==, 3);
    g_assert_cmpuint(plane_erases(rig, 1), ==, 3);
    g_assert_true(scarp_drain(rig->drive, NULL));
    rig_free(rig);
}

/*
 * A fold gives a block of a dynamic cache back, but its copies take a third of
 * one. The write behind the cliff has opened a real block, too.
 */
static void test_pause_dynamic(void)
{
    const int64_t fold_ns = 8 * MOVE_NS + SLC_ERASE_NS;
    const unsigned blocks = BLOCKS - RESERVED;

    for (unsigned folds = 0; folds < 12; folds++) {
        Rig *rig = rig_new("baseline", NULL,
                           TLC DYNAMIC ",slc.fold_idle_us=10000");
        unsigned folded = folds + 1, real = 1 + (folded + 2) / 3;
        int64_t part_ns = 1000;

        g_assert_cmpuint(writes_fast(rig, 0, 0), ==, blocks * 8);
        wait_for(rig, IDLE_US * 1000 + folds * fold_ns + part_ns);
        g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, folds);
        g_assert_cmpuint(writes_fast(rig, blocks * 8 + 1,
                                     fold_ns - part_ns - FW - LINK), ==,
                         folded > real ? (folded - real) * 8 : 0);
        scarp_drain(rig->drive, NULL);
        rig_free(rig);
    }
}

/* A shorter pause folds nothing. */
static void test_short_pause(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC IDLE);

    g_assert_cmpuint(writes_fast(rig, 0, 0), ==, 80);
    /* the write comes to the die just before that folds */
    wait_for(rig, IDLE_US * 1000 - 1 - FW - LINK);
    g_assert_cmpuint(writes_fast(rig, 81, 0), ==, 0);
    g_assert_cmpuint(rig_stats(rig)->gc_page_reads, ==, 0);
    g_assert_true(scarp_drain(rig->drive, NULL));
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 0);
    rig_free(rig);
}

/*
 * Draining does not wait for folds that idle time alone makes due. They come
 * when time goes on.
 */
static void test_drain(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC IDLE);
    int64_t now;

    g_assert_cmpuint(writes_fast(rig, 0, 0), ==, 80);
    now = scarp_now_ns(rig->drive);
    g_assert_true(scarp_drain(rig->drive, NULL));
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, now);
    g_assert_cmpint(scarp_next_event_ns(rig->drive), ==, SCARP_TIME_NEVER);
    wait_for(rig, IDLE_US * 1000 + 10 * (8 * MOVE_NS + SLC_ERASE_NS));
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 10);
    rig_free(rig);
}

static void test_keep(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC IDLE ",slc.keep_blocks=3");
    ScarpCmd old = read_page(55), kept = read_page(56);

    g_assert_cmpuint(writes_fast(rig, 0, 0), ==, 80);
    wait_for(rig, 1000000000);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 7);
    g_assert_cmpint(rig_do(rig, &old), ==, REAL_READ);
    g_assert_cmpint(rig_do(rig, &kept), ==, SLC_READ);
    rig_free(rig);
}

/* ---- Wear --------------------------------------------------------------- */

/*
 * The only static block is erased for each block that the host writes. After
 * each second erase it is worn out, and a free block takes its place.
 */
static void test_wear_static(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC FOLD ",slc.static_blocks=1,"
                       "nand.endurance_erases=1000,slc.endurance_erases=2");

    rig_fill(rig, 0, 8);
    for (unsigned erases = 1; erases <= 9; erases++) {
        rig_fill(rig, 0, 8);
        g_assert_cmpuint(slc_of(rig)->slc_erases, ==, erases);
        g_assert_cmpuint(rig_stats(rig)->erases, ==, erases);
        g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, erases / 2);
        /* of 64 blocks of two erases */
        g_assert_cmpuint(scarp_used_percent(rig->drive), ==,
                         erases * 100 / (64 * 2));
        g_assert_true(scarp_check(rig->drive, NULL));
    }
    rig_free(rig);
}

/*
 * Erases of both modes add up in a block. Of a dynamic cache of one block the
 * host's writes erase each free block in turn, in SLC mode and in the real one.
 */
static void test_wear_dynamic(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ",slc.most_blocks=1,"
                       "nand.endurance_erases=30,slc.endurance_erases=100");
    uint64_t in_real, in_slc;

    for (unsigned i = 0; i < 60; i++) {
        rig_fill(rig, 0, 100);
    }
    in_slc = slc_of(rig)->slc_erases;
    in_real = rig_stats(rig)->erases - in_slc;
    g_assert_cmpuint(in_slc, >, 0);
    g_assert_cmpuint(in_real, >, 64);
    g_assert_cmpuint(scarp_used_percent(rig->drive), ==,
                     (in_real * 100 + in_slc * 30) * 100 / (64 * 30 * 100));
    rig_free(rig);
}

/* ---- What is refused ---------------------------------------------------- */

static void refused(const char *overrides, const char *says)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "baseline", .overrides = overrides, .seed = 1,
    };
    g_autoptr(GError) error = NULL;

    g_assert_null(scarp_drive_new(&config, &error));
    if (!strstr(error->message, says) || strchr(error->message, '\n')) {
        g_error("'%s' does not say '%s'", error->message, says);
    }
}

static void test_refused(void)
{
    refused("slc.dynamic=1", "slc.dynamic=1: needs nand.cell_bits");
    refused("nand.cell_bits=3,slc.dynamic=1",
            "needs geometry.pages_per_block to be a multiple");
    refused(TLC, "timing.slc_read_ns=30000: needs an SLC cache");
    refused("slc.full=fold", "slc.full=fold: needs an SLC cache");
    refused("slc.full=other", "slc.full=other: allowed are direct fold");
    refused(TLC DYNAMIC ",timing.slc_program_ns=0",
            "slc.dynamic=1: needs timing.slc_read_ns");
    refused(TLC DYNAMIC ",ftl.mapping=fast", "needs ftl.mapping=page or demand");
    refused(TLC DYNAMIC ",ftl.mapping=block", "needs ftl.mapping=page or demand");
    refused(TLC DYNAMIC ",ftl.mapping=superblock", "needs ftl.mapping=page or demand");
    refused(TLC DYNAMIC ",ftl.parity_width=2,geometry.channels=2",
            "needs ftl.parity_width=0");
    refused(TLC DYNAMIC ",nand.power_cuts=1,ftl.recovery=1,"
            "ftl.paired_pages=pad,geometry.pages_per_block=3",
            "at least 2 * nand.cell_bits");
    refused(TLC DYNAMIC ",nand.endurance_erases=5",
            "slc.dynamic=1: needs nand.endurance_erases and "
            "slc.endurance_erases either both 0 or both above 0");
    refused(TLC DYNAMIC ",slc.endurance_erases=5", "nand.endurance_erases");
    refused(TLC FOLD ",slc.static_blocks=1,ftl.streams=2",
            "slc.static_blocks=1: with slc.full=fold it must be at least "
            "ftl.streams");
    refused(TLC FOLD DYNAMIC ",slc.most_blocks=1,ftl.streams=2",
            "slc.most_blocks=1");
    refused(TLC ",slc.static_blocks=1", "slc.fold_idle_us=0");
    refused(TLC ",slc.static_blocks=64,slc.fold_idle_us=1",
            "slc.static_blocks=64: must be less");
    refused(TLC ",slc.static_blocks=60,slc.fold_idle_us=1",
            "(slc.static_blocks)");
    refused(TLC DYNAMIC ",ftl.over_provisioning_permille=100",
            "(slc.dynamic=1)");
    refused(TLC DYNAMIC ",slc.fold_planes=2", "slc.fold_planes=2");
    refused(TLC ",slc.static_blocks=1,slc.fold_idle_us=1,slc.most_blocks=3",
            "slc.most_blocks=3: with slc.dynamic=0");
    refused("slc.endurance_erases=1",
            "slc.endurance_erases=1: needs an SLC cache");
}

static void test_refused_schemes(void)
{
    static const char *const schemes[] = { "hios-1", "hios-2" };

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        Rig *rig = rig_new("baseline", NULL,
                           TLC DYNAMIC ",geometry.planes_per_die=2");
        g_autoptr(GError) error = NULL;

        g_assert_false(scarp_drive_set_scheme(rig->drive, schemes[i], NULL,
                                              &error));
        g_assert_nonnull(strstr(error->message, "slc.dynamic=0"));
        rig_free(rig);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slc/latencies", test_latencies);
    g_test_add_func("/slc/latencies-direct", test_latencies_direct);
    g_test_add_func("/slc/latencies-of-types", test_latencies_of_types);
    g_test_add_func("/slc/first-cliff", test_first_cliff);
    g_test_add_func("/slc/shrinks", test_shrinks);
    g_test_add_func("/slc/direct", test_direct);
    g_test_add_func("/slc/fold-dynamic", test_fold_dynamic);
    g_test_add_func("/slc/fold-static", test_fold_static);
    g_test_add_func("/slc/fold-causes", test_fold_causes);
    g_test_add_func("/slc/read-behind-fold-read", test_read_behind_fold_read);
    g_test_add_func("/slc/read-behind-fold-program",
                    test_read_behind_fold_program);
    g_test_add_func("/slc/causes-of-collections", test_causes_of_collections);
    g_test_add_func("/slc/causes-without-cache", test_causes_without_cache);
    g_test_add_func("/slc/fold-of-stale", test_fold_of_stale);
    g_test_add_func("/slc/ideal", test_ideal);
    g_test_add_func("/slc/streams", test_streams);
    g_test_add_func("/slc/planes", test_planes);
    g_test_add_func("/slc/planes-in-turn", test_planes_in_turn);
    g_test_add_func("/slc/planes-of-modes", test_planes_of_modes);
    g_test_add_func("/slc/pause", test_pause);
    g_test_add_func("/slc/pause-of-planes", test_pause_of_planes);
    g_test_add_func("/slc/pause-dynamic", test_pause_dynamic);
    g_test_add_func("/slc/short-pause", test_short_pause);
    g_test_add_func("/slc/drain", test_drain);
    g_test_add_func("/slc/keep", test_keep);
    g_test_add_func("/slc/wear-static", test_wear_static);
    g_test_add_func("/slc/wear-dynamic", test_wear_dynamic);
    g_test_add_func("/slc/refused", test_refused);
    g_test_add_func("/slc/refused-schemes", test_refused_schemes);
    return g_test_run();
}
