/*
 * The law (invariant) that no command starves in the host queue. Each policy
 * bounds how many younger commands may pass a waiting command, and from which
 * time on they count. Only checked builds have this law, as each pick looks at
 * all waiting commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/ops.h"

#define NOT_PASSED UINT32_MAX

void scarp_hil_starves_submit(ScarpCmd *cmd)
{
    cmd->passes_left = NOT_PASSED;
}

void scarp_hil_starves_anew(ScarpDrive *drive)
{
    for (ScarpCmd *cmd = scarp_cmd_first(&drive->hil.waiting); cmd;
         cmd = cmd->next) {
        cmd->passes_left = NOT_PASSED;
    }
}

/*
 * Counts that cmd passes the older command `older`. `before` is the number of
 * waiting commands that are older than `older`.
 */
static void pass(const ScarpDrive *drive, ScarpCmd *older, const ScarpCmd *cmd,
                 uint64_t before)
{
    ScarpHilBound bound = drive->scheme.hil->bound(drive, older, cmd);

    if (scarp_time_ns(drive) < bound.since_ns) {
        return;
    }
    if (older->passes_left == NOT_PASSED) {
        older->passes_left = MIN((before + 2) * bound.most, NOT_PASSED - 1);
    }
    if (!older->passes_left--) {
        g_error("at %" G_GINT64_FORMAT " ns: command %" G_GUINT64_FORMAT
                " was passed over more often than %s may", scarp_time_ns(drive),
                older->seq, drive->scheme.hil->policy.name);
    }
}

void scarp_hil_starves_picked(const ScarpDrive *drive, const ScarpCmd *cmd)
{
    uint64_t before = 0;

    if (!drive->scheme.hil->bound || cmd->op == SCARP_OP_FLUSH) {
        return;
    }
    for (ScarpCmd *older = scarp_cmd_first(&drive->hil.waiting); older;
         older = older->next) {
        if (older->seq < cmd->seq) {
            pass(drive, older, cmd, before++);
        }
    }
}
