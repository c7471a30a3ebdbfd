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
 * Returns a new drive with the description, the seed and store_data of `drive`.
 * replace() exchanges its cells. Returns NULL, with *error set, if memory is
 * short.
 */
static ScarpDrive *blank(const ScarpDrive *drive, GError **error)
{
    ScarpConfig config = { .seed = scarp_seed(drive),
                           .store_data = drive->store_data };

    return scarp_drive_blank(&drive->desc, &config, error);
}

/*
 * Gives `next` the cells, the clock, the statistics and the scheme of `drive`,
 * and frees `drive`. `cut` is true when the power of `drive` failed.
 */
static void replace(ScarpDrive *drive, ScarpDrive *next, bool cut)
{
    /* the clock is set first, because policies read it when they are made */
    scarp_core_hand_over(drive, next);
    scarp_scheme_copy(&next->scheme, next, &drive->scheme);
    hand_over_observed(drive, next, cut);
    scarp_media_hand_over(drive, next);
    scarp_heat_hand_over(drive, next);
    scarp_drive_free(drive);
}

ScarpDrive *scarp_power_cut(ScarpDrive *drive, GError **error)
{
    bool sanitizes = scarp_sanitize_runs(drive);
    ScarpDrive *next;

    if (!scarp_media_keeps(drive)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "nand.power_cuts=0: the power of such a drive cannot fail");
        return NULL;
    }
    next = blank(drive, error);
    if (!next) {
        return NULL;
    }
    scarp_flow_cut(drive);
    replace(drive, next, true);
    /*
     * A Sanitize goes on after a power cut. Blocks that it has erased would
     * contradict those that it has not, so no recovery may read them.
     */
    if (sanitizes) {
        scarp_sanitize_begin(next);
    } else {
        scarp_recovery_begin(next);
    }
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
    if (scarp_hil_any_done(drive)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "a completed command waits for scarp_reap()");
        return NULL;
    }
    next = blank(drive, error);
    if (!next) {
        return NULL;
    }
    /*
     * The array times of programs that wait for their pads are over, so their
     * pages have to be erased, too.
     */
    scarp_flow_burn_unpaired(drive);
    replace(drive, next, false);
    scarp_sanitize_begin(next);
    scarp_flow_work(next);
    return next;
}
