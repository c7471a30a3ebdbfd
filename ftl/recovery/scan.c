/*
 * Spare areas are read, page by page, each plane in the order of its blocks: the
 * first page of a block says whether it is in use, and the first that is erased
 * where it ends.  Blocks that are marked as bad are passed over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"

/* Of a unit: LPN, version, the role of its page. */
enum { SPARE_BYTES = 16 };

bool scarp_recovery_scan(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryPlane *plane = &drive->recovery.plane[p];
    uint32_t blocks = drive->desc.blocks_per_plane;

    while (plane->block < blocks) {
        uint32_t block = p * blocks + plane->block;
        uint32_t pages = MIN(scarp_media_used_pages(drive, block) + 1,
                             drive->desc.pages_per_block);

        if (plane->page < pages && !scarp_media_is_bad(drive, block)) {
            scarp_recovery_issue(
                drive, p, SCARP_FLASH_READ, SCARP_ORIGIN_MAP,
                scarp_block_ppn(drive, block) +
                    plane->page++ * drive->geo.units_per_page,
                drive->geo.units_per_page * SPARE_BYTES);
            return true;
        }
        plane->block++;
        plane->page = 0;
    }
    return false;
}
