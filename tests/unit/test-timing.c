/*
 * Flash commands to the nanosecond: sums computed by hand from docs/model.md,
 * with the constants of helpers.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#define READ_DIE (CMD + TR + BUS)      /* what a page read holds its die */
#define PROGRAM_DIE (CMD + BUS + TPROG)
#define ONE_DIE "geometry.channels=1,geometry.dies_per_chip=1"
#define TWO_PLANES ONE_DIE ",geometry.planes_per_die=2"

/* n commands at once, after all that went before. */
static void together(Rig *rig, ScarpCmd *cmds, unsigned n)
{
    int64_t now;

    rig_drain(rig);
    now = scarp_now_ns(rig->drive) + 1;
    for (unsigned i = 0; i < n; i++) {
        scarp_submit(rig->drive, &cmds[i], now);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < n; i++) {
        latency(&cmds[i]);
    }
}

/* The second is sensed while the first is carried: its array starts earlier. */
static void test_cache_read(void)
{
    for (int cache = 0; cache < 2; cache++) {
        Rig *rig = rig_new("baseline", NULL,
                           cache ? ONE_DIE ",nand.cache=1" : ONE_DIE);
        ScarpCmd cmd[2] = { read_page(0), read_page(1) };

        rig_fill(rig, 0, 2);
        together(rig, cmd, 2);
        g_assert_cmpint(latency(&cmd[0]), ==,
                        FW + CMD + TR + (cache ? CMD : 0) + BUS + LINK);
        g_assert_cmpint(latency(&cmd[1]), ==,
                        FW + CMD + TR + (cache ? 0 : BUS) + CMD + TR + BUS +
                            LINK);
        rig_free(rig);
    }
}

/* The second's data are loaded while the first is programmed. */
static void test_cache_program(void)
{
    for (int cache = 0; cache < 2; cache++) {
        Rig *rig = rig_new("baseline", NULL,
                           cache ? ONE_DIE ",nand.cache=1" : ONE_DIE);
        ScarpCmd cmd[3] = { write_page(0), write_page(1), write_page(2) };

        together(rig, cmd, 3);
        for (int i = 0; i < 3; i++) {
            g_assert_cmpint(latency(&cmd[i]), ==,
                            FW + LINK + PROGRAM_DIE +
                                i * (cache ? TPROG : PROGRAM_DIE));
        }
        rig_free(rig);
    }
}

/* One command after the other on the bus, the array times together. */
static void test_multiplane_read(void)
{
    for (int multi = 0; multi < 2; multi++) {
        Rig *rig = rig_new("baseline", NULL,
                           multi ? TWO_PLANES ",nand.multiplane=1"
                                 : TWO_PLANES);
        /* Pages 0 and 1 are the first of their planes; 2 keeps the die busy. */
        ScarpCmd cmd[3] = { read_page(2), read_page(0), read_page(1) };

        rig_fill(rig, 0, 4);
        together(rig, cmd, 3);
        g_assert_cmpint(latency(&cmd[0]), ==, FW + READ_DIE + LINK);
        if (multi) {
            g_assert_cmpint(latency(&cmd[1]), ==,
                            FW + READ_DIE + 2 * CMD + TR + BUS + LINK);
            g_assert_cmpint(latency(&cmd[2]), ==,
                            FW + READ_DIE + 2 * CMD + TR + 2 * BUS + LINK);
        } else {
            g_assert_cmpint(latency(&cmd[1]), ==, FW + 2 * READ_DIE + LINK);
            g_assert_cmpint(latency(&cmd[2]), ==, FW + 3 * READ_DIE + LINK);
        }
        g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, multi);
        rig_free(rig);
    }
}

/* Another page offset is another command. */
static void test_multiplane_offset(void)
{
    Rig *rig = rig_new("baseline", NULL, TWO_PLANES ",nand.multiplane=1");
    ScarpCmd cmd[3] = { read_page(2), read_page(0), read_page(3) };

    rig_fill(rig, 0, 4);
    together(rig, cmd, 3);
    g_assert_cmpint(latency(&cmd[2]), ==, FW + 3 * READ_DIE + LINK);
    g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, 0);
    rig_free(rig);
}

static void test_multiplane_program(void)
{
    for (int multi = 0; multi < 2; multi++) {
        Rig *rig = rig_new("baseline", NULL,
                           multi ? TWO_PLANES ",nand.multiplane=1"
                                 : TWO_PLANES);
        /* The read keeps the die busy until both data have arrived. */
        ScarpCmd cmd[3] = { read_page(0), write_page(2), write_page(3) };
        int64_t first = FW + READ_DIE;

        rig_fill(rig, 0, 2);
        together(rig, cmd, 3);
        if (multi) {
            g_assert_cmpint(latency(&cmd[1]), ==,
                            first + 2 * (CMD + BUS) + TPROG);
            g_assert_cmpint(latency(&cmd[2]), ==, latency(&cmd[1]));
        } else {
            g_assert_cmpint(latency(&cmd[1]), ==, first + PROGRAM_DIE);
            g_assert_cmpint(latency(&cmd[2]), ==, first + 2 * PROGRAM_DIE);
        }
        g_assert_cmpuint(rig_stats(rig)->multiplane_groups, ==, multi);
        rig_free(rig);
    }
}

/* Random single-page writes on an aged drive, one at a time. */
static void churn(Rig *rig, unsigned writes, unsigned permille)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    for (uint64_t i = 0; i < writes; i++) {
        rig_write(rig, i * 7919 % (pages * permille / 1000));
    }
}

/* A phase of the same command on the other plane. */
static const ScarpFlashOp *mate_of(const Rig *rig, const ScarpFlashOp *op)
{
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *other = &rig->op[i].f;

        if (other->kind == op->kind && other->phase == op->phase &&
            other->plane == 1 - op->plane && other->begin_ns == op->begin_ns) {
            return other;
        }
    }
    return NULL;
}

/*
 * The collections of a die's planes together: their reads, programs and erases
 * share array times, if kind and page offset are the same.
 */
static void test_multiplane_gc(void)
{
    static const int64_t array[] = { TR, TPROG, TBERS };
    Rig *rig = rig_new("pagc", NULL, TWO_PLANES ",nand.multiplane=1");
    unsigned shared[3] = { 0 };

    rig_age(rig, 900);
    churn(rig, 400, 900);
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f, *mate;

        if (op->origin != SCARP_ORIGIN_GC || op->phase != SCARP_PHASE_ARRAY) {
            continue;
        }
        g_assert_cmpint(op->end_ns - op->begin_ns, ==, array[op->kind]);
        mate = mate_of(rig, op);
        g_assert_true(op->multiplane == (mate != NULL));
        if (mate) {
            g_assert_cmpint(mate->end_ns, ==, op->end_ns);
            g_assert_cmpuint(mate->page, ==, op->page);
            shared[op->kind]++;
        }
    }
    for (int kind = 0; kind < 3; kind++) {
        g_assert_cmpuint(shared[kind], >=, 2);
    }
    rig_free(rig);
}

/* GC's page: tR, command, tPROG, and nothing but two commands on the bus. */
static void test_copyback(void)
{
    for (int copyback = 0; copyback < 2; copyback++) {
        Rig *rig = rig_new("baseline", NULL,
                           copyback ? ONE_DIE ",nand.copyback=1" : ONE_DIE);
        const ScarpGcRun *run;

        rig_age(rig, 900);
        churn(rig, 100, 900);
        g_assert_cmpuint(rig->n_runs, >, 2);
        run = &rig->run[1];
        /* Nobody else is there: the run is the sum of its commands. */
        g_assert_cmpint(run->end_ns - run->begin_ns, ==,
                        run->moved_units *
                            (copyback ? CMD + TR + CMD + TPROG
                                      : READ_DIE + PROGRAM_DIE) +
                            CMD + TBERS);
        g_assert_cmpuint(run->moved_units, >, 0);
        g_assert_cmpuint(rig_stats(rig)->copybacks > 0, ==, copyback);
        for (unsigned i = 0; copyback && i < rig->n_ops; i++) {
            const ScarpFlashOp *op = &rig->op[i].f;

            if (op->kind == SCARP_FLASH_COPYBACK) {
                g_assert_cmpint(op->end_ns - op->begin_ns, ==,
                                op->phase == SCARP_PHASE_IN ? CMD
                                                            : TR + CMD + TPROG);
            }
        }
        rig_free(rig);
    }
}

/* Page i of a block has type i mod 3. */
static void test_page_types(void)
{
    static const int64_t read_ns[] = { 50000, 70000, 110000 };
    static const int64_t program_ns[] = { 500000, 1500000, 4000000 };
    Rig *rig = rig_new("baseline", NULL, ONE_DIE ",nand.cell_bits=3,"
                       "timing.read_ns=50000;70000;110000,"
                       "timing.program_ns=500000;1500000;4000000");

    for (uint64_t i = 0; i < 32; i++) { /* two blocks of 16 pages */
        g_assert_cmpint(rig_write(rig, i), ==,
                        FW + LINK + CMD + BUS + program_ns[i % 16 % 3]);
    }
    for (uint64_t i = 0; i < 32; i++) {
        ScarpCmd cmd = read_page(i);

        g_assert_cmpint(rig_do(rig, &cmd), ==,
                        FW + CMD + read_ns[i % 16 % 3] + BUS + LINK);
    }
    rig_free(rig);
}

/* A command behind another keeps the array time of its own page. */
static void test_cache_page_types(void)
{
    static const int64_t read_ns[] = { 50000, 110000 };
    static const int64_t program_ns[] = { 500000, 4000000 };
    Rig *rig = rig_new("baseline", NULL, ONE_DIE ",nand.cell_bits=2,"
                       "nand.cache=1,timing.read_ns=50000;110000,"
                       "timing.program_ns=500000;4000000");
    ScarpCmd write[4] = { write_page(0), write_page(1), write_page(2),
                          write_page(3) };
    int64_t programs_ns = 0;

    together(rig, write, 4);
    for (int i = 0; i < 4; i++) {
        programs_ns += program_ns[i % 2];
        g_assert_cmpint(latency(&write[i]), ==,
                        FW + LINK + CMD + BUS + programs_ns);
        g_assert_cmpint(write[i].cause_ns[SCARP_CAUSE_ARRAY], ==,
                        program_ns[i % 2]);
    }
    for (int first = 0; first < 2; first++) {
        ScarpCmd read[2] = { read_page(first), read_page(!first) };

        together(rig, read, 2);
        g_assert_cmpint(latency(&read[1]), ==,
                        FW + CMD + read_ns[first] + CMD + read_ns[!first] +
                            BUS + LINK);
        g_assert_cmpint(read[1].cause_ns[SCARP_CAUSE_ARRAY], ==,
                        read_ns[!first]);
    }
    rig_free(rig);
}

/* 16 pages in 4 layers, the first at half, the last at one and a half. */
static void test_layers(void)
{
    static const int64_t permille[] = { 500, 833, 1166, 1500 };
    Rig *rig = rig_new("baseline", NULL, ONE_DIE ",nand.layers=4,"
                       "nand.layer_fastest_permille=500,"
                       "nand.layer_slowest_permille=1500");

    for (uint64_t i = 0; i < 16; i++) {
        ScarpCmd cmd = read_page(i);
        int64_t factor = permille[i / 4];

        g_assert_cmpint(rig_write(rig, i), ==,
                        FW + LINK + CMD + BUS + TPROG * factor / 1000);
        g_assert_cmpint(rig_do(rig, &cmd), ==,
                        FW + CMD + TR * factor / 1000 + BUS + LINK);
    }
    rig_free(rig);
}

/* Two dies of a channel: arrays together, transfers one after the other. */
static void test_channel(void)
{
    Rig *rig = rig_new("baseline", NULL, "geometry.channels=1");
    ScarpCmd cmd[2] = { read_page(0), read_page(1) };

    rig_fill(rig, 0, 2);
    together(rig, cmd, 2);
    g_assert_cmpint(latency(&cmd[0]), ==, FW + READ_DIE + LINK);
    /* Its command waits for the first's, its data for the first's data. */
    g_assert_cmpint(latency(&cmd[1]), ==, FW + CMD + TR + 2 * BUS + LINK);
    g_assert_cmpint(cmd[1].cause_ns[SCARP_CAUSE_CHANNEL], ==, BUS);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timing/cache-read", test_cache_read);
    g_test_add_func("/timing/cache-program", test_cache_program);
    g_test_add_func("/timing/multiplane/read", test_multiplane_read);
    g_test_add_func("/timing/multiplane/offset", test_multiplane_offset);
    g_test_add_func("/timing/multiplane/program", test_multiplane_program);
    g_test_add_func("/timing/multiplane/gc", test_multiplane_gc);
    g_test_add_func("/timing/copyback", test_copyback);
    g_test_add_func("/timing/page-types", test_page_types);
    g_test_add_func("/timing/cache-page-types", test_cache_page_types);
    g_test_add_func("/timing/layers", test_layers);
    g_test_add_func("/timing/channel", test_channel);
    return g_test_run();
}
