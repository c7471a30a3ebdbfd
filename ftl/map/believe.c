/*
 * Checks of the pages that an image contains, for drives whose power may fail.
 * Recovery reads every page on flash, even a page whose units were written
 * again elsewhere. So each page in an image must be one that a drive can have
 * written.
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
 * True when each PPN that a translation unit lists exists on the drive, or is
 * SCARP_NONE.
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
     * A record (a page that lists when units were deallocated, ftl.recovery=2)
     * must not contain a version number that the drive has not given out yet.
     */
    return drive->desc.recovery != RECOVERY_ALL ||
           lpn < drive->geo.logical_units ||
           lpn >= drive->geo.first_translation_unit ||
           all_below(says, drive->geo.record_lpns, scarp_seq_count(drive));
}
