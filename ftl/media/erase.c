/*
 * Erasing a block, and its wear.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "media/ops.h"

void scarp_media_erase(ScarpDrive *drive, uint32_t index)
{
    ScarpMediaBlock *block = &drive->media.block[index];
    uint32_t *lpn_of = &drive->media.lpn_of[scarp_block_ppn(drive, index)];

    for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
        lpn_of[i] = SCARP_NONE;
    }
    g_clear_pointer(&block->contents, g_free);
    block->programmed = 0;
    block->erases++;
    drive->stats.erases++;
}
