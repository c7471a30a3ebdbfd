/*
 * Functions that the sources of blocks share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_INTERNAL_H
#define SCARP_BLOCKS_INTERNAL_H

#include "blocks/ops.h"

static inline ScarpBlocksPlane *scarp_blocks_plane_of(const ScarpDrive *drive,
                                                      uint32_t block)
{
    return &drive->blocks.plane[scarp_block_plane(drive, block)];
}

/* Returns the bytes of ScarpBlock.is_valid[]. */
static inline uint32_t scarp_valid_bytes(const ScarpGeometry *geo)
{
    return (geo->units_per_block + 63) / 64 * sizeof(uint64_t);
}

/*
 * Appends a block to the bucket for its number of valid units. The first block
 * of a bucket is thus the one that has been there longest. The code writes the
 * links of the bucket's former last block, but does not read them: these links
 * are seldom in the CPU's cache, and a CPU waits for a read, not for a write.
 */
static inline void scarp_bucket_insert(ScarpDrive *drive,
                                       ScarpBlocksPlane *plane, uint32_t index,
                                       uint32_t valid)
{
    ScarpBlockList *list = &plane->bucket[valid];
    ScarpBlockLink *link = drive->blocks.link;

    link[index] = (ScarpBlockLink) { SCARP_NONE, list->tail };
    if (list->tail == SCARP_NONE) {
        list->head = index;
        plane->bucket_filled[valid / 64] |= 1ull << (valid % 64);
    } else {
        link[list->tail].next = index;
    }
    list->tail = index;
}

static inline void scarp_bucket_remove(ScarpDrive *drive,
                                       ScarpBlocksPlane *plane, uint32_t index,
                                       uint32_t valid)
{
    ScarpBlockList *list = &plane->bucket[valid];
    ScarpBlockLink *links = drive->blocks.link, link = links[index];

    *(link.next == SCARP_NONE ? &list->tail : &links[link.next].prev) =
        link.prev;
    *(link.prev == SCARP_NONE ? &list->head : &links[link.prev].next) =
        link.next;
    if (list->head == SCARP_NONE) {
        plane->bucket_filled[valid / 64] &= ~(1ull << (valid % 64));
    }
}

/*
 * blocks/blocks.c: scarp_full_append() adds a full block to the plane's list by
 * time of filling. scarp_full_insert() also adds the block to the bucket for
 * its number of valid units, where victim policies find it.
 */
void scarp_full_append(ScarpDrive *drive, ScarpBlocksPlane *plane,
                       uint32_t index);
void scarp_full_insert(ScarpDrive *drive, ScarpBlocksPlane *plane,
                       uint32_t index);
/* Removes a block from the list that scarp_full_append() adds it to. */
void scarp_full_unlink(ScarpDrive *drive, ScarpBlocksPlane *plane,
                       uint32_t index);
void scarp_free_push(ScarpDrive *drive, ScarpBlocksPlane *plane,
                     uint32_t index);
uint32_t scarp_free_pop(ScarpDrive *drive, ScarpBlocksPlane *plane);
/* Called when the last page of a block of translation units has been taken. */
void scarp_translation_insert(ScarpDrive *drive, uint32_t index);
/*
 * Functions of blocks/slc.c, for blocks of the SLC cache. scarp_slc_offset()
 * and scarp_slc_take() work like scarp_page_offset() and scarp_page_take().
 * These two functions may be called only when scarp_slc_has_room() returns
 * true. scarp_slc_remove() is called when a full SLC block becomes a victim.
 * scarp_slc_erased() is called after an erase, with the mode that the block had
 * before. It returns true if the block needs nothing more: it is static, and so
 * stays an SLC block, or has become bad. needed: the block must not become bad.
 */
void scarp_slc_init(ScarpDrive *drive);
void scarp_slc_clear(ScarpDrive *drive);
uint32_t scarp_slc_offset(const ScarpDrive *drive, uint32_t plane,
                          uint16_t stream);
uint32_t scarp_slc_take(ScarpDrive *drive, uint32_t plane, uint16_t stream);
void scarp_slc_remove(ScarpDrive *drive, uint32_t block);
bool scarp_slc_erased(ScarpDrive *drive, uint32_t block, ScarpCellMode mode,
                      bool needed);
/*
 * scarp_slc_recover() is called for each good block of a new drive that has got
 * the cells of another one. `pages` is the number of the block's pages in use.
 * If the block has such pages and is in SLC mode, the function counts it as an
 * SLC block. The function returns true if the block needs nothing more: it is
 * static and free. scarp_slc_recover_full() is called only after a power cut,
 * for the blocks with valid units, in the order of their openings.
 */
bool scarp_slc_recover(ScarpDrive *drive, uint32_t block, uint32_t pages);
void scarp_slc_recover_full(ScarpDrive *drive, uint32_t block);
/*
 * Closes the open SLC blocks of streams that the drive does not have. Their
 * pages that are not written stay empty.
 */
void scarp_slc_close_unused(ScarpDrive *drive, uint32_t plane);
/*
 * blocks/slc_laws.c: checks the plane's blocks of the SLC cache. Adds the
 * number of open SLC blocks to *open, and the number of free static SLC blocks
 * to *free.
 */
bool scarp_slc_check(const ScarpDrive *drive, uint32_t plane, uint32_t *open,
                     uint32_t *free, GError **error);
/*
 * Functions of blocks/ru.c, for drives with reclaim units of several planes.
 * scarp_ru_possible(), scarp_ru_offset() and scarp_ru_take() do what
 * scarp_page_possible(), scarp_page_offset() and scarp_page_take() do.
 * scarp_ru_valid_changed() is called when the block's valid units have changed,
 * scarp_ru_erased() when it was erased, and scarp_ru_freed() when it was put
 * into its plane's free list.
 */
bool scarp_ru_possible(const ScarpDrive *drive, uint32_t plane,
                       ScarpOrigin origin, uint16_t stream);
uint32_t scarp_ru_offset(const ScarpDrive *drive, uint32_t plane,
                         ScarpOrigin origin, uint16_t stream);
uint32_t scarp_ru_take(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin,
                       uint16_t stream);
void scarp_ru_valid_changed(ScarpDrive *drive, uint32_t block, int change);
void scarp_ru_erased(ScarpDrive *drive, uint32_t block);
void scarp_ru_freed(ScarpDrive *drive, uint32_t block);
void scarp_ru_clear(ScarpDrive *drive);
/* Returns the write point of a host's stream, or of copies of its units. */
int scarp_ru_point_for(const ScarpDrive *drive, ScarpOrigin origin,
                       uint16_t stream);
/* Returns the number of the unit with this block in the group's first plane. */
uint32_t scarp_ru_number(const ScarpDrive *drive, uint32_t group,
                         uint32_t block);
/* Takes the plane's first free block, for a unit that lacks one there. */
uint32_t scarp_ru_take_free(ScarpDrive *drive, uint32_t plane);
/* Returns how many planes a reclaim unit has. */
static inline uint32_t scarp_ru_planes(const ScarpDrive *drive)
{
    return (uint32_t)drive->desc.reclaim_planes;
}

/* Returns the unit's blocks, one of each plane of its group. */
static inline uint32_t *scarp_ru_blocks(const ScarpDrive *drive,
                                        uint32_t number)
{
    return &drive->blocks.rus->block[(uint64_t)number * scarp_ru_planes(drive)];
}

/* Returns the number of the full or open unit with this first block. */
static inline uint32_t scarp_ru_of(const ScarpDrive *drive, uint32_t block)
{
    return drive->blocks.rus->unit_of[block];
}

/* Returns the plane whose lists of full blocks are the group's of units. */
static inline ScarpBlocksPlane *scarp_ru_lists(const ScarpDrive *drive,
                                               uint32_t group)
{
    return &drive->blocks.plane[group * scarp_ru_planes(drive)];
}

/* Counts the units that the group can open, and tells its planes. */
void scarp_ru_count_free(ScarpDrive *drive, uint32_t group);
/* Lets all dies of the group look for work: programs may have a page now. */
void scarp_ru_kick(ScarpDrive *drive, uint32_t group);
/* blocks/ru_load.c: closes the open units of streams that the drive lacks. */
void scarp_ru_close_unused(ScarpDrive *drive);
/* Returns the stream of the unit's write point; 0 for copies of several. */
uint16_t scarp_ru_point_stream(const ScarpRu *unit);
uint64_t scarp_ru_bytes(const ScarpGeometry *geo);
/*
 * blocks/ru_laws.c: checks the free blocks, full blocks and open blocks of a
 * plane, and, for the first plane of a group, the group's units.
 */
bool scarp_ru_check(const ScarpDrive *drive, uint32_t plane, GError **error);
/*
 * Functions of blocks/laws.c. scarp_block_marks() counts the block's valid
 * bits. scarp_buckets_check() checks the lists of candidates by valid units, and
 * adds the number of blocks in them to *listed.
 */
uint32_t scarp_block_marks(const ScarpDrive *drive, uint32_t block);
bool scarp_buckets_check(const ScarpDrive *drive, uint32_t plane,
                         uint32_t *listed, GError **error);
/* Functions of blocks/bad.c. */
void scarp_block_set_bad(ScarpDrive *drive, uint32_t index);
/*
 * True when the block's cells have reached their endurance and the block may
 * become bad: the plane has at least two free blocks that no reserved page
 * needs, and more good blocks than it must have.
 */
bool scarp_block_is_worn_out(const ScarpDrive *drive, uint32_t index);

/*
 * True when the drive ever writes to the write point `point`, which must not be
 * WRITE_GC. The answer follows from the number of streams and from ftl.mapping.
 */
static inline bool scarp_write_point_used(const ScarpDrive *drive, int point)
{
    return point < WRITE_HOST + (int)drive->desc.streams ||
           (point == WRITE_HOST + SCARP_MAP_STREAM &&
            drive->geo.translation_blocks);
}

#endif /* SCARP_BLOCKS_INTERNAL_H */
