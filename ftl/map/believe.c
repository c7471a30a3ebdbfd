/*
 * Checks of the cells that an image contains, where power may fail. Recovery
 * reads all cells, superseded units too. So an image must contain nothing there
 * that no drive could have written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

bool scarp_map_may_hold(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t lpn = scarp_media_lpn(drive, ppn);

    if (lpn >= drive->geo.mapped_units ||
        scarp_is_translation_unit(drive, lpn) !=
            scarp_block_is_translation(drive, scarp_ppn_block(drive, ppn))) {
        return false;
    }
    return !drive->map.ops->may_hold || drive->map.ops->may_hold(drive, ppn);
}

static bool all_below(const uint64_t *says, uint64_t n, uint64_t end)
{
    for (uint64_t i = 0; i < n; i++) {
        if (GUINT64_FROM_LE(says[i]) >= end) {
            return false;
        }
    }
    return true;
}

/*
 * True when all PPNs in a translation unit's contents exist, or are SCARP_NONE.
 */
static bool all_exist(const ScarpDrive *drive, const uint32_t *says)
{
    for (uint64_t i = 0; i < drive->geo.unit_bytes / sizeof(*says); i++) {
        uint32_t ppn = GUINT32_FROM_LE(says[i]);

        if (ppn != SCARP_NONE && ppn >= scarp_geometry_units(&drive->geo)) {
            return false;
        }
    }
    return true;
}

bool scarp_map_may_say(const ScarpDrive *drive, uint32_t lpn, const void *says)
{
    if (scarp_has_checkpoints(drive) && lpn == drive->geo.mapped_units - 1) {
        return all_below(says, 1, scarp_checkpoint_first_open(drive) + 1);
    }
    if (scarp_is_translation_unit(drive, lpn)) {
        return all_exist(drive, says);
    }
    /*
     * A record must not contain a version that the drive has not reached yet.
     */
    return drive->desc.recovery != RECOVERY_ALL ||
           lpn < drive->geo.logical_units ||
           lpn >= drive->geo.first_translation_unit ||
           all_below(says, drive->geo.record_lpns, scarp_seq_count(drive));
}
