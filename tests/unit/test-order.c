/*
 * Who goes first at a die and on a channel: controller.reads_first,
 * controller.reads_first_limit, controller.gc_first_on_channel, gc.after_reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#define ONE_DIE "geometry.channels=1,geometry.dies_per_chip=1"
#define BUSY_CHANNEL "geometry.channels=1,geometry.chips_per_channel=8," \
                     "timing.channel_mts=40"

enum { COMMANDS = 1200 };

/* ---- Reads and programs of a die ------------------------------------------ */

/*
 * A program runs, and the data of another one came before a read.  When the
 * read ends after the first program.
 */
static int64_t read_after_ns(const char *overrides, int64_t *second_ns)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    ScarpCmd first = write_page(1), second = write_page(2);
    ScarpCmd read = read_page(0);
    int64_t now_ns;

    rig_write(rig, 0);
    now_ns = scarp_now_ns(rig->drive);
    scarp_submit(rig->drive, &first, now_ns + 1);
    scarp_submit(rig->drive, &second, now_ns + 2);
    scarp_submit(rig->drive, &read, now_ns + 2 + 2 * LINK);
    rig_drain(rig);
    g_assert_cmpint(latency(&first), ==, FW + LINK + CMD + BUS + TPROG);
    latency(&second);
    latency(&read);
    *second_ns = second.complete_ns - first.complete_ns;
    rig_free(rig);
    return read.complete_ns - first.complete_ns;
}

static void test_reads_first(void)
{
    const int64_t read_ns = CMD + TR + BUS, program_ns = CMD + BUS + TPROG;
    int64_t second_ns;

    g_assert_cmpint(read_after_ns(ONE_DIE, &second_ns), ==, read_ns + LINK);
    g_assert_cmpint(second_ns, ==, read_ns + program_ns);
    g_assert_cmpint(read_after_ns(ONE_DIE ",controller.reads_first=0",
                                  &second_ns), ==,
                    program_ns + read_ns + LINK);
    g_assert_cmpint(second_ns, ==, program_ns);
}

enum { READS = 200 };

/* So many of READS that came to a die at once end before a write does. */
static unsigned reads_before_write(const char *overrides, int64_t reads_at_ns)
{
    g_autofree char *keys = g_strconcat(ONE_DIE, overrides, NULL);
    Rig *rig = rig_new("baseline", NULL, keys);
    ScarpCmd write = write_page(1), read[READS];
    unsigned n = 0;
    int64_t now_ns;

    rig_write(rig, 0);
    now_ns = scarp_now_ns(rig->drive);
    scarp_submit(rig->drive, &write, now_ns + 1);
    for (unsigned i = 0; i < READS; i++) {
        read[i] = read_page(0);
        scarp_submit(rig->drive, &read[i], now_ns + reads_at_ns + i);
    }
    rig_drain(rig);
    latency(&write);
    for (unsigned i = 0; i < READS; i++) {
        latency(&read[i]);
        n += read[i].complete_ns < write.complete_ns;
    }
    rig_free(rig);
    return n;
}

static void test_reads_first_limit(void)
{
    const int64_t on_die_ns = FW + LINK + CMD + BUS + TPROG / 2;
    /* The reads come with the write, or while its program runs. */
    const char *const suspends = ",nand.suspend_program=1,nand.suspend_limit=1"
                                 ",nand.suspend_min_ns=1";
    g_autofree char *both = g_strconcat(suspends,
                                        ",controller.reads_first_limit=5",
                                        NULL);

    g_assert_cmpuint(reads_before_write("", 1), ==, READS);
    g_assert_cmpuint(reads_before_write(",controller.reads_first_limit=1000",
                                        1), ==, READS);
    g_assert_cmpuint(reads_before_write(",controller.reads_first_limit=5", 1),
                     ==, 6);
    g_assert_cmpuint(reads_before_write(",controller.reads_first_limit=1", 1),
                     ==, 2);
    g_assert_cmpuint(reads_before_write("", on_die_ns), ==, 0);
    g_assert_cmpuint(reads_before_write(suspends, on_die_ns), ==, READS);
    g_assert_cmpuint(reads_before_write(both, on_die_ns), ==, 5);
}

/* ---- Collections ---------------------------------------------------------- */

/* Bursts of reads and writes, apart_ns from each other, on an aged drive. */
static Rig *collecting(const char *overrides, int64_t apart_ns, ScarpCmd *cmd)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    int64_t begin_ns = 0;

    rig_age(rig, 1000);
    for (unsigned i = 0; i < COMMANDS; i++) {
        uint64_t page = g_rand_int_range(rand, 0, pages);

        if (i % 40 == 0) {
            rig_drain(rig);
            begin_ns = scarp_now_ns(rig->drive) + 1;
        }
        cmd[i] = i % 2 ? read_page(page) : write_page(page);
        scarp_submit(rig->drive, &cmd[i], begin_ns + i % 40 * apart_ns);
    }
    rig_drain(rig);
    g_assert_cmpuint(rig->n_runs, >, 20);
    g_assert_cmpuint(rig->n_ops, <, MAX_OPS);
    return rig;
}

/* Of the same flash command, as phases of a die come in their order. */
static const ScarpFlashOp *data_of(const Rig *rig, unsigned array)
{
    for (unsigned i = array + 1; i < rig->n_ops; i++) {
        if (rig->op[i].f.die == rig->op[array].f.die) {
            return &rig->op[i].f;
        }
    }
    g_assert_not_reached();
}

/* Phases of the host that began while what a collection had read waited. */
static unsigned began_before_gc(const char *overrides)
{
    static ScarpCmd cmd[COMMANDS];
    Rig *rig = collecting(overrides, 0, cmd);
    unsigned n = 0;

    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *array = &rig->op[i].f, *out;

        if (array->kind != SCARP_FLASH_READ ||
            array->origin != SCARP_ORIGIN_GC ||
            array->phase != SCARP_PHASE_ARRAY) {
            continue;
        }
        out = data_of(rig, i);
        g_assert_cmpint(out->phase, ==, SCARP_PHASE_OUT);
        for (unsigned k = 0; k < rig->n_ops; k++) {
            const ScarpFlashOp *host = &rig->op[k].f;

            n += host->origin == SCARP_ORIGIN_HOST &&
                 host->phase != SCARP_PHASE_ARRAY &&
                 host->begin_ns > array->end_ns &&
                 host->begin_ns < out->begin_ns;
        }
    }
    rig_free(rig);
    return n;
}

static void test_gc_first_on_channel(void)
{
    g_assert_cmpuint(began_before_gc(BUSY_CHANNEL), >, 20);
    g_assert_cmpuint(
        began_before_gc(BUSY_CHANNEL ",controller.gc_first_on_channel=1"), ==,
        0);
}

static int64_t begun_ns(const Rig *rig, const ScarpCmd *cmd)
{
    for (unsigned i = 0; i < rig->n_ops; i++) {
        if (rig->op[i].cmd_seq == cmd->seq) {
            return rig->op[i].f.begin_ns;
        }
    }
    return 0; /* nothing was there to be read */
}

/* Collections that began while a read waited; with one die: there. */
static unsigned began_before_reads(const char *overrides)
{
    static ScarpCmd cmd[COMMANDS];
    Rig *rig = collecting(overrides, TPROG / 2, cmd);
    unsigned n = 0;

    for (unsigned i = 1; i < COMMANDS; i += 2) {
        int64_t begin_ns = begun_ns(rig, &cmd[i]);

        for (unsigned k = 0; k < rig->n_runs; k++) {
            n += rig->run[k].begin_ns > cmd[i].submit_ns + FW &&
                 rig->run[k].begin_ns < begin_ns;
        }
    }
    rig_free(rig);
    return n;
}

static void test_after_reads(void)
{
    g_assert_cmpuint(began_before_reads(ONE_DIE), >, 5);
    g_assert_cmpuint(began_before_reads(ONE_DIE ",gc.after_reads=1"), ==, 0);
    /* First come, first served: an older program may need it. */
    g_assert_cmpuint(began_before_reads(ONE_DIE ",gc.after_reads=1,"
                                        "controller.reads_first=0"), >, 5);
}

/* ---- Pages that wait for the rest of their cells --------------------------- */

/*
 * Two planes, and a write of each: the second plane's came first.  Both pages
 * have to wait until their cells are full, and nobody else will fill them.  The
 * die fills them one after the other, and begins with those of the page that
 * waits longest, not with those of the first plane.
 */
static void test_oldest_pad_first(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       ONE_DIE ",geometry.planes_per_die=2,"
                       "nand.power_cuts=1,ftl.recovery=1,nand.cell_bits=2,"
                       "ftl.paired_pages=pad");
    ScarpCmd older = write_page(1), younger = write_page(0);

    scarp_submit(rig->drive, &older, 1);
    scarp_submit(rig->drive, &younger, 1 + PROGRAM_NS / 2);
    rig_drain(rig);
    g_assert_cmpuint(rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST,
                            0)->plane, ==, 1);
    g_assert_cmpuint(rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST,
                            1)->plane, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->pair_pad_pages, ==, 2);
    /* The two pages, then a page without data for each. */
    g_assert_cmpint(older.complete_ns, ==, 1 + FW + LINK + 3 * PROGRAM_NS);
    g_assert_cmpint(younger.complete_ns, ==, older.complete_ns + PROGRAM_NS);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/order/reads-first", test_reads_first);
    g_test_add_func("/order/reads-first-limit", test_reads_first_limit);
    g_test_add_func("/order/gc-first-on-channel", test_gc_first_on_channel);
    g_test_add_func("/order/after-reads", test_after_reads);
    g_test_add_func("/order/pads/oldest-first", test_oldest_pad_first);
    return g_test_run();
}
