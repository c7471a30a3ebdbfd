/*
 * Computes two numbers of the NVMe SMART log: how many spare blocks are left,
 * and how much of its rated erases the drive has used.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

/*
 * Returns the percentage of spare blocks that are left in the plane with the
 * lowest percentage, because no plane can use the spare blocks of another one.
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
 * Returns the mean of the erases of all blocks, in percent of
 * nand.endurance_erases. Erases in SLC mode count as shares of
 * slc.endurance_erases. A bad block without an erase was bad from the start,
 * and is left out.
 */
uint32_t scarp_used_percent(const ScarpDrive *drive)
{
    uint64_t real = drive->desc.endurance_erases;
    uint64_t slc = MAX(drive->desc.slc_endurance_erases, 1);
    uint64_t in_real = 0, in_slc = 0, blocks = 0;

    if (!real) {
        return 0;
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (scarp_block_record(drive, b)->state != BLOCK_BAD ||
            scarp_media_erases(drive, b)) {
            in_slc += scarp_media_slc_erases(drive, b);
            in_real += scarp_media_erases(drive, b) -
                       scarp_media_slc_erases(drive, b);
            blocks++;
        }
    }
    return MIN(((unsigned __int128)in_real * slc + in_slc * real) * 100 /
                   ((unsigned __int128)blocks * real * slc),
               UINT32_MAX);
}
