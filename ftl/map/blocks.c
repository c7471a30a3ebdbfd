/*
 * Blocks: free lists, active blocks, buckets of full blocks by valid units.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

static ScarpPlane *plane_of(const ScarpDrive *drive, uint32_t block)
{
    return &drive->plane[scarp_block_plane(drive, block)];
}

/*
 * New blocks go to a bucket's end: its head is the one that changed longest
 * ago.  Of the blocks beside it nothing is read, which need not be near, and
 * what is written is not waited for.
 */
static void bucket_insert(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    uint32_t valid = scarp_block(drive, index)->valid;
    BlockList *list = &plane->bucket[valid];

    drive->link[index] = (BlockLink) { SCARP_NONE, list->tail };
    if (list->tail == SCARP_NONE) {
        list->head = index;
        plane->bucket_filled[valid / 64] |= 1ull << (valid % 64);
    } else {
        drive->link[list->tail].next = index;
    }
    list->tail = index;
}

static void bucket_remove(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    uint32_t valid = scarp_block(drive, index)->valid;
    BlockList *list = &plane->bucket[valid];
    BlockLink link = drive->link[index];

    *(link.next == SCARP_NONE ? &list->tail
                              : &drive->link[link.next].prev) = link.prev;
    *(link.prev == SCARP_NONE ? &list->head
                              : &drive->link[link.prev].next) = link.next;
    if (list->head == SCARP_NONE) {
        plane->bucket_filled[valid / 64] &= ~(1ull << (valid % 64));
    }
}

static void full_append(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    BlockRest *rest = &drive->block_rest[index];

    rest->full_next = SCARP_NONE;
    rest->full_prev = plane->full_tail;
    if (plane->full_tail == SCARP_NONE) {
        plane->full_head = index;
    } else {
        drive->block_rest[plane->full_tail].full_next = index;
    }
    plane->full_tail = index;
    plane->n_full++;
    scarp_block(drive, index)->state = BLOCK_FULL;
}

static void full_insert(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    full_append(drive, plane, index);
    bucket_insert(drive, plane, index);
}

static void full_remove(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    const BlockRest *rest = &drive->block_rest[index];

    if (rest->full_prev == SCARP_NONE) {
        plane->full_head = rest->full_next;
    } else {
        drive->block_rest[rest->full_prev].full_next = rest->full_next;
    }
    if (rest->full_next == SCARP_NONE) {
        plane->full_tail = rest->full_prev;
    } else {
        drive->block_rest[rest->full_next].full_prev = rest->full_prev;
    }
    plane->n_full--;
    bucket_remove(drive, plane, index);
}

/* Free blocks are used in the order of a queue, which spreads wear. */
static void free_push(ScarpDrive *drive, ScarpPlane *plane, uint32_t index)
{
    BlockList *list = &plane->free;

    drive->link[index].next = SCARP_NONE;
    scarp_block(drive, index)->state = BLOCK_FREE;
    plane->n_free++;
    drive->n_free++;
    *(list->head == SCARP_NONE ? &list->head
                               : &drive->link[list->tail].next) = index;
    list->tail = index;
}

static uint32_t free_pop(ScarpDrive *drive, ScarpPlane *plane)
{
    uint32_t index = plane->free.head;

    plane->free.head = drive->link[index].next;
    plane->n_free--;
    drive->n_free--;
    return index;
}

static void set_bad(ScarpDrive *drive, uint32_t index)
{
    scarp_block(drive, index)->state = BLOCK_BAD;
    plane_of(drive, index)->n_bad++;
    drive->stats.bad_blocks++;
}

/* Blocks that a plane needs beyond what the host may fill. */
static uint32_t spare_needed(const ScarpDrive *drive)
{
    return scarp_reserved_blocks(&drive->d);
}

static uint32_t spare(const ScarpDrive *drive, const ScarpPlane *plane)
{
    uint32_t logical = drive->mapped_units / drive->n_planes;
    uint32_t used = (logical + drive->units_per_block - 1) /
                    drive->units_per_block;

    return drive->d.blocks_per_plane - plane->n_bad - used;
}

bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t p)
{
    return spare(drive, &drive->plane[p]) >= spare_needed(drive);
}

void scarp_blocks_forget(ScarpDrive *drive, uint32_t p)
{
    ScarpPlane *plane = &drive->plane[p];

    plane->free.head = SCARP_NONE;
    drive->n_free -= plane->n_free;
    plane->n_free = 0;
}

void scarp_blocks_add_free(ScarpDrive *drive, uint32_t index)
{
    free_push(drive, plane_of(drive, index), index);
}

void scarp_blocks_add_full(ScarpDrive *drive, uint32_t index)
{
    full_append(drive, plane_of(drive, index), index);
}

void scarp_blocks_add_candidate(ScarpDrive *drive, uint32_t index)
{
    bucket_insert(drive, plane_of(drive, index), index);
}

void scarp_blocks_close_unused(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        ScarpPlane *plane = &drive->plane[p];

        for (int i = 0; i < ACTIVE__COUNT; i++) {
            bool unused = i == ACTIVE_GC
                ? !drive->d.separate_active_block
                : i >= ACTIVE_HOST + (int)drive->d.streams;

            if (unused && plane->active[i] != SCARP_NONE) {
                full_insert(drive, plane, plane->active[i]);
                plane->active[i] = SCARP_NONE;
            }
        }
    }
}

void scarp_blocks_add_bad(ScarpDrive *drive, uint32_t index)
{
    set_bad(drive, index);
}

bool scarp_blocks_set_bad(ScarpDrive *drive, GError **error)
{
    uint32_t blocks = drive->d.blocks_per_plane;
    uint32_t n = blocks * drive->d.bad_blocks_permille / 1000;
    uint64_t random = drive->seed * 2 + 1;

    for (uint32_t p = 0; p < drive->n_planes && n; p++) {
        ScarpPlane *plane = &drive->plane[p];

        while (plane->n_bad < n) {
            uint32_t index = p * blocks +
                             (uint32_t)((scarp_random(&random) >> 32) * blocks
                                        >> 32);

            if (scarp_block(drive, index)->state != BLOCK_BAD) {
                set_bad(drive, index);
            }
        }
        scarp_blocks_forget(drive, p);
        for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
            if (scarp_block(drive, b)->state != BLOCK_BAD) {
                free_push(drive, plane, b);
            }
        }
        if (!scarp_blocks_suffice(drive, p)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                        "nand.bad_blocks_permille=%" G_GUINT64_FORMAT
                        ": leaves %u spare blocks of a plane; %u are needed",
                        drive->d.bad_blocks_permille, spare(drive, plane),
                        spare_needed(drive));
            return false;
        }
    }
    return true;
}

void scarp_blocks_init(ScarpDrive *drive)
{
    uint32_t buckets = drive->units_per_block + 1;

    /* Of all planes together: few pages of memory, whichever plane is next. */
    drive->buckets = scarp_table_new((uint64_t)drive->n_planes * buckets *
                                     sizeof(BlockList));
    g_assert(drive->buckets);
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        ScarpPlane *plane = &drive->plane[p];

        plane->free.head = plane->full_head = plane->full_tail = SCARP_NONE;
        for (int i = 0; i < ACTIVE__COUNT; i++) {
            plane->active[i] = SCARP_NONE;
        }
        plane->bucket = &drive->buckets[(uint64_t)p * buckets];
        plane->bucket_filled = g_new0(uint64_t, buckets / 64 + 1);
        for (uint32_t i = 0; i < buckets; i++) {
            plane->bucket[i] = (BlockList) { SCARP_NONE, SCARP_NONE };
        }
        for (uint32_t b = 0; b < drive->d.blocks_per_plane; b++) {
            free_push(drive, plane, p * drive->d.blocks_per_plane + b);
        }
    }
}

uint32_t scarp_aligned_offset(const ScarpDrive *drive, uint32_t p)
{
    uint32_t block = drive->plane[p].active[ACTIVE_ALIGNED];

    return block == SCARP_NONE ? 0 : scarp_block(drive, block)->written;
}

bool scarp_aligned_possible(const ScarpDrive *drive, uint32_t p)
{
    const ScarpPlane *plane = &drive->plane[p];

    /* Both the host and GC must find a free block after it is opened. */
    return plane->active[ACTIVE_ALIGNED] != SCARP_NONE || plane->n_free >= 3;
}

/*
 * Whether the plane's aligned block is behind a sibling's, in the shorter way
 * round, and single programs shall fill it up.  One that no scheme uses any
 * longer always is.
 */
static bool lags(const ScarpDrive *drive, uint32_t p)
{
    uint32_t n = drive->d.planes_per_die, pages = drive->d.pages_per_block;
    uint32_t own = scarp_aligned_offset(drive, p);

    if (!drive->scheme.merge->aligned) {
        return drive->plane[p].active[ACTIVE_ALIGNED] != SCARP_NONE;
    }
    for (uint32_t q = p / n * n; q < p / n * n + n; q++) {
        uint32_t ahead = (scarp_aligned_offset(drive, q) + pages - own) % pages;

        if (ahead && ahead <= pages / 2) {
            return scarp_aligned_possible(drive, p);
        }
    }
    return false;
}

static int active_for(const ScarpDrive *drive, uint32_t p, ScarpOrigin origin,
                      uint16_t stream)
{
    if (origin != SCARP_ORIGIN_HOST && drive->d.separate_active_block) {
        return ACTIVE_GC;
    }
    return !stream && lags(drive, p) ? ACTIVE_ALIGNED : ACTIVE_HOST + stream;
}

bool scarp_alloc_possible(const ScarpDrive *drive, uint32_t p,
                          ScarpOrigin origin, uint16_t stream)
{
    const ScarpPlane *plane = &drive->plane[p];
    bool room = plane->active[active_for(drive, p, origin, stream)] !=
                SCARP_NONE;

    if (origin != SCARP_ORIGIN_HOST) {
        return room || plane->n_free > 0;
    }
    /* The last free block is GC's: without it no victim can be emptied. */
    if (room) {
        return drive->d.separate_active_block || plane->n_free >= 1;
    }
    return plane->n_free > 1;
}

uint32_t scarp_alloc_offset(const ScarpDrive *drive, uint32_t p,
                            ScarpOrigin origin, uint16_t stream)
{
    uint32_t active =
        drive->plane[p].active[active_for(drive, p, origin, stream)];

    return active == SCARP_NONE ? 0 : scarp_block(drive, active)->written;
}

/* *pages: as many as there shall be at most; then, as there are. */
static inline uint32_t next_pages(ScarpDrive *drive, uint32_t p, int kind,
                                  ScarpOrigin origin, uint16_t stream,
                                  uint32_t *pages)
{
    ScarpPlane *plane = &drive->plane[p];
    uint32_t *active = &plane->active[kind];
    ScarpBlock *block;
    uint32_t ppn;

    if (*active == SCARP_NONE || kind == ACTIVE_ALIGNED) {
        /* What scarp_gc_due() looks at changes only here, for the worse. */
        drive->die[scarp_plane_die(drive, p)].gc_settled = false;
    }
    if (*active == SCARP_NONE) {
        *active = free_pop(drive, plane);
        block = scarp_block(drive, *active);
        block->state = BLOCK_ACTIVE;
        block->origin = origin;
        block->stream = stream;
        drive->block_rest[*active].seq = drive->next_block_seq++;
    }
    block = scarp_block(drive, *active);
    ppn = *active * drive->units_per_block +
          block->written * drive->units_per_page;
    *pages = MIN(*pages, (uint32_t)drive->d.pages_per_block - block->written);
    block->written += *pages;
    block->modified_ns = drive->now_ns;
    if (block->written == drive->d.pages_per_block) {
        full_insert(drive, plane, *active);
        *active = SCARP_NONE;
    }
    return ppn;
}

static uint32_t next_page(ScarpDrive *drive, uint32_t p, int kind,
                          ScarpOrigin origin, uint16_t stream)
{
    uint32_t one = 1;

    return next_pages(drive, p, kind, origin, stream, &one);
}

uint32_t scarp_alloc_copies(ScarpDrive *drive, uint32_t p, uint32_t *pages)
{
    ScarpOrigin origin = SCARP_ORIGIN_GC;
    uint32_t ppn;

    if (drive->scheme.merge->aligned) {
        *pages = 1; /* each may change which block is behind */
    }
    ppn = next_pages(drive, p, active_for(drive, p, origin, 0), origin, 0,
                     pages);
    scarp_block(drive, scarp_ppn_block(drive, ppn))->programmed += *pages;
    return ppn;
}

uint32_t scarp_alloc_page(ScarpDrive *drive, uint32_t p, ScarpOrigin origin,
                          uint16_t stream)
{
    return next_page(drive, p, active_for(drive, p, origin, stream), origin,
                     stream);
}

uint32_t scarp_alloc_for(ScarpDrive *drive, const ScarpTx *tx)
{
    ScarpOrigin origin = tx->origin == SCARP_ORIGIN_HOST ? SCARP_ORIGIN_HOST
                                                         : SCARP_ORIGIN_GC;

    if (tx->aligned) {
        return next_page(drive, tx->plane, ACTIVE_ALIGNED, origin, 0);
    }
    return scarp_alloc_page(drive, tx->plane, origin,
                            origin == SCARP_ORIGIN_HOST ? tx->units->stream
                                                        : 0);
}

/* The block has so many valid units more, and a full one another bucket. */
static void change_valid(ScarpDrive *drive, uint32_t index, int change)
{
    ScarpPlane *plane = plane_of(drive, index);
    ScarpBlock *block = scarp_block(drive, index);

    if (block->state == BLOCK_FULL) {
        bucket_remove(drive, plane, index);
        block->valid += change;
        bucket_insert(drive, plane, index);
    } else {
        block->valid += change;
    }
    block->modified_ns = drive->now_ns;
    plane->valid += change;
}

void scarp_block_set_valid(ScarpDrive *drive, uint32_t ppn, int change)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - index * drive->units_per_block;

    change_valid(drive, index, change);
    scarp_block(drive, index)->is_valid[unit / 64] ^= 1ull << (unit % 64);
}

void scarp_block_expect(const ScarpDrive *drive, uint32_t ppn)
{
    if (ppn != SCARP_NONE) {
        uint32_t index = scarp_ppn_block(drive, ppn);

        __builtin_prefetch(scarp_block(drive, index), 1);
        __builtin_prefetch(&drive->link[index], 1);
    }
}

void scarp_block_filled(ScarpDrive *drive, uint32_t ppn, uint32_t n)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - index * drive->units_per_block;
    ScarpBlock *block = scarp_block(drive, index);

    change_valid(drive, index, (int)n);
    while (n) {
        uint32_t bit = unit % 64, bits = MIN(n, 64 - bit);

        block->is_valid[unit / 64] |= UINT64_MAX >> (64 - bits) << bit;
        unit += bits;
        n -= bits;
    }
}

void scarp_block_emptied(ScarpDrive *drive, uint32_t index)
{
    ScarpBlock *block = scarp_block(drive, index);

    change_valid(drive, index, -(int)block->valid);
    memset(block->is_valid, 0, scarp_valid_bytes(drive));
}

void scarp_block_take(ScarpDrive *drive, uint32_t index)
{
    full_remove(drive, plane_of(drive, index), index);
    scarp_block(drive, index)->state = BLOCK_VICTIM;
}

void scarp_block_put_back(ScarpDrive *drive, uint32_t index)
{
    full_insert(drive, plane_of(drive, index), index);
}

void scarp_block_erase(ScarpDrive *drive, uint32_t index)
{
    ScarpPlane *plane = plane_of(drive, index);
    ScarpBlock *block = scarp_block(drive, index);
    uint32_t first = index * drive->units_per_block;

    /* A unit that still lives, or a program on its way, is a lost write. */
    if (block->valid || block->programmed != block->written) {
        drive->broken = true;
    }
    for (uint32_t i = 0; i < drive->units_per_block; i++) {
        drive->p2l[first + i] = SCARP_NONE;
    }
    g_clear_pointer(&drive->block_rest[index].data, g_free);
    block->written = block->programmed = 0;
    block->erases++;
    drive->stats.erases++;
    if (drive->d.endurance_erases &&
        block->erases >= drive->d.endurance_erases && plane->n_free > 1 &&
        spare(drive, plane) > spare_needed(drive)) {
        set_bad(drive, index);
        return;
    }
    free_push(drive, plane, index);
}
