/*
 * Valid units: a bit for each unit, their number in each block, and the bucket
 * (the list of full blocks with equally many valid units) that a full block is
 * in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

/*
 * Adds `change` to the block's number of valid units. A full block moves to the
 * bucket for the new number. Callers change the block's bits before. So the call
 * for reclaim units comes last, and drives without such units save no registers
 * for it.
 */
static inline void change_valid(ScarpDrive *drive, uint32_t index, int change)
{
    ScarpBlocksPlane *plane = scarp_blocks_plane_of(drive, index);
    ScarpBlock *block = scarp_block_record(drive, index);

    if (block->state == BLOCK_FULL && !drive->blocks.rus) {
        scarp_bucket_remove(drive, plane, index, block->valid);
        block->valid += change;
        scarp_bucket_insert(drive, plane, index, block->valid);
    } else {
        block->valid += change;
    }
    block->modified_ns = scarp_time_ns(drive);
    plane->valid += change;
    if (G_UNLIKELY(drive->blocks.rus)) {
        scarp_ru_valid_changed(drive, index, change);
    }
}

void scarp_block_set_valid(ScarpDrive *drive, uint32_t ppn, int change)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - scarp_block_ppn(drive, index);

    scarp_block_record(drive, index)->is_valid[unit / 64] ^=
        1ull << (unit % 64);
    change_valid(drive, index, change);
}

void scarp_block_filled(ScarpDrive *drive, uint32_t ppn, uint32_t n)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - scarp_block_ppn(drive, index);
    ScarpBlock *block = scarp_block_record(drive, index);

    for (uint32_t left = n; left;) {
        uint32_t bit = unit % 64, bits = MIN(left, 64 - bit);

        block->is_valid[unit / 64] |= UINT64_MAX >> (64 - bits) << bit;
        unit += bits;
        left -= bits;
    }
    change_valid(drive, index, (int)n);
}

void scarp_block_emptied(ScarpDrive *drive, uint32_t index)
{
    ScarpBlock *block = scarp_block_record(drive, index);

    memset(block->is_valid, 0, scarp_valid_bytes(&drive->geo));
    change_valid(drive, index, -(int)block->valid);
}
