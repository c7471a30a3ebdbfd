/*
 * Functions of blocks for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_OPS_H
#define SCARP_BLOCKS_OPS_H

#include "media/ops.h"

/* Returns the bytes of the tables of blocks. */
uint64_t scarp_blocks_bytes(const ScarpGeometry *geo);
bool scarp_blocks_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_blocks_clear(ScarpDrive *drive);

/* Returns the block's record, for the functions below. */
static inline ScarpBlock *scarp_block_record(const ScarpDrive *drive,
                                             uint32_t block)
{
    return (ScarpBlock *)(drive->blocks.records +
                          (uint64_t)block * drive->blocks.record_bytes);
}

/* ---- A plane, seen ------------------------------------------------------ */

/*
 * Returns how many free blocks the plane has, without those that are kept for
 * translation units or recovery.
 */
static inline uint32_t scarp_plane_free_blocks(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].n_free +
           drive->blocks.plane[plane].n_map - drive->geo.kept_blocks;
}

/*
 * Returns how many free blocks the plane's promised pages need, at most all of
 * them.
 */
uint32_t scarp_plane_promised_blocks(const ScarpDrive *drive, uint32_t plane);

/*
 * Promises so many more pages of the plane to copies from other planes, or
 * ahead of time: nobody else may take their blocks. Less than 0: withdraws
 * promises.
 */
static inline void scarp_plane_promise(ScarpDrive *drive, uint32_t plane,
                                       int change)
{
    drive->blocks.plane[plane].promised += change;
}

static inline uint32_t scarp_plane_promised_pages(const ScarpDrive *drive,
                                                  uint32_t plane)
{
    return drive->blocks.plane[plane].promised;
}

/*
 * Returns how many pages collections could write in the plane without an erase:
 * those of GC's open block and of free blocks.
 */
uint32_t scarp_plane_collection_pages(const ScarpDrive *drive, uint32_t plane);

static inline bool scarp_plane_is_promised(const ScarpDrive *drive,
                                           uint32_t plane)
{
    return drive->blocks.plane[plane].promised;
}

/*
 * Returns how many free blocks the plane has, without those that promised pages
 * need.
 */
static inline uint32_t scarp_plane_spare_blocks(const ScarpDrive *drive,
                                                uint32_t plane)
{
    uint32_t n_free = scarp_plane_free_blocks(drive, plane);

    return drive->blocks.plane[plane].promised
               ? n_free - scarp_plane_promised_blocks(drive, plane) : n_free;
}

/* Returns how many blocks of the plane contain translation units. */
static inline uint32_t scarp_plane_translation_blocks(const ScarpDrive *drive,
                                                      uint32_t plane)
{
    return drive->blocks.plane[plane].n_map;
}

/* Returns how many free blocks the plane has, kept ones included. */
static inline uint32_t scarp_plane_erased_blocks(const ScarpDrive *drive,
                                                 uint32_t plane)
{
    return drive->blocks.plane[plane].n_free;
}

static inline uint32_t scarp_plane_bad_blocks(const ScarpDrive *drive,
                                              uint32_t plane)
{
    return drive->blocks.plane[plane].n_bad;
}

static inline uint32_t scarp_plane_full_blocks(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].n_full;
}

/* Returns how many valid units all blocks of the plane have. */
static inline uint32_t scarp_plane_valid_units(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].valid;
}

/* Returns how many free blocks all planes have. */
static inline uint32_t scarp_free_blocks(const ScarpDrive *drive)
{
    return drive->blocks.n_free;
}

/* Returns how many translation units have their place in a plane, at most. */
static inline uint32_t scarp_plane_translation_units(const ScarpDrive *drive)
{
    uint32_t n = drive->geo.mapped_units - drive->geo.first_translation_unit;

    return (n + drive->geo.n_planes - 1) / drive->geo.n_planes;
}

/*
 * Returns the most valid units with which the plane still has a victim while
 * the host waits for a collection. With more, all of its full blocks might be
 * too full to be victims (core/spare.c).
 */
static inline uint32_t scarp_plane_limit_units(const ScarpDrive *drive,
                                               uint32_t plane)
{
    uint32_t full = drive->desc.blocks_per_plane -
                    drive->blocks.plane[plane].n_bad -
                    drive->geo.translation_blocks - drive->geo.not_full_blocks;

    return full * (drive->geo.units_per_block - drive->geo.gain_units + 1) -
           1 + scarp_plane_translation_units(drive);
}

/*
 * Returns the valid units up to which the plane takes in units from other
 * planes.
 */
static inline uint32_t scarp_plane_ceiling_units(const ScarpDrive *drive,
                                                 uint32_t plane)
{
    /*
     * Blocks without data: the reserve, open blocks, and those that the plane's
     * own collection may need.
     */
    uint32_t spare = scarp_reserved_blocks(&drive->desc) +
                     drive->blocks.plane[plane].n_bad +
                     drive->geo.translation_blocks;

    return MIN((drive->desc.blocks_per_plane - spare) *
                       drive->geo.units_per_block +
                   scarp_plane_translation_units(drive),
               scarp_plane_limit_units(drive, plane));
}

/* ---- Blocks of translation units (ftl.mapping=demand) ------------------- */

static inline bool scarp_block_is_translation(const ScarpDrive *drive,
                                              uint32_t block)
{
    return drive->geo.translation_blocks &&
           scarp_media_origin(drive, block) == SCARP_ORIGIN_MAP;
}

/*
 * True when translation units have to be collected: none of the plane's blocks
 * for them is open, and only the one that their collection needs is left.
 */
static inline bool scarp_translation_due(const ScarpDrive *drive,
                                         uint32_t plane)
{
    return drive->geo.translation_blocks &&
           drive->blocks.plane[plane].n_map + 1 >=
               drive->geo.translation_blocks &&
           drive->blocks.plane[plane].active[WRITE_HOST + SCARP_MAP_STREAM] ==
               SCARP_NONE;
}

/*
 * True when a collection of translation units is due or runs, so that other
 * programs of translation units must wait.
 */
static inline bool scarp_translation_short(const ScarpDrive *drive,
                                           uint32_t plane)
{
    return scarp_translation_due(drive, plane) ||
           (drive->geo.translation_blocks &&
            drive->blocks.plane[plane].n_map == drive->geo.translation_blocks);
}

/*
 * Returns the plane's full block of translation units with the fewest valid
 * ones, or SCARP_NONE.
 */
uint32_t scarp_translation_victim(const ScarpDrive *drive, uint32_t plane);

/* True when the plane has as many good blocks as it needs (core/spare.c). */
bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t plane);
/* Returns how many blocks of the plane may still go bad. */
uint32_t scarp_blocks_beyond_need(const ScarpDrive *drive, uint32_t plane);

/*
 * True when a block of the die was opened since the mark was last cleared.
 * Without that no collection can have become due.
 */
static inline bool scarp_blocks_opened(const ScarpDrive *drive, uint32_t die)
{
    return drive->blocks.opened[die];
}

static inline void scarp_blocks_set_opened(ScarpDrive *drive, uint32_t die)
{
    drive->blocks.opened[die] = true;
}

static inline void scarp_blocks_clear_opened(ScarpDrive *drive, uint32_t die)
{
    drive->blocks.opened[die] = false;
}

/* ---- Candidates for a victim: read-only --------------------------------- */

static inline uint32_t scarp_block_valid(const ScarpDrive *drive,
                                         uint32_t block)
{
    return scarp_block_record(drive, block)->valid;
}

static inline int64_t scarp_block_modified_ns(const ScarpDrive *drive,
                                              uint32_t block)
{
    return scarp_block_record(drive, block)->modified_ns;
}

/* Returns how many pages of the block were given to programs, ended or not. */
static inline uint32_t scarp_block_written(const ScarpDrive *drive,
                                           uint32_t block)
{
    return scarp_block_record(drive, block)->written;
}

static inline bool scarp_block_is_full(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_record(drive, block)->state == BLOCK_FULL;
}

/* Returns the block that was filled longest ago, or SCARP_NONE. */
static inline uint32_t scarp_plane_oldest_full(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].full.head;
}

/*
 * Returns a word of the map that tells which numbers of valid units the plane's
 * full blocks have: bit i stands for 64 * word + i units. Words go up to
 * units_per_block / 64.
 */
static inline uint64_t scarp_bucket_word(const ScarpDrive *drive,
                                         uint32_t plane, uint32_t word)
{
    return drive->blocks.plane[plane].bucket_filled[word];
}

/*
 * Returns the full block that changed longest ago, of those with `valid` valid
 * units, or SCARP_NONE.
 */
static inline uint32_t scarp_bucket_first(const ScarpDrive *drive,
                                          uint32_t plane, uint32_t valid)
{
    return drive->blocks.plane[plane].bucket[valid].head;
}

/* Returns the next full block with equally many valid units, or SCARP_NONE. */
static inline uint32_t scarp_bucket_next(const ScarpDrive *drive,
                                         uint32_t block)
{
    return drive->blocks.link[block].next;
}

/* ---- Blocks ------------------------------------------------------------- */

/* Makes a full block a victim, which is no candidate any longer. */
void scarp_block_take(ScarpDrive *drive, uint32_t block);
/*
 * Makes a victim a candidate again, without an erase, after work ahead of time.
 */
void scarp_block_put_back(ScarpDrive *drive, uint32_t block);
/*
 * Called when the block's erase has ended: the block becomes free, or, if it is
 * worn out, bad.
 */
void scarp_block_erased(ScarpDrive *drive, uint32_t block);
/*
 * Called like scarp_block_erased() if the plane needs the block now: it becomes
 * free, worn out or not.
 */
void scarp_block_erased_needed(ScarpDrive *drive, uint32_t block);

/* ---- Pages: blocks/write_points.c --------------------------------------- */

/* True when a page can be taken now. Only GC may use the last free block. */
bool scarp_page_possible(const ScarpDrive *drive, uint32_t plane,
                         ScarpOrigin origin, uint16_t stream);
/* Returns the next page's offset in its block. */
uint32_t scarp_page_offset(const ScarpDrive *drive, uint32_t plane,
                           ScarpOrigin origin, uint16_t stream);
/*
 * Takes the plane's next page for a stream, and returns the page's first PPN.
 * The caller has checked that it is possible. For SCARP_ORIGIN_GC stream is 0,
 * or SCARP_MAP_STREAM.
 */
uint32_t scarp_page_take(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin,
                         uint16_t stream);
/*
 * Do the same for the plane's aligned block as the three functions above. If
 * none is open, the offset is 0.
 */
enum { SCARP_ALIGNED_FREE = 3 }; /* least free blocks to open an aligned one */
bool scarp_aligned_possible(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_aligned_offset(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_aligned_take(ScarpDrive *drive, uint32_t plane,
                            ScarpOrigin origin);
/* True when an aligned block of the plane is open. */
static inline bool scarp_aligned_open(const ScarpDrive *drive, uint32_t plane)
{
    return drive->blocks.plane[plane].active[WRITE_ALIGNED] != SCARP_NONE;
}
/*
 * Takes up to *pages pages for copies that take no time: they count as
 * programmed at once. Sets *pages to the pages taken, which lie one after the
 * other.
 */
uint32_t scarp_page_take_copies(ScarpDrive *drive, uint32_t plane,
                                uint16_t stream, uint32_t *pages);

/* ---- Blocks that the mapping owns: blocks/owned.c ----------------------- */

/* Gives the mapping a free block of the plane. There must be one. */
uint32_t scarp_block_open(ScarpDrive *drive, uint32_t plane,
                          ScarpOrigin origin);
/*
 * Takes the next page of a block that the mapping owns, and returns its first
 * PPN. There must be one. Pages go in order.
 */
uint32_t scarp_block_next_page(ScarpDrive *drive, uint32_t block);

/* True when no program is on its way to the block. */
static inline bool scarp_block_settled(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_programmed(drive, block) ==
           scarp_block_record(drive, block)->written;
}

/* ---- Valid units: blocks/valid.c ---------------------------------------- */

/* Called when a unit has become valid (+1) or invalid (-1). */
void scarp_block_set_valid(ScarpDrive *drive, uint32_t ppn, int change);
/*
 * Called when the n units of a block from ppn on have become valid. None of
 * them was valid.
 */
void scarp_block_filled(ScarpDrive *drive, uint32_t ppn, uint32_t n);
/* Called when all units of the block have become invalid. */
void scarp_block_emptied(ScarpDrive *drive, uint32_t block);

static inline bool scarp_unit_is_valid(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t block = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - scarp_block_ppn(drive, block);

    return scarp_block_record(drive, block)->is_valid[unit / 64] >>
               (unit % 64) & 1;
}

/*
 * Returns the valid marks of n units of a block, from ppn on: n is 64 at most,
 * and the first unit has the lowest bit.
 */
static inline uint64_t scarp_valid_bits(const ScarpDrive *drive, uint32_t ppn,
                                        uint32_t n)
{
    uint32_t block = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - scarp_block_ppn(drive, block), bit = unit % 64;
    const uint64_t *word =
        &scarp_block_record(drive, block)->is_valid[unit / 64];
    uint64_t bits = *word >> bit;

    if (bit + n > 64) {
        bits |= word[1] << (64 - bit);
    }
    return bits & UINT64_MAX >> (64 - n);
}

/*
 * Prefetches the block's records, as the unit at ppn will soon become invalid.
 * ppn may be SCARP_NONE.
 */
static inline void scarp_block_expect(const ScarpDrive *drive, uint32_t ppn)
{
    if (ppn != SCARP_NONE) {
        uint32_t block = scarp_ppn_block(drive, ppn);

        __builtin_prefetch(scarp_block_record(drive, block), 1);
        __builtin_prefetch(&drive->blocks.link[block], 1);
    }
}

/* ---- For images: blocks/load.c ------------------------------------------ */

ScarpBlockState scarp_block_state(const ScarpDrive *drive, uint32_t block);
/*
 * Return the blocks of a plane's lists, one by one in their order, and then
 * SCARP_NONE.
 */
uint32_t scarp_blocks_first_free(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_blocks_next_free(const ScarpDrive *drive, uint32_t block);
uint32_t scarp_blocks_next_full(const ScarpDrive *drive, uint32_t block);
/*
 * Returns the open block of a write point (below WRITE__COUNT), or SCARP_NONE.
 */
uint32_t scarp_blocks_active(const ScarpDrive *drive, uint32_t plane,
                             int point);

/*
 * Sets the state of a new drive's block. Its valid marks, and its place in a
 * list, are set afterwards.
 */
void scarp_block_load(ScarpDrive *drive, uint32_t block, ScarpBlockState state,
                      uint32_t written, int64_t modified_ns);
/* Marks one unit as valid. Its block is in no list yet. */
void scarp_block_load_valid(ScarpDrive *drive, uint32_t ppn);
/*
 * Empties a new drive's free list. Then each block is added, in the order of
 * its list. A full block is added twice: first in the order of filling, and
 * later, when its valid units are known, among the candidates.
 */
void scarp_blocks_forget(ScarpDrive *drive, uint32_t plane);
void scarp_blocks_add_free(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_full(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_candidate(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_bad(ScarpDrive *drive, uint32_t block);
/*
 * Returns false if the plane has no room for another block of translation
 * units.
 */
bool scarp_blocks_add_translation(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_active(ScarpDrive *drive, uint32_t plane, int point,
                             uint32_t block);
/*
 * Makes open blocks full, if with this drive's settings nobody would write on
 * them.
 */
void scarp_blocks_close_unused(ScarpDrive *drive);
/* Makes some blocks of a new drive bad from the start, chosen by the seed. */
void scarp_blocks_set_bad(ScarpDrive *drive);

/* ---- After a power cut: blocks/recover.c -------------------------------- */

/*
 * Sets the state of each block of a new drive by its cells: free, bad, or, if
 * it has programmed pages, apart.
 */
void scarp_blocks_recover(ScarpDrive *drive);
/* Gives a block that is apart its new state. */
void scarp_block_recover(ScarpDrive *drive, uint32_t block,
                         ScarpBlockState state);
/* Makes a block count as full, though some of its pages are erased. */
void scarp_block_close_early(ScarpDrive *drive, uint32_t block);
/* Opens a free block of the plane for recovery. There must be one. */
uint32_t scarp_block_open_apart(ScarpDrive *drive, uint32_t plane,
                                ScarpOrigin origin);
/* True when the plane has a free block beside those that are kept. */
static inline bool scarp_plane_is_sound(const ScarpDrive *drive, uint32_t plane)
{
    return drive->blocks.plane[plane].n_free +
               drive->blocks.plane[plane].n_map > drive->geo.kept_blocks;
}

/* ---- Laws: blocks/laws.c ------------------------------------------------ */

/* Checks that the plane's counts, marks and lists agree with its blocks. */
bool scarp_blocks_check(const ScarpDrive *drive, uint32_t plane,
                        GError **error);

#endif /* SCARP_BLOCKS_OPS_H */
