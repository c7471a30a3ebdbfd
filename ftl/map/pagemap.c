/*
 * Page mapping: forward and reverse tables, blocks and their valid pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static ScarpPlane *plane_of(ScarpDrive *drive, uint32_t block)
{
    return &drive->plane[block / drive->d.blocks_per_plane];
}

static void bucket_insert(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    ScarpBlock *block = &drive->block[index];
    uint32_t *head = &plane->bucket[block->valid];

    block->prev = SCARP_NONE;
    block->next = *head;
    if (*head != SCARP_NONE) {
        drive->block[*head].prev = index;
    }
    *head = index;
    plane->bucket_filled[block->valid / 64] |= 1ull << (block->valid % 64);
}

static void bucket_remove(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    ScarpBlock *block = &drive->block[index];

    if (block->next != SCARP_NONE) {
        drive->block[block->next].prev = block->prev;
    }
    if (block->prev != SCARP_NONE) {
        drive->block[block->prev].next = block->next;
    } else {
        plane->bucket[block->valid] = block->next;
        if (block->next == SCARP_NONE) {
            plane->bucket_filled[block->valid / 64] &=
                ~(1ull << (block->valid % 64));
        }
    }
}

/* Free blocks are used in the order of a queue, which spreads wear. */
static void free_push(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    uint32_t last = plane->free_head;

    drive->block[index].next = SCARP_NONE;
    drive->block[index].state = BLOCK_FREE;
    plane->n_free++;
    if (last == SCARP_NONE) {
        plane->free_head = index;
        drive->block[index].prev = index;
        return;
    }
    /* The head's prev names the tail. */
    last = drive->block[plane->free_head].prev;
    drive->block[last].next = index;
    drive->block[plane->free_head].prev = index;
}

static uint32_t free_pop(ScarpDrive *drive, ScarpPlane *plane)
{
    uint32_t index = plane->free_head;
    uint32_t next = drive->block[index].next;

    if (next != SCARP_NONE) {
        drive->block[next].prev = drive->block[index].prev;
    }
    plane->free_head = next;
    plane->n_free--;
    return index;
}

void scarp_map_init(ScarpDrive *drive)
{
    uint32_t buckets = drive->d.pages_per_block + 1;

    for (uint32_t p = 0; p < drive->n_planes; p++) {
        ScarpPlane *plane = &drive->plane[p];

        plane->free_head = SCARP_NONE;
        plane->active[ACTIVE_HOST] = plane->active[ACTIVE_GC] = SCARP_NONE;
        plane->bucket = g_new(uint32_t, buckets);
        plane->bucket_filled = g_new0(uint64_t, buckets / 64 + 1);
        for (uint32_t i = 0; i < buckets; i++) {
            plane->bucket[i] = SCARP_NONE;
        }
        for (uint32_t b = 0; b < drive->d.blocks_per_plane; b++) {
            free_push(drive, plane, p * drive->d.blocks_per_plane + b);
        }
    }
}

static uint32_t *active_for(const ScarpDrive *drive, const ScarpPlane *plane,
                            ScarpOrigin origin)
{
    bool gc = origin != SCARP_ORIGIN_HOST;

    return (uint32_t *)&plane->active[gc && drive->d.separate_active_block
                                          ? ACTIVE_GC : ACTIVE_HOST];
}

bool scarp_alloc_possible(const ScarpDrive *drive, const ScarpPlane *plane,
                          ScarpOrigin origin)
{
    uint32_t active = *active_for(drive, plane, origin);
    bool room = active != SCARP_NONE &&
                drive->block[active].written < drive->d.pages_per_block;

    if (origin != SCARP_ORIGIN_HOST) {
        return room || plane->n_free > 0;
    }
    /* The last free block is GC's: without it no victim can be emptied. */
    if (room) {
        return drive->d.separate_active_block || plane->n_free >= 1;
    }
    return plane->n_free > 1;
}

uint32_t scarp_alloc_page(ScarpDrive *drive, uint32_t p, ScarpOrigin origin,
                          uint16_t stream G_GNUC_UNUSED)
{
    ScarpPlane *plane = &drive->plane[p];
    uint32_t *active = active_for(drive, plane, origin);
    ScarpBlock *block;
    uint32_t ppn;

    if (*active == SCARP_NONE) {
        *active = free_pop(drive, plane);
        drive->block[*active].state = BLOCK_ACTIVE;
    }
    block = &drive->block[*active];
    ppn = *active * drive->d.pages_per_block + block->written++;
    if (block->written == drive->d.pages_per_block) {
        block->state = BLOCK_FULL;
        bucket_insert(drive, plane, *active);
        *active = SCARP_NONE;
    }
    return ppn;
}

static void set_valid(ScarpDrive *drive, uint32_t ppn, int change)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    ScarpPlane *plane = plane_of(drive, index);
    ScarpBlock *block = &drive->block[index];

    if (block->state == BLOCK_FULL) {
        bucket_remove(drive, plane, index);
        block->valid += change;
        bucket_insert(drive, plane, index);
    } else {
        block->valid += change;
    }
    plane->valid += change;
}

void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = drive->l2p[lpn];

    if (ppn != SCARP_NONE) {
        drive->l2p[lpn] = SCARP_NONE;
        set_valid(drive, ppn, -1);
        scarp_store_release(drive, scarp_store_take(drive, ppn));
    }
}

void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    scarp_map_unmap(drive, lpn);
    drive->l2p[lpn] = ppn;
    drive->p2l[ppn] = lpn;
    set_valid(drive, ppn, 1);
}

void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
#ifdef SCARP_FAULT_MAPPING
    /* A test build: fio --verify must notice it. */
    if (lpn % 997 == 13 && lpn) {
        lpn--;
    }
#endif
    scarp_map_move(drive, lpn, ppn);
}

void scarp_block_take(ScarpDrive *drive, uint32_t p, uint32_t index)
{
    bucket_remove(drive, &drive->plane[p], index);
    drive->block[index].state = BLOCK_VICTIM;
}

void scarp_block_erase(ScarpDrive *drive, uint32_t p, uint32_t index)
{
    ScarpBlock *block = &drive->block[index];
    uint32_t first = index * drive->d.pages_per_block;

    for (uint32_t i = 0; i < drive->d.pages_per_block; i++) {
        drive->p2l[first + i] = SCARP_NONE;
    }
    g_clear_pointer(&block->data, g_free);
    block->written = 0;
    block->erases++;
    drive->stats.erases++;
    free_push(drive, &drive->plane[p], index);
}
