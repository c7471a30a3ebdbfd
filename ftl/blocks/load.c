/*
 * Loads the blocks from an image: first the state of each block, then the order
 * of each list. The functions append blocks to lists one by one and store no
 * link from the image, so a corrupt image cannot make a list circular.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

ScarpBlockState scarp_block_state(const ScarpDrive *drive, uint32_t index)
{
    return scarp_block_record(drive, index)->state;
}

uint32_t scarp_blocks_first_free(const ScarpDrive *drive, uint32_t p)
{
    return drive->blocks.plane[p].free.head;
}

uint32_t scarp_blocks_next_free(const ScarpDrive *drive, uint32_t index)
{
    return drive->blocks.link[index].next;
}

uint32_t scarp_blocks_next_full(const ScarpDrive *drive, uint32_t index)
{
    return drive->blocks.full[index].next;
}

uint32_t scarp_blocks_active(const ScarpDrive *drive, uint32_t p, int point)
{
    return drive->blocks.plane[p].active[point];
}

void scarp_block_load(ScarpDrive *drive, uint32_t index, ScarpBlockState state,
                      uint32_t written, int64_t modified_ns)
{
    ScarpBlock *block = scarp_block_record(drive, index);

    block->state = state;
    block->written = written;
    block->modified_ns = modified_ns;
}

void scarp_block_load_valid(ScarpDrive *drive, uint32_t ppn)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - scarp_block_ppn(drive, index);
    ScarpBlock *block = scarp_block_record(drive, index);

    block->is_valid[unit / 64] |= 1ull << (unit % 64);
    block->valid++;
    scarp_blocks_plane_of(drive, index)->valid++;
}

void scarp_blocks_forget(ScarpDrive *drive, uint32_t p)
{
    ScarpBlocksPlane *plane = &drive->blocks.plane[p];

    plane->free.head = SCARP_NONE;
    drive->blocks.n_free -= plane->n_free;
    plane->n_free = 0;
}

void scarp_blocks_add_free(ScarpDrive *drive, uint32_t index)
{
    scarp_free_push(drive, scarp_blocks_plane_of(drive, index), index);
}

void scarp_blocks_add_full(ScarpDrive *drive, uint32_t index)
{
    scarp_full_append(drive, scarp_blocks_plane_of(drive, index), index);
}

void scarp_blocks_add_candidate(ScarpDrive *drive, uint32_t index)
{
    scarp_bucket_insert(drive, scarp_blocks_plane_of(drive, index), index,
                        scarp_victim_valid(drive, index));
}

void scarp_blocks_add_bad(ScarpDrive *drive, uint32_t index)
{
    scarp_block_set_bad(drive, index);
}

bool scarp_blocks_add_translation(ScarpDrive *drive, uint32_t index)
{
    const ScarpBlocksPlane *plane = scarp_blocks_plane_of(drive, index);

    if (plane->n_map_full == drive->geo.translation_blocks) {
        return false;
    }
    scarp_blocks_plane_of(drive, index)->n_map++;
    scarp_translation_insert(drive, index);
    return true;
}

void scarp_blocks_add_active(ScarpDrive *drive, uint32_t p, int point,
                             uint32_t index)
{
    drive->blocks.plane[p].active[point] = index;
    drive->blocks.plane[p].n_map += scarp_block_is_translation(drive, index);
}

void scarp_blocks_close_unused(ScarpDrive *drive)
{
    if (drive->blocks.rus) {
        scarp_ru_close_unused(drive);
        return;
    }
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        ScarpBlocksPlane *plane = &drive->blocks.plane[p];

        if (drive->blocks.slc) {
            scarp_slc_close_unused(drive, p);
        }
        for (int i = 0; i < WRITE__COUNT; i++) {
            bool unused = i == WRITE_GC
                ? !drive->desc.separate_active_block
                : !scarp_write_point_used(drive, i);

            if (unused && plane->active[i] != SCARP_NONE) {
                scarp_mark(drive, closed_on_load);
                scarp_full_insert(drive, plane, plane->active[i]);
                plane->active[i] = SCARP_NONE;
            }
        }
    }
}
