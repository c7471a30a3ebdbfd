/*
 * Blocks in the state BLOCK_OWNED: the mapping chooses the page of each write,
 * and decides when such a block is erased. Owned blocks are in no list of
 * blocks, so no victim policy sees them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

uint32_t scarp_block_open(ScarpDrive *drive, uint32_t p, ScarpOrigin origin)
{
    uint32_t index = scarp_free_pop(drive, &drive->blocks.plane[p]);

    scarp_block_record(drive, index)->state = BLOCK_OWNED;
    scarp_media_open(drive, index, origin, 0);
    return index;
}

uint32_t scarp_block_next_page(ScarpDrive *drive, uint32_t index)
{
    ScarpBlock *block = scarp_block_record(drive, index);

    block->modified_ns = scarp_time_ns(drive);
    return scarp_block_ppn(drive, index) +
           block->written++ * drive->geo.units_per_page;
}
