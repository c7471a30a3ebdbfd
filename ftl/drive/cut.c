/*
 * A power cut: a new drive replaces the old one. The new drive has lost all
 * RAM, but gets the old drive's flash cells and recovers from them. Sanitize
 * replaces the drive in the same way by one that erases these cells.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive/internal.h"
#include "flow/ops.h"

/*
 * Moves statistics and observers to the new drive. A real drive would lose such
 * counters with its RAM, but measurements must go on.
 */
static void hand_over_observed(ScarpDrive *from, ScarpDrive *to, bool cut)
{
    uint64_t under_way =
        from->stats.cmds_accepted - from->stats.cmds_completed;

    scarp_stat_hand_over(from, to);
    to->slc_stats = from->slc_stats;
    to->stats.cmds_accepted -= under_way;
    to->stats.cut_cmds += under_way;
    to->stats.power_cuts += cut;
    scarp_set_observer(to, &from->observer);
    scarp_on_power_cut(to, from->came_up, from->came_up_opaque);
    if (to->came_up) {
        to->came_up(to->came_up_opaque, to);
    }
}

void scarp_on_power_cut(ScarpDrive *drive,
                        void (*came_up)(void *opaque, const ScarpDrive *drive),
                        void *opaque)
{
    drive->came_up = came_up;
    drive->came_up_opaque = opaque;
}

/*
 * Returns a new drive with the cells, the clock, the statistics and the scheme
 * of `drive`, and frees `drive`. `cut` is true when the power of `drive` failed.
 */
static ScarpDrive *replace(ScarpDrive *drive, bool cut)
{
    ScarpConfig config = { .seed = scarp_seed(drive),
                           .store_data = drive->store_data };
    ScarpDrive *next = scarp_drive_blank(&drive->desc, &config, NULL);

    /* the drive to be replaced has this description, so it is a valid one */
    g_assert(next);
    /* sets the clock first: policies read the time when they are made */
    scarp_core_hand_over(drive, next);
    scarp_scheme_copy(&next->scheme, next, &drive->scheme);
    hand_over_observed(drive, next, cut);
    scarp_media_hand_over(drive, next);
    scarp_heat_hand_over(drive, next);
    scarp_drive_free(drive);
    return next;
}

ScarpDrive *scarp_power_cut(ScarpDrive *drive, GError **error)
{
    ScarpDrive *next;

    if (!scarp_media_keeps(drive)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "nand.power_cuts=0: the power of such a drive cannot fail");
        return NULL;
    }
    scarp_flow_cut(drive);
    next = replace(drive, true);
    scarp_recovery_begin(next);
    scarp_flow_work(next);
    return next;
}

bool scarp_is_ready(const ScarpDrive *drive)
{
    return !scarp_recovery_runs(drive);
}

ScarpDrive *scarp_sanitize(ScarpDrive *drive, GError **error)
{
    ScarpDrive *next;

    if (!scarp_quiescent(drive, error)) {
        return NULL;
    }
    if (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "the drive has work to do, and cannot be sanitized now");
        return NULL;
    }
    next = replace(drive, false);
    scarp_sanitize_begin(next);
    scarp_flow_work(next);
    return next;
}
