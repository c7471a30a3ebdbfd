/*
 * What other rooms may ask of blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_OPS_H
#define SCARP_BLOCKS_OPS_H

#include "media/ops.h"

/* Bytes of its tables. */
uint64_t scarp_blocks_bytes(const ScarpGeometry *geo);
bool scarp_blocks_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_blocks_clear(ScarpDrive *drive);

/* For the functions below. */
static inline ScarpBlock *scarp_block_record(const ScarpDrive *drive,
                                             uint32_t block)
{
    return (ScarpBlock *)(drive->blocks.records +
                          (uint64_t)block * drive->blocks.record_bytes);
}

/* ---- A plane, seen ------------------------------------------------------ */

/* Free blocks, those that are kept for translation units, or recovery, aside. */
static inline uint32_t scarp_plane_free_blocks(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].n_free +
           drive->blocks.plane[plane].n_map - drive->geo.kept_blocks;
}

/* Free blocks that promised pages need, at most all there are. */
uint32_t scarp_plane_promised_blocks(const ScarpDrive *drive, uint32_t plane);

/*
 * Pages of the plane that will be taken by collections that are not its own
 * collection of a victim: nobody else may have their blocks.
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

/* What a collection could write without an erase: of its own block, and free. */
uint32_t scarp_plane_collection_pages(const ScarpDrive *drive, uint32_t plane);

static inline bool scarp_plane_is_promised(const ScarpDrive *drive,
                                           uint32_t plane)
{
    return drive->blocks.plane[plane].promised;
}

/* Free blocks, but for those of pages that are promised. */
static inline uint32_t scarp_plane_spare_blocks(const ScarpDrive *drive,
                                                uint32_t plane)
{
    uint32_t n_free = scarp_plane_free_blocks(drive, plane);

    return drive->blocks.plane[plane].promised
               ? n_free - scarp_plane_promised_blocks(drive, plane) : n_free;
}

/* Blocks that translation units are in. */
static inline uint32_t scarp_plane_translation_blocks(const ScarpDrive *drive,
                                                      uint32_t plane)
{
    return drive->blocks.plane[plane].n_map;
}

/* Free ones, all of them. */
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

/* Valid units in all blocks of the plane. */
static inline uint32_t scarp_plane_valid_units(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].valid;
}

/* In all planes. */
static inline uint32_t scarp_free_blocks(const ScarpDrive *drive)
{
    return drive->blocks.n_free;
}

/* Translation units that live in a plane, at most. */
static inline uint32_t scarp_plane_translation_units(const ScarpDrive *drive)
{
    uint32_t n = drive->geo.mapped_units - drive->geo.first_translation_unit;

    return (n + drive->geo.n_planes - 1) / drive->geo.n_planes;
}

/*
 * Valid units of a plane beyond which no full block need be a victim, while the
 * host waits for one: core/spare.c.
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

/* Those up to which units from elsewhere are welcome. */
static inline uint32_t scarp_plane_ceiling_units(const ScarpDrive *drive,
                                                 uint32_t plane)
{
    /* Active blocks, the reserve, and what its own collection may need. */
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
 * None is open, and but for the one that their collection needs, all that the
 * plane has for them are full.
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

/* The same, or it is being collected: other programs of them must wait. */
static inline bool scarp_translation_short(const ScarpDrive *drive,
                                           uint32_t plane)
{
    return scarp_translation_due(drive, plane) ||
           (drive->geo.translation_blocks &&
            drive->blocks.plane[plane].n_map == drive->geo.translation_blocks);
}

/* The full one with the least valid units, or SCARP_NONE. */
uint32_t scarp_translation_victim(const ScarpDrive *drive, uint32_t plane);

/* Whether a plane has the blocks that it needs besides what the host fills. */
bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t plane);
/* How many more may go bad. */
uint32_t scarp_blocks_beyond_need(const ScarpDrive *drive, uint32_t plane);

/*
 * A block of the die was opened since the mark was cleared: what is due
 * changes only then, for the worse.
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

/* Pages that were given to programs, whether those have ended or not. */
static inline uint32_t scarp_block_written(const ScarpDrive *drive,
                                           uint32_t block)
{
    return scarp_block_record(drive, block)->written;
}

static inline bool scarp_block_is_full(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_record(drive, block)->state == BLOCK_FULL;
}

/* Filled longest ago, or SCARP_NONE. */
static inline uint32_t scarp_plane_oldest_full(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].full.head;
}

/*
 * Full blocks by valid units: a bit for each number from 64 * word on that
 * some block has.  Words up to units_per_block / 64.
 */
static inline uint64_t scarp_bucket_word(const ScarpDrive *drive,
                                         uint32_t plane, uint32_t word)
{
    return drive->blocks.plane[plane].bucket_filled[word];
}

/* Of those with so many the one that changed longest ago, or SCARP_NONE. */
static inline uint32_t scarp_bucket_first(const ScarpDrive *drive,
                                          uint32_t plane, uint32_t valid)
{
    return drive->blocks.plane[plane].bucket[valid].head;
}

/* The next with as many, or SCARP_NONE. */
static inline uint32_t scarp_bucket_next(const ScarpDrive *drive,
                                         uint32_t block)
{
    return drive->blocks.link[block].next;
}

/* ---- Blocks ------------------------------------------------------------- */

/* It leaves the full blocks. */
void scarp_block_take(ScarpDrive *drive, uint32_t block);
/* Back among the candidates, not erased (PREMIGRATE ends so). */
void scarp_block_put_back(ScarpDrive *drive, uint32_t block);
/* Its erase has ended: it is free, or worn out. */
void scarp_block_erased(ScarpDrive *drive, uint32_t block);
/* The same of one that its plane needs now: it is free, worn out or not. */
void scarp_block_erased_needed(ScarpDrive *drive, uint32_t block);

/* ---- Pages: blocks/write_points.c --------------------------------------- */

/* Whether a page can be taken now; GC may use the last free block. */
bool scarp_page_possible(const ScarpDrive *drive, uint32_t plane,
                         ScarpOrigin origin, uint16_t stream);
/* Offset in its block of the page that would be taken next. */
uint32_t scarp_page_offset(const ScarpDrive *drive, uint32_t plane,
                           ScarpOrigin origin, uint16_t stream);
/*
 * First PPN of the plane's next page; the caller checked that there is one.
 * HOST: of this stream; GC: stream is 0, or SCARP_MAP_STREAM.
 */
uint32_t scarp_page_take(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin,
                         uint16_t stream);
/* The same three of the plane's aligned block; offset: 0 when it opens. */
bool scarp_aligned_possible(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_aligned_offset(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_aligned_take(ScarpDrive *drive, uint32_t plane,
                            ScarpOrigin origin);
/* Whether the plane has an aligned block open. */
static inline bool scarp_aligned_open(const ScarpDrive *drive, uint32_t plane)
{
    return drive->blocks.plane[plane].active[WRITE_ALIGNED] != SCARP_NONE;
}
/*
 * *pages of them, for GC's copies that take no time: their programs have
 * ended.  *pages becomes less when fewer lie one after the other.
 */
uint32_t scarp_page_take_copies(ScarpDrive *drive, uint32_t plane,
                                uint16_t stream, uint32_t *pages);

/* ---- Blocks that the mapping owns: blocks/owned.c ----------------------- */

/* A free block of the plane, which there must be, is the mapping's. */
uint32_t scarp_block_open(ScarpDrive *drive, uint32_t plane,
                          ScarpOrigin origin);
/* First PPN of its next page; it must have one.  Pages go in order. */
uint32_t scarp_block_next_page(ScarpDrive *drive, uint32_t block);

/* No program of its pages is on its way. */
static inline bool scarp_block_settled(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_programmed(drive, block) ==
           scarp_block_record(drive, block)->written;
}

/* ---- Valid units: blocks/valid.c ---------------------------------------- */

/* A unit has become valid (+1) or no longer is (-1). */
void scarp_block_set_valid(ScarpDrive *drive, uint32_t ppn, int change);
/* n units of one block from ppn on, which were not, are valid. */
void scarp_block_filled(ScarpDrive *drive, uint32_t ppn, uint32_t n);
/* None of its units is valid any longer. */
void scarp_block_emptied(ScarpDrive *drive, uint32_t block);

static inline bool scarp_unit_is_valid(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t block = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - scarp_block_ppn(drive, block);

    return scarp_block_record(drive, block)->is_valid[unit / 64] >>
               (unit % 64) & 1;
}

/* A bit for each of n <= 64 units of a block, from ppn on, the first lowest. */
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

/* A hint: ppn's unit will no longer be valid soon; SCARP_NONE: none will. */
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
/* The lists of a plane, in their order; SCARP_NONE ends them. */
uint32_t scarp_blocks_first_free(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_blocks_next_free(const ScarpDrive *drive, uint32_t block);
uint32_t scarp_blocks_next_full(const ScarpDrive *drive, uint32_t block);
/* The open block of a write point < WRITE__COUNT, or SCARP_NONE. */
uint32_t scarp_blocks_active(const ScarpDrive *drive, uint32_t plane,
                             int point);

/* A new drive's block gets the state that it had; marks and lists follow. */
void scarp_block_load(ScarpDrive *drive, uint32_t block, ScarpBlockState state,
                      uint32_t written, int64_t modified_ns);
/* One unit of a block that is not yet in a list is valid. */
void scarp_block_load_valid(ScarpDrive *drive, uint32_t ppn);
/*
 * Forget a new drive's free blocks, then add each block in the order of its
 * list.  A full one is added twice, first in the order of filling, then, its
 * valid units being known, among the candidates.
 */
void scarp_blocks_forget(ScarpDrive *drive, uint32_t plane);
void scarp_blocks_add_free(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_full(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_candidate(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_bad(ScarpDrive *drive, uint32_t block);
/* False: the plane has no more place for blocks of translation units. */
bool scarp_blocks_add_translation(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_active(ScarpDrive *drive, uint32_t plane, int point,
                             uint32_t block);
/* Active blocks that this drive's settings would never fill count as full. */
void scarp_blocks_close_unused(ScarpDrive *drive);
/* Of a new drive: blocks that are bad from the start, by the seed. */
void scarp_blocks_set_bad(ScarpDrive *drive);

/* ---- After a power cut: blocks/recover.c -------------------------------- */

/*
 * Of a new drive: what the cells say of each block: free, bad, or so many pages
 * in use, for what is not known yet.
 */
void scarp_blocks_recover(ScarpDrive *drive);
/* A block with pages in use, of no list, is in this state from now on. */
void scarp_block_recover(ScarpDrive *drive, uint32_t block,
                         ScarpBlockState state);
/* It is full, whatever of it is still erased. */
void scarp_block_close_early(ScarpDrive *drive, uint32_t block);
/* A free block of the plane, which there must be, is recovery's. */
uint32_t scarp_block_open_apart(ScarpDrive *drive, uint32_t plane,
                                ScarpOrigin origin);
/* It has a free block beside those that are kept. */
static inline bool scarp_plane_is_sound(const ScarpDrive *drive, uint32_t plane)
{
    return drive->blocks.plane[plane].n_free +
               drive->blocks.plane[plane].n_map > drive->geo.kept_blocks;
}

/* ---- Laws: blocks/laws.c ------------------------------------------------ */

/* A plane's counts, marks and lists agree with its blocks. */
bool scarp_blocks_check(const ScarpDrive *drive, uint32_t plane,
                        GError **error);

#endif /* SCARP_BLOCKS_OPS_H */
