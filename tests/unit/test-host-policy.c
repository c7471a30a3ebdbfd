/*
 * What a host-queue policy may do: it is told of arrivals and ends, it may
 * decline to dispatch, and it has a timer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

static struct {
    unsigned arrived, ended, asked;
    unsigned wanted; /* it declines until so many wait */
    int64_t wait_ns; /* or until so long after the first; 0: for ever */
    bool due;
} seen;

static void arrived(ScarpDrive *drive, const ScarpCmd *cmd)
{
    if (!seen.arrived++ && seen.wait_ns) {
        inside_set_host_timer(drive, scarp_now_ns(drive) + seen.wait_ns);
    }
    g_assert_cmpint(cmd->submit_ns, <=, scarp_now_ns(drive));
}

static ScarpCmd *pick(ScarpDrive *drive G_GNUC_UNUSED, ScarpCmdQueue *waiting)
{
    unsigned n = 0;

    seen.asked++;
    for (ScarpCmd *cmd = scarp_cmd_first(waiting); cmd; cmd = cmd->next) {
        n++;
    }
    if (n >= seen.wanted) {
        seen.due = true;
    }
    /* The newest first: no other policy does that. */
    return seen.due ? scarp_cmd_take(waiting, scarp_cmd_last(waiting)) : NULL;
}

static void ended(ScarpDrive *drive G_GNUC_UNUSED,
                  const ScarpCmd *cmd G_GNUC_UNUSED)
{
    seen.ended++;
}

static void timer(ScarpDrive *drive G_GNUC_UNUSED)
{
    seen.due = true;
}

static const ScarpHilOps policy = {
    .policy = { .axis = AXIS_HIL, .name = "test", .timer = timer },
    .arrived = arrived, .pick = pick, .ended = ended,
};

static Rig *rig_with(unsigned wanted, int64_t wait_ns)
{
    Rig *rig = rig_new("baseline", NULL, NULL);

    memset(&seen, 0, sizeof(seen));
    seen.wanted = wanted;
    seen.wait_ns = wait_ns;
    inside_set_host_policy(rig->drive, &policy);
    return rig;
}

/* Unmapped reads of a page, which cost firmware, queue and link. */
static void declines(void)
{
    Rig *rig = rig_with(3, 0);
    ScarpCmd cmd[3] = { read_page(0), read_page(1), read_page(2) };

    for (int i = 0; i < 3; i++) {
        scarp_submit(rig->drive, &cmd[i], i * 1000);
    }
    scarp_run(rig->drive, FW + 1999);
    g_assert_cmpuint(seen.arrived, ==, 2);
    g_assert_cmpuint(seen.asked, ==, 2);
    g_assert_null(scarp_reap(rig->drive));
    rig_drain(rig);
    g_assert_cmpuint(seen.arrived, ==, 3);
    g_assert_cmpuint(seen.ended, ==, 3);
    /* All entered when the third came, the newest first. */
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(latency(&cmd[i]), ==,
                        (2 - i) * 1000 + FW + (3 - i) * LINK);
        g_assert_cmpint(cmd[i].cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                        (2 - i) * 1000);
    }
    rig_free(rig);
}

static void by_timer(void)
{
    Rig *rig = rig_with(3, 40000);
    ScarpCmd cmd = read_page(0);

    scarp_submit(rig->drive, &cmd, 0);
    rig_drain(rig);
    g_assert_cmpint(latency(&cmd), ==, FW + 40000 + LINK);
    g_assert_cmpint(cmd.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==, 40000);
    g_assert_cmpuint(seen.ended, ==, 1);
    rig_free(rig);
}

/* A policy that never takes a command does not end quietly. */
static void starves(void)
{
    Rig *rig = rig_with(2, 0);
    ScarpCmd cmd = read_page(0);
    g_autoptr(GError) error = NULL;

    scarp_submit(rig->drive, &cmd, 0);
    rig_drain(rig);
    g_assert_false(scarp_quiescent(rig->drive, &error));
    g_assert_nonnull(strstr(error->message, "accepted 1 commands, completed 0"));
    scarp_drive_free(rig->drive);
    g_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host/policy/declines", declines);
    g_test_add_func("/host/policy/timer", by_timer);
    g_test_add_func("/host/policy/starves", starves);
    return g_test_run();
}
