/*
 * Suspend and resume: what is suspended really is delayed, to the nanosecond
 * (MQSim's suspension code can never run).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

enum { SUSPEND = 20000, RESUME = 10000, MIN_LEFT = 100000 };

#define READ_DIE (CMD + TR + BUS)
#define BY_READ (SUSPEND + READ_DIE + RESUME) /* the delay of one read */
#define ONE_DIE "geometry.channels=1,geometry.dies_per_chip=1"
#define ON ONE_DIE ",nand.suspend_program=1,nand.suspend_erase=1," \
           "nand.suspend_ns=20000,nand.resume_ns=10000," \
           "nand.suspend_min_ns=100000"

/* A program of page 1 begins at its die at START; its array until END. */
enum { START = FW + LINK, ARRAY = START + CMD + BUS, END = ARRAY + TPROG };

/*
 * Page 0 is on flash.  At 0 page 1 is written; reads of page 0 come to the die
 * at the times given, after that.
 */
static Rig *scene(const char *overrides, ScarpCmd *write, ScarpCmd *reads,
                  const int64_t *at_ns, unsigned n)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    int64_t now;

    rig_fill(rig, 0, 1);
    now = scarp_now_ns(rig->drive) + 1;
    *write = write_page(1);
    scarp_submit(rig->drive, write, now);
    for (unsigned i = 0; i < n; i++) {
        reads[i] = read_page(0);
        scarp_submit(rig->drive, &reads[i], now + at_ns[i] - FW);
    }
    rig_drain(rig);
    latency(write);
    for (unsigned i = 0; i < n; i++) {
        latency(&reads[i]);
    }
    return rig;
}

static void test_program(void)
{
    const int64_t at = 200000;
    ScarpCmd write, read;
    Rig *rig = scene(ON, &write, &read, &at, 1);

    g_assert_cmpint(latency(&read), ==, FW + SUSPEND + READ_DIE + LINK);
    g_assert_cmpint(read.cause_ns[SCARP_CAUSE_DIE_SUSPEND], ==, SUSPEND);
    g_assert_cmpint(latency(&write), ==, END + BY_READ);
    g_assert_cmpint(write.cause_ns[SCARP_CAUSE_SUSPENDED], ==, BY_READ);
    g_assert_cmpint(write.cause_ns[SCARP_CAUSE_ARRAY], ==, TPROG);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 1);
    rig_free(rig);
}

static void test_off(void)
{
    const int64_t at = 200000;
    ScarpCmd write, read;
    Rig *rig = scene(ON ",nand.suspend_program=0", &write, &read, &at, 1);

    g_assert_cmpint(latency(&write), ==, END);
    g_assert_cmpint(latency(&read), ==, FW + (END - at) + READ_DIE + LINK);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 0);
    rig_free(rig);
}

/* Reads that wait together are served in one suspension. */
static void test_two_reads(void)
{
    const int64_t at[] = { 200000, 200000 };
    ScarpCmd write, read[2];
    Rig *rig = scene(ON, &write, read, at, 2);

    g_assert_cmpint(latency(&read[1]), ==, FW + SUSPEND + 2 * READ_DIE + LINK);
    g_assert_cmpint(latency(&write), ==, END + BY_READ + READ_DIE);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 1);
    rig_free(rig);
}

/* Checked builds count what came once too often; others have no marks. */
static void expect_limit_reached(const Rig *rig, uint64_t times)
{
    if (scarp_mark_count()) {
        g_assert_cmpuint(mark_times(rig, "suspend_limit_reached"), ==, times);
    }
}

/* A read has gone before the program, as many as may: the next one waits. */
static void test_reads_first_limit(void)
{
    const int64_t at[] = { 200000, 400000 };
    ScarpCmd write, read[2];
    Rig *rig = scene(ON ",controller.reads_first_limit=1", &write, read, at, 2);

    g_assert_cmpint(latency(&write), ==, END + BY_READ);
    g_assert_cmpint(latency(&read[1]), ==,
                    FW + (END + BY_READ - at[1]) + READ_DIE + LINK);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 1);
    rig_free(rig);
    rig = scene(ON, &write, read, at, 2);
    g_assert_cmpint(latency(&write), ==, END + 2 * BY_READ);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 2);
    rig_free(rig);
}

/* The second time is once too often. */
static void test_limit(void)
{
    const int64_t at[] = { 200000, 400000 };
    ScarpCmd write, read[2];
    Rig *rig = scene(ON ",nand.suspend_limit=1", &write, read, at, 2);

    g_assert_cmpint(latency(&write), ==, END + BY_READ);
    g_assert_cmpint(latency(&read[1]), ==,
                    FW + (END + BY_READ - at[1]) + READ_DIE + LINK);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 1);
    expect_limit_reached(rig, 1);
    rig_free(rig);

    rig = scene(ON ",nand.suspend_limit=2", &write, read, at, 2);
    g_assert_cmpint(latency(&write), ==, END + 2 * BY_READ);
    g_assert_cmpint(latency(&read[1]), ==, FW + SUSPEND + READ_DIE + LINK);
    g_assert_cmpuint(rig_stats(rig)->suspends, ==, 2);
    expect_limit_reached(rig, 0);
    rig_free(rig);
}

/* Not when less than suspend_min_ns is left; with exactly that, it is. */
static void test_min_left(void)
{
    const int64_t just = END - MIN_LEFT, late = just + 1;
    ScarpCmd write, read;
    Rig *rig = scene(ON, &write, &read, &just, 1);

    g_assert_cmpint(latency(&write), ==, END + BY_READ);
    rig_free(rig);
    rig = scene(ON, &write, &read, &late, 1);
    g_assert_cmpint(latency(&write), ==, END);
    g_assert_cmpint(latency(&read), ==,
                    FW + MIN_LEFT - 1 + READ_DIE + LINK);
    rig_free(rig);
}

/*
 * A read that comes while the data are loaded, or while the array resumes,
 * waits until the array works, and no longer.
 */
static void test_between(void)
{
    const int64_t loading = START + 100;
    const int64_t resuming[] = { 200000, 200000 + SUSPEND + READ_DIE + 1 };
    ScarpCmd write, read[2];
    Rig *rig = scene(ON, &write, read, &loading, 1);

    g_assert_cmpint(latency(&read[0]), ==,
                    FW + (ARRAY - loading) + SUSPEND + READ_DIE + LINK);
    g_assert_cmpint(latency(&write), ==, END + BY_READ);
    rig_free(rig);
    rig = scene(ON, &write, read, resuming, 2);
    g_assert_cmpint(latency(&read[1]), ==,
                    FW + RESUME - 1 + SUSPEND + READ_DIE + LINK);
    g_assert_cmpint(latency(&write), ==, END + 2 * BY_READ);
    rig_free(rig);
}

/* Not with a command behind it; that is suspended when its turn has come. */
static void test_cache(void)
{
    Rig *rig = rig_new("baseline", NULL, ON ",nand.cache=1");
    ScarpCmd write[2] = { write_page(1), write_page(2) };
    ScarpCmd read = read_page(0);
    int64_t now;

    rig_fill(rig, 0, 1);
    now = scarp_now_ns(rig->drive) + 1;
    scarp_submit(rig->drive, &write[0], now);
    scarp_submit(rig->drive, &write[1], now);
    scarp_submit(rig->drive, &read, now + 200000 - FW);
    rig_drain(rig);
    g_assert_cmpint(latency(&write[0]), ==, END);
    g_assert_cmpint(latency(&read), ==,
                    FW + (END - 200000) + SUSPEND + READ_DIE + LINK);
    g_assert_cmpint(latency(&write[1]), ==, END + TPROG + BY_READ);
    rig_free(rig);
}

/* Both planes of a multi-plane program stand still, and both are delayed. */
static void test_multiplane(void)
{
    Rig *rig = rig_new("baseline", NULL, ON ",geometry.planes_per_die=2,"
                       "nand.multiplane=1");
    ScarpCmd busy = read_page(0), write[2] = { write_page(2), write_page(3) };
    ScarpCmd read = read_page(0);
    int64_t now, end = FW + READ_DIE + 2 * (CMD + BUS) + TPROG;

    rig_fill(rig, 0, 2);
    now = scarp_now_ns(rig->drive) + 1;
    scarp_submit(rig->drive, &busy, now);
    scarp_submit(rig->drive, &write[0], now);
    scarp_submit(rig->drive, &write[1], now);
    scarp_submit(rig->drive, &read, now + 400000);
    rig_drain(rig);
    g_assert_cmpint(latency(&read), ==, FW + SUSPEND + READ_DIE + LINK);
    g_assert_cmpint(latency(&write[0]), ==, end + BY_READ);
    g_assert_cmpint(latency(&write[1]), ==, end + BY_READ);
    rig_free(rig);
}

/* Writes until a collection has come; its erase's array time, on the clock. */
static Rig *until_erase(const char *overrides, int64_t read_at_ns,
                        ScarpCmd *read, const ScarpFlashOp **first,
                        const ScarpFlashOp **last)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    ScarpCmd write[40];

    rig_age(rig, 900);
    for (unsigned i = 0; i < 40; i++) {
        write[i] = write_page(i * 7);
        scarp_submit(rig->drive, &write[i], 0);
    }
    if (read) {
        *read = read_page(300);
        scarp_submit(rig->drive, read, read_at_ns - FW);
    }
    rig_drain(rig);
    *first = *last = NULL;
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (op->kind == SCARP_FLASH_ERASE && op->phase == SCARP_PHASE_ARRAY &&
            (!*first || op->block == (*first)->block)) {
            *first = *first ? *first : op;
            *last = op;
        }
    }
    return rig;
}

/* A read in the middle of a collection's erase. */
static void test_erase(void)
{
    const ScarpFlashOp *first, *last;
    ScarpCmd read;
    Rig *rig = until_erase(ON, 0, NULL, &first, &last);
    int64_t begin = first->begin_ns, end = first->end_ns, at = begin + 1000000;

    g_assert_cmpint(end - begin, ==, TBERS);
    rig_free(rig);

    rig = until_erase(ON, at, &read, &first, &last);
    g_assert_cmpint(first->begin_ns, ==, begin);
    g_assert_cmpint(first->end_ns, ==, at);
    g_assert_cmpint(last->begin_ns, ==, at + BY_READ);
    g_assert_cmpint(last->end_ns, ==, end + BY_READ);
    g_assert_cmpint(latency(&read), ==, FW + SUSPEND + READ_DIE + LINK);
    rig_free(rig);

    rig = until_erase(ON ",nand.suspend_erase=0", at, &read, &first, &last);
    g_assert_cmpint(last->end_ns, ==, end);
    g_assert_cmpint(latency(&read), >=, FW + (end - at) + READ_DIE + LINK);
    g_assert_cmpint(read.cause_ns[SCARP_CAUSE_DIE_ERASE], ==, end - at);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/suspend/program", test_program);
    g_test_add_func("/suspend/off", test_off);
    g_test_add_func("/suspend/two-reads", test_two_reads);
    g_test_add_func("/suspend/limit", test_limit);
    g_test_add_func("/suspend/reads-first-limit", test_reads_first_limit);
    g_test_add_func("/suspend/min-left", test_min_left);
    g_test_add_func("/suspend/between", test_between);
    g_test_add_func("/suspend/cache", test_cache);
    g_test_add_func("/suspend/multiplane", test_multiplane);
    g_test_add_func("/suspend/erase", test_erase);
    return g_test_run();
}
