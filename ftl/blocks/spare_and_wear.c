/*
 * Health, for the SMART log: how many spare blocks are left, and how worn the
 * others are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

/*
 * The plane with the fewest spare blocks decides, as it cannot use those of
 * other planes.
 */
uint32_t scarp_spare_percent(const ScarpDrive *drive)
{
    uint32_t from_the_start = scarp_bad_blocks(&drive->desc);
    uint32_t percent = 100;

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        uint32_t left = scarp_blocks_beyond_need(drive, p);
        uint32_t grown = drive->blocks.plane[p].n_bad - from_the_start;

        if (grown) {
            percent = MIN(percent, (uint64_t)left * 100 / (left + grown));
        }
    }
    return percent;
}

/*
 * Blocks that are bad and have no erase were bad from the start, so they do not
 * count.
 */
uint32_t scarp_used_percent(const ScarpDrive *drive)
{
    uint64_t erases = 0, blocks = 0;

    if (!drive->desc.endurance_erases) {
        return 0;
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (scarp_block_record(drive, b)->state != BLOCK_BAD ||
            scarp_media_erases(drive, b)) {
            erases += scarp_media_erases(drive, b);
            blocks++;
        }
    }
    return MIN(erases * 100 / (blocks * drive->desc.endurance_erases),
               UINT32_MAX);
}
