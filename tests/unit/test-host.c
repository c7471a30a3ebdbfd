/*
 * The host path: device slots, host queue policies, what they may ask.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

/* All at once; the index of each in the order of completion. */
static void submit_all(Rig *rig, ScarpCmd *cmds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        scarp_submit(rig->drive, &cmds[i], scarp_now_ns(rig->drive));
    }
    rig_drain(rig);
    for (unsigned i = 0; i < n; i++) {
        latency(&cmds[i]); /* causes sum */
    }
}

/* How many of cmds the device has begun before this one: its turn, from 0. */
static unsigned turn_of(const ScarpCmd *cmds, unsigned n, unsigned which)
{
    unsigned turn = 0;

    for (unsigned i = 0; i < n; i++) {
        turn += cmds[i].submit_ns + cmds[i].cause_ns[SCARP_CAUSE_HOST_QUEUE] <
                cmds[which].submit_ns +
                    cmds[which].cause_ns[SCARP_CAUSE_HOST_QUEUE];
    }
    return turn;
}

static void expect_turns(const ScarpCmd *cmds, unsigned n,
                         const unsigned *turns)
{
    for (unsigned i = 0; i < n; i++) {
        g_test_message("command %u", i);
        g_assert_cmpuint(turn_of(cmds, n, i), ==, turns[i]);
    }
}

/* A window of N: the N + 1st waits for the first to end, to the nanosecond. */
static void test_slots(gconstpointer data)
{
    unsigned slots = GPOINTER_TO_UINT(data);
    g_autofree char *overrides =
        g_strdup_printf("controller.slots=%u", slots);
    Rig *rig = rig_new("baseline", NULL, overrides);
    ScarpCmd cmd[12];

    for (unsigned i = 0; i < 12; i++) { /* unmapped: the link alone */
        cmd[i] = read_page(i);
    }
    submit_all(rig, cmd, 12);
    for (unsigned i = 0; i < 12; i++) {
        /* A slot is kept until the link has carried the data. */
        unsigned waits = i < slots ? 0 : i - slots + 1;

        g_assert_cmpint(cmd[i].cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                        waits * LINK);
        g_assert_cmpint(latency(&cmd[i]), ==, FW + (i + 1) * LINK);
        g_assert_cmpint(cmd[i].cause_ns[SCARP_CAUSE_LINK], ==,
                        (i + 1 - waits) * LINK);
    }
    rig_free(rig);
}

#define ONE_SLOT "controller.slots=1"

static void test_noop(void)
{
    Rig *rig = rig_new("noop", NULL, ONE_SLOT);
    ScarpCmd cmd[] = { write_page(9), read_page(5), write_page(1),
                       read_page(3) };

    submit_all(rig, cmd, 4);
    expect_turns(cmd, 4, (const unsigned[]) { 0, 1, 2, 3 });
    rig_free(rig);
}

/* Batches by address, reads before writes, a flush before all. */
static void test_deadline_order(void)
{
    Rig *rig = rig_new("deadline", NULL, ONE_SLOT);
    ScarpCmd cmd[] = {
        write_page(50), /* has the slot at once */
        write_page(40), read_page(30), write_page(60), read_page(10),
        read_page(20), cmd_of(SCARP_OP_FLUSH, 0, 0),
    };

    submit_all(rig, cmd, 7);
    /*
     * The flush, which takes no time; 60 goes on where 50 ended, in the same
     * batch of writes; then the reads by address, and what is left.
     */
    expect_turns(cmd, 7, (const unsigned[]) { 0, 6, 5, 1, 3, 4, 1 });
    rig_free(rig);
}

/* Reads that keep coming pass writes in two batches, not in a third. */
static void test_deadline_starved(void)
{
    Rig *rig = rig_new("deadline", "fifo_batch=2,writes_starved=2", ONE_SLOT);
    ScarpCmd cmd[10];

    cmd[0] = read_page(100);
    cmd[1] = write_page(7);
    for (unsigned i = 2; i < 10; i++) {
        cmd[i] = read_page(100 + i);
    }
    submit_all(rig, cmd, 10);
    /*
     * 0 alone makes a batch of one, which the next read fills; then two
     * batches of two, and the write.
     */
    expect_turns(cmd, 10, (const unsigned[]) { 0, 6, 1, 2, 3, 4, 5, 7, 8, 9 });
    rig_free(rig);
}

/* A late command begins the next batch: by its own deadline, or its kind's. */
static void test_deadline_late(void)
{
    for (int own = 0; own < 2; own++) {
        Rig *rig = rig_new("deadline", own ? "fifo_batch=1"
                                           : "fifo_batch=1,read_deadline_us=1",
                           ONE_SLOT);
        ScarpCmd cmd[] = { read_page(5), read_page(9), read_page(6),
                           read_page(7) };

        cmd[1].deadline_ns = own ? 1 : SCARP_TIME_NEVER;
        submit_all(rig, cmd, 4);
        if (own) { /* one command was late, the oldest, then by address */
            expect_turns(cmd, 4, (const unsigned[]) { 0, 1, 2, 3 });
        } else {   /* all are late: as they came */
            expect_turns(cmd, 4, (const unsigned[]) { 0, 1, 2, 3 });
        }
        rig_free(rig);
    }
    {
        Rig *rig = rig_new("deadline", "fifo_batch=1", ONE_SLOT);
        ScarpCmd cmd[] = { read_page(5), read_page(9), read_page(6),
                           read_page(7) };

        submit_all(rig, cmd, 4); /* none is late: by address */
        expect_turns(cmd, 4, (const unsigned[]) { 0, 3, 1, 2 });
        rig_free(rig);
    }
}

/* What lies beyond the queue that the policy sees is not chosen. */
static void test_deadline_queue(void)
{
    Rig *rig = rig_new("deadline", "fifo_batch=1",
                       ONE_SLOT ",controller.queue=2");
    ScarpCmd cmd[] = { write_page(50), write_page(60), write_page(70),
                       read_page(1), read_page(2) };

    submit_all(rig, cmd, 5);
    /* 60 while the reads are out of sight; then a read is in it, and so on. */
    expect_turns(cmd, 5, (const unsigned[]) { 0, 1, 4, 2, 3 });
    rig_free(rig);
}

/* A thousand commands of every kind: all complete, and it did reorder. */
static void test_deadline_mix(void)
{
    Rig *rig = rig_new("deadline+pgc", NULL, "controller.slots=4");
    g_autofree ScarpCmd *cmd = g_new0(ScarpCmd, 1000);
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    unsigned overtaken = 0;

    rig_age(rig, 900);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t page = g_rand_int_range(rand, 0, 3000);

        cmd[i] = g_rand_boolean(rand) ? read_page(page) : write_page(page);
        if (i % 50 == 7) {
            cmd[i] = cmd_of(SCARP_OP_FLUSH, 0, 0);
        }
        scarp_submit(rig->drive, &cmd[i], i / 100 * 50000000);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < 1000; i++) {
        latency(&cmd[i]);
        overtaken += i && cmd[i].submit_ns == cmd[i - 1].submit_ns &&
                     cmd[i].complete_ns < cmd[i - 1].complete_ns;
    }
    g_assert_cmpuint(rig_stats(rig)->cmds_completed, ==, 1000);
    g_assert_cmpuint(overtaken, >, 200);
    rig_free(rig);
}

/* What a policy is told that a collection costs is what it takes. */
static void test_gc_cost(gconstpointer overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    unsigned compared = 0;
    uint64_t pages;

    rig_age(rig, 600);
    pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    /* Never written before: nothing becomes invalid that a cost counted. */
    for (uint64_t page = pages * 3 / 5 + 1; page < pages; page++) {
        int64_t cost[4];
        unsigned runs = rig->n_runs;

        for (uint32_t p = 0; p < 4; p++) {
            cost[p] = inside_gc_cost_ns(rig->drive, p);
        }
        rig_write(rig, page);
        if (rig->n_runs > runs) {
            const ScarpGcRun *run = &rig->run[runs];

            g_assert_cmpint(run->end_ns - run->begin_ns, ==, cost[run->plane]);
            compared++;
        }
    }
    g_assert_cmpuint(compared, >, 10);
    rig_free(rig);
}

/* To the next completion, with all else of its time, and to the limit. */
static void test_until_done(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    ScarpCmd cmd[] = {
        read_page(0), read_page(1), /* unmapped: one after the other */
        cmd_of(SCARP_OP_FLUSH, 0, 0), cmd_of(SCARP_OP_FLUSH, 0, 0),
    };
    int64_t begin_ns = FW + 2 * LINK + 10;

    scarp_submit(rig->drive, &cmd[0], 0);
    scarp_submit(rig->drive, &cmd[1], 0);
    g_assert_false(scarp_run_until_done(rig->drive, FW - 1));
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, 0);
    g_assert_false(scarp_run_until_done(rig->drive, FW + LINK - 1));
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, FW);
    g_assert_null(scarp_reap(rig->drive));
    for (int i = 0; i < 2; i++) {
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_NEVER));
        g_assert_cmpint(scarp_now_ns(rig->drive), ==, FW + (i + 1) * LINK);
        /* Until it is taken, there is no need to go on. */
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_NEVER));
        g_assert_true(scarp_reap(rig->drive) == &cmd[i]);
        g_assert_null(scarp_reap(rig->drive));
    }
    g_assert_false(scarp_run_until_done(rig->drive, SCARP_TIME_NEVER));
    /* Both at once: the second is there when the first is. */
    scarp_submit(rig->drive, &cmd[2], begin_ns);
    scarp_submit(rig->drive, &cmd[3], begin_ns);
    g_assert_true(scarp_run_until_done(rig->drive, begin_ns + FW));
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, begin_ns + FW);
    g_assert_true(scarp_reap(rig->drive) == &cmd[2]);
    g_assert_true(scarp_reap(rig->drive) == &cmd[3]);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host/until-done", test_until_done);
    g_test_add_data_func("/host/slots/1", GUINT_TO_POINTER(1), test_slots);
    g_test_add_data_func("/host/slots/4", GUINT_TO_POINTER(4), test_slots);
    g_test_add_func("/host/noop", test_noop);
    g_test_add_func("/host/deadline/order", test_deadline_order);
    g_test_add_func("/host/deadline/starved", test_deadline_starved);
    g_test_add_func("/host/deadline/late", test_deadline_late);
    g_test_add_func("/host/deadline/queue", test_deadline_queue);
    g_test_add_func("/host/deadline/mix", test_deadline_mix);
    g_test_add_data_func("/host/gc-cost/pages", "", test_gc_cost);
    g_test_add_data_func("/host/gc-cost/units",
                         "gc.victim_candidates=1,ftl.unit_bytes=1024,"
                         "ftl.over_provisioning_permille=500,"
                         "nand.cell_bits=3,nand.layers=4,"
                         "nand.layer_fastest_permille=500,"
                         "nand.layer_slowest_permille=1500", test_gc_cost);
    g_test_add_data_func("/host/gc-cost/copyback", "nand.copyback=1",
                         test_gc_cost);
    return g_test_run();
}
