/*
 * Where thresholds of the host's side lie, and who goes first of equals: to the
 * nanosecond, right at the edge and beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

#define ONE_SLOT "controller.slots=1"

/* ---- Deadline ------------------------------------------------------------- */

/*
 * With one slot and batches of one: a first command has the slot until
 * begin_ns, and then either the older one of the next two begins, because it is
 * late, or the younger one, whose address is lower.
 */
static bool older_goes_first(const char *params, ScarpOp op, int64_t older_ns,
                             int64_t deadline_ns)
{
    g_autofree char *all = g_strconcat("fifo_batch=1", params, NULL);
    Rig *rig = rig_new("deadline", all, ONE_SLOT);
    ScarpCmd first = cmd_of(op, 5 * PAGE, PAGE);
    ScarpCmd older = cmd_of(op, 9 * PAGE, PAGE);
    ScarpCmd younger = cmd_of(op, 6 * PAGE, PAGE);
    bool result;

    older.deadline_ns = deadline_ns;
    scarp_submit(rig->drive, &first, 0);
    scarp_submit(rig->drive, &older, older_ns);
    scarp_submit(rig->drive, &younger, older_ns + 1);
    rig_drain(rig);
    latency(&first);
    latency(&older);
    latency(&younger);
    result = older.complete_ns < younger.complete_ns;
    rig_free(rig);
    return result;
}

/* Late is at its deadline: after the time of its kind, or at its own. */
static void test_deadline_late(void)
{
    /* The first: a read of nothing; and a write. */
    const int64_t read_ends = FW + LINK;
    const int64_t write_ends = FW + LINK + CMD + BUS + TPROG;
    const char *of_reads = ",read_deadline_us=6";
    const char *of_writes = ",read_deadline_us=0,write_deadline_us=500";

    g_assert_true(older_goes_first(of_reads, SCARP_OP_READ, read_ends - 6000,
                                   SCARP_TIME_NEVER));
    g_assert_false(older_goes_first(of_reads, SCARP_OP_READ, read_ends - 5999,
                                    SCARP_TIME_NEVER));
    g_assert_true(older_goes_first(of_writes, SCARP_OP_WRITE,
                                   write_ends - 500000, SCARP_TIME_NEVER));
    g_assert_false(older_goes_first(of_writes, SCARP_OP_WRITE,
                                    write_ends - 499999, SCARP_TIME_NEVER));
    g_assert_true(older_goes_first("", SCARP_OP_READ, 10, read_ends));
    g_assert_false(older_goes_first("", SCARP_OP_READ, 10, read_ends + 1));
}

/* ---- Write buffer --------------------------------------------------------- */

/*
 * A buffer of 12 units of a quarter of a page, three of them packed for each of
 * four dies.  The thirteenth waits, and half of the buffer goes on its way: two
 * pages, which leaves six units; no third one.
 */
static void test_drain_half(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       "ftl.unit_bytes=1024,controller.buffer_bytes=12288");
    ScarpCmd cmd[13], flush = cmd_of(SCARP_OP_FLUSH, 0, 0);

    for (unsigned i = 0; i < 12; i++) {
        cmd[i] = cmd_of(SCARP_OP_WRITE, i / 3 * PAGE + i % 3 * 1024, 1024);
        rig_do(rig, &cmd[i]);
        g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 0);
    }
    cmd[12] = cmd_of(SCARP_OP_WRITE, 4 * PAGE, 1024);
    g_assert_cmpint(rig_do(rig, &cmd[12]), >, TPROG);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 2);
    g_assert_cmpuint(rig_stats(rig)->padded_units, ==, 2);
    rig_do(rig, &flush);
    rig_free(rig);
}

/* ---- Dynamic allocation --------------------------------------------------- */

static uint32_t die_of(const Rig *rig, const ScarpCmd *cmd)
{
    for (unsigned i = 0; i < rig->n_ops; i++) {
        if (rig->op[i].cmd_seq == cmd->seq) {
            return rig->op[i].f.die;
        }
    }
    g_assert_not_reached();
}

/* Dies that all are equally busy take pages in turn. */
static void test_dynamic_ties(void)
{
    Rig *rig = rig_new("dynamic", NULL, NULL);
    ScarpCmd cmd[12];

    /* They arrive a link's transfer after each other, in one program's time. */
    for (unsigned i = 0; i < 12; i++) {
        cmd[i] = write_page(0);
        scarp_submit(rig->drive, &cmd[i], 0);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < 12; i++) {
        g_assert_cmpuint(die_of(rig, &cmd[i]), ==, i % 4);
    }
    rig_free(rig);
}

/* ---- Cache read ------------------------------------------------------------ */

/*
 * With tR as long as a page's transfer, the second read of a die is sensed at
 * the instant at which the first one has left it.  It goes out at once; a
 * command for the channel's other die that arrives at that instant, after it,
 * waits for the channel.
 */
static void test_ready_at_once(void)
{
    enum { LEFT = FW + CMD + BUS + CMD + BUS };
    Rig *rig = rig_new("baseline", NULL, "nand.cache=1,timing.read_ns=10240");
    int64_t begin_ns;
    ScarpCmd cmd[3];

    rig_fill(rig, 0, 8); /* 0 and 4 on die 0, 2 on die 1 */
    begin_ns = scarp_now_ns(rig->drive) + 1;
    for (unsigned i = 0; i < 3; i++) {
        cmd[i] = read_page(i < 2 ? i * 4 : 2);
        scarp_submit(rig->drive, &cmd[i],
                     begin_ns + (i < 2 ? 0 : LEFT - FW));
    }
    rig_drain(rig);
    g_assert_cmpint(latency(&cmd[0]), ==, LEFT + LINK);
    g_assert_cmpint(latency(&cmd[1]), ==, LEFT + BUS + LINK);
    g_assert_cmpint(cmd[2].cause_ns[SCARP_CAUSE_CHANNEL], ==, BUS);
    g_assert_cmpint(latency(&cmd[2]), ==, FW + BUS + CMD + BUS + BUS + LINK);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/deadline/late", test_deadline_late);
    g_test_add_func("/policy/buffer/drain-half", test_drain_half);
    g_test_add_func("/policy/dynamic/ties", test_dynamic_ties);
    g_test_add_func("/policy/cache/ready-at-once", test_ready_at_once);
    return g_test_run();
}
