/*
 * The functions of blocks that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_OPS_H
#define SCARP_BLOCKS_OPS_H

#include "media/ops.h"

/* Returns the bytes of host memory that the tables of blocks need. */
uint64_t scarp_blocks_bytes(const ScarpGeometry *geo);
bool scarp_blocks_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_blocks_clear(ScarpDrive *drive);

/* Returns the block's record. Only ftl/blocks uses this function. */
static inline ScarpBlock *scarp_block_record(const ScarpDrive *drive,
                                             uint32_t block)
{
    return (ScarpBlock *)(drive->blocks.records +
                          (uint64_t)block * drive->blocks.record_bytes);
}

/* ---- A plane, seen ------------------------------------------------------ */

/*
 * Returns how many free blocks the plane has for data. Blocks that are kept for
 * translation units or for recovery do not count.
 */
static inline uint32_t scarp_plane_free_blocks(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].n_free +
           drive->blocks.plane[plane].n_map - drive->geo.kept_blocks;
}

/*
 * Returns how many of the plane's free blocks are needed for the pages that
 * scarp_plane_promise() has reserved there; never more than the plane has.
 */
uint32_t scarp_plane_promised_blocks(const ScarpDrive *drive, uint32_t plane);

/*
 * Reserves `change` more pages of the plane for copies that garbage collection
 * makes from other planes, or makes before the plane is short of free blocks.
 * No other write then takes the free blocks that these copies need. A negative
 * change gives reserved pages back.
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
 * Returns how many pages garbage collection could write in the plane before an
 * erase: the pages left in the open block that its copies go to, and all pages
 * of the free blocks.
 */
uint32_t scarp_plane_collection_pages(const ScarpDrive *drive, uint32_t plane);

static inline bool scarp_plane_is_promised(const ScarpDrive *drive,
                                           uint32_t plane)
{
    return drive->blocks.plane[plane].promised;
}

/*
 * Returns how many free blocks the plane has beyond those that reserved pages
 * need (scarp_plane_promise()).
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

/*
 * Returns how many free blocks the plane has, including those kept for
 * translation units and for recovery.
 */
static inline uint32_t scarp_plane_erased_blocks(const ScarpDrive *drive,
                                                 uint32_t plane)
{
    return drive->blocks.rus ? drive->blocks.rus->n_free[plane]
                             : drive->blocks.plane[plane].n_free;
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

/*
 * Returns how many translation units a plane may have. They are spread evenly
 * over the planes, so this is the drive's number divided by the planes, rounded
 * up.
 */
static inline uint32_t scarp_plane_translation_units(const ScarpDrive *drive)
{
    uint32_t n = drive->geo.mapped_units - drive->geo.first_translation_unit;

    return (n + drive->geo.n_planes - 1) / drive->geo.n_planes;
}

/*
 * Returns how many valid units the plane may hold so that at least one of its
 * full blocks is sure to be worth collecting. With more valid units, every full
 * block might have too few invalid ones (geo.gain_units), and the host would
 * wait for ever. core/spare.c explains the numbers.
 */
static inline uint32_t scarp_plane_limit_units(const ScarpDrive *drive,
                                               uint32_t plane)
{
    uint32_t full = drive->desc.blocks_per_plane -
                    drive->blocks.plane[plane].n_bad -
                    drive->geo.translation_blocks - drive->geo.static_blocks -
                    drive->geo.not_full_blocks;

    return full * (drive->geo.units_per_block - drive->geo.gain_units + 1) -
           1 + scarp_plane_translation_units(drive);
}

/*
 * Returns the number of valid units up to which garbage collection may move
 * units from other planes into this plane.
 */
static inline uint32_t scarp_plane_ceiling_units(const ScarpDrive *drive,
                                                 uint32_t plane)
{
    /*
     * Blocks that must stay without data of other planes: reserved and open
     * blocks, bad blocks, blocks for translation units, and static SLC blocks.
     */
    uint32_t spare = scarp_reserved_blocks(&drive->desc) +
                     scarp_slc_spare_blocks(&drive->desc) +
                     drive->blocks.plane[plane].n_bad +
                     drive->geo.translation_blocks + drive->geo.static_blocks;

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
 * True when garbage collection must free a block for translation units in this
 * plane: no such block is open, and only one more may be filled. The copies of
 * that collection need this last block.
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
 * True when a collection of translation units is due or under way in the plane.
 * Until that collection ends, no other translation unit may be programmed
 * there.
 */
static inline bool scarp_translation_short(const ScarpDrive *drive,
                                           uint32_t plane)
{
    return scarp_translation_due(drive, plane) ||
           (drive->geo.translation_blocks &&
            drive->blocks.plane[plane].n_map == drive->geo.translation_blocks);
}

/*
 * Returns the plane's full block of translation units that has the fewest valid
 * ones, or SCARP_NONE if no such block is full.
 */
uint32_t scarp_translation_victim(const ScarpDrive *drive, uint32_t plane);

/* ---- The SLC cache: blocks/slc.c ---------------------------------------- */

/* True for a drive with an SLC cache. */
static inline bool scarp_blocks_cached(const ScarpDrive *drive)
{
    return drive->blocks.slc;
}

/*
 * True when the SLC cache has a page for the stream's next write to the plane.
 * This function and the two below may be called only on a drive with an SLC
 * cache.
 */
bool scarp_slc_has_room(const ScarpDrive *drive, uint32_t plane,
                        uint16_t stream);
/*
 * Returns a full SLC block of the plane, or SCARP_NONE: of the static block and
 * the dynamic block that became full first, the one that was opened first. With
 * `dynamic`, static blocks do not count: a static block stays an SLC block
 * after its erase.
 */
uint32_t scarp_slc_oldest(const ScarpDrive *drive, uint32_t plane,
                          bool dynamic);
/*
 * For images: scarp_slc_first_free() returns the first free static block,
 * scarp_slc_first_full() the first full static (fixed) or full dynamic block,
 * and scarp_slc_active() the stream's open block. SCARP_NONE: there is no such
 * block. scarp_blocks_next_free() and scarp_blocks_next_full() return the next
 * block of a list.
 */
uint32_t scarp_slc_first_free(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_slc_first_full(const ScarpDrive *drive, uint32_t plane,
                              bool fixed);
uint32_t scarp_slc_active(const ScarpDrive *drive, uint32_t plane,
                          uint16_t stream);
/* Returns how many dynamic blocks of the plane have pages. */
uint32_t scarp_slc_dynamic_blocks(const ScarpDrive *drive, uint32_t plane);
/*
 * For images: scarp_slc_load_free() and scarp_slc_load_full() append a block to
 * the list for its mode. scarp_slc_load_active() makes a block the stream's
 * open block. The block's record and mode must have been loaded.
 */
void scarp_slc_load_free(ScarpDrive *drive, uint32_t block);
void scarp_slc_load_full(ScarpDrive *drive, uint32_t block);
void scarp_slc_load_active(ScarpDrive *drive, uint32_t plane, uint16_t stream,
                           uint32_t block);
/* Returns how many full SLC blocks the plane has. */
static inline uint32_t scarp_slc_full_blocks(const ScarpDrive *drive,
                                             uint32_t plane)
{
    return drive->blocks.slc[plane].n_full;
}

/* ---- Good blocks, and collections that may be due ----------------------- */

/* True when the plane has enough good blocks to work (core/spare.c). */
bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns how many more blocks of the plane may become bad before it has too
 * few to work.
 */
uint32_t scarp_blocks_beyond_need(const ScarpDrive *drive, uint32_t plane);

/*
 * True when something has happened on the die since scarp_blocks_clear_opened()
 * that can make a collection due: a block was opened, a block of translation
 * units or of the SLC cache became full, a page of an aligned block was taken
 * (scarp_gc_due() counts the pages left there), or another room called
 * scarp_blocks_set_opened(). Only then need the trigger policy look at the
 * die's planes.
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

/* ---- Reclaim units of several planes: blocks/ru.c ----------------------- */

/*
 * True for a drive whose reclaim units are of several planes (a group). The
 * lists of full blocks of a group's first plane are then lists of full units,
 * each under the number of its block there, and the planes' free blocks are
 * counted as the units that the group can open. The functions from here to
 * scarp_ru_erases() are for such drives.
 */
static inline bool scarp_blocks_in_units(const ScarpDrive *drive)
{
    return drive->blocks.rus;
}

static inline uint32_t scarp_ru_group(const ScarpDrive *drive, uint32_t plane)
{
    return plane / (uint32_t)drive->desc.reclaim_planes;
}

/* Returns the first plane of the group that has this plane. */
static inline uint32_t scarp_ru_first_plane(const ScarpDrive *drive,
                                            uint32_t plane)
{
    return plane - plane % (uint32_t)drive->desc.reclaim_planes;
}

/*
 * Returns the turn, counted from 0 in stripe order, of the plane that gets the
 * write point's next page. The next call returns the next turn, so the caller
 * has to queue a program for this one. With SCARP_ORIGIN_GC the write point is
 * that of collections.
 */
uint32_t scarp_ru_next_plane(ScarpDrive *drive, uint32_t group,
                             ScarpOrigin origin, uint16_t stream);
/*
 * Returns how many pages of the unit that the host's stream fills have no
 * program yet.
 */
uint32_t scarp_ru_left(const ScarpDrive *drive, uint32_t group,
                       uint16_t stream);
/*
 * Closes that unit: the next page of the stream goes to another one. Pages that
 * have programs are still written, the others stay empty until the erase.
 * Returns false if no page had a program, so that there is nothing to close.
 */
bool scarp_ru_close(ScarpDrive *drive, uint32_t group, uint16_t stream);
/* Returns how many valid mapping units the group has. */
static inline uint32_t scarp_ru_group_valid(const ScarpDrive *drive,
                                            uint32_t group)
{
    return drive->blocks.rus->group[group].valid;
}

/* True while a victim of the plane's group has blocks that are not erased. */
static inline bool scarp_ru_collected(const ScarpDrive *drive, uint32_t plane)
{
    return drive->blocks.rus->group[scarp_ru_group(drive, plane)].collected;
}

/*
 * Makes a full unit the victim of a collection. `block` is the unit's block in
 * the group's first plane. scarp_ru_victim_block() returns the victim's block
 * in a plane. scarp_block_erased() is called for each of these blocks.
 */
void scarp_ru_take_victim(ScarpDrive *drive, uint32_t block);
uint32_t scarp_ru_victim_block(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns the stream whose write point the copies of the group's victim go to:
 * the victim's own if that is isolated, else 0.
 */
uint16_t scarp_ru_victim_stream(const ScarpDrive *drive, uint32_t group);
/*
 * Returns the plane's block of the full unit whose block in the group's first
 * plane is `block`.
 */
uint32_t scarp_ru_block_in(const ScarpDrive *drive, uint32_t block,
                           uint32_t plane);
/*
 * Return the valid mapping units, and the time of the last change, of the full
 * unit whose block in the group's first plane is `block`.
 */
uint32_t scarp_ru_valid(const ScarpDrive *drive, uint32_t block);
int64_t scarp_ru_modified_ns(const ScarpDrive *drive, uint32_t block);
/*
 * For images. scarp_ru_open_at() returns the number of the unit that is open at
 * the group's write point, or SCARP_NONE. A drive at rest has one such unit at
 * most. scarp_ru_first_block() returns the unit's block in the group's first
 * plane. scarp_ru_load() makes a full or an open unit of loaded blocks. `block`
 * has a block of each of the group's planes, in the planes' order.
 * scarp_ru_load() returns false if these blocks can be no such unit. For a full
 * unit the caller calls scarp_blocks_add_candidate(), too.
 */
uint32_t scarp_ru_open_at(const ScarpDrive *drive, uint32_t group, int point);
uint32_t scarp_ru_first_block(const ScarpDrive *drive, uint32_t number);
bool scarp_ru_load(ScarpDrive *drive, const uint32_t *block, bool full);
/*
 * For recovery after a power cut. scarp_ru_recover() makes units of the n
 * blocks in `used`, which have pages and whose valid bits are known. used[] has
 * the blocks in the order of their openings. Recovery erases a block that is
 * BLOCK_APART afterwards. scarp_ru_recovered() is called when each group has a
 * free unit. scarp_ru_least_valid() returns the first block of the group's full
 * unit with the fewest valid mapping units, or SCARP_NONE.
 */
void scarp_ru_recover(ScarpDrive *drive, const uint32_t *used, uint32_t n);
static inline void scarp_ru_recovered(ScarpDrive *drive)
{
    drive->blocks.rus->recovers = false;
}

uint32_t scarp_ru_least_valid(const ScarpDrive *drive, uint32_t group);
/* True when no program is under way in the unit. */
bool scarp_ru_settled(const ScarpDrive *drive, uint32_t block);
/* Returns the mean of the erases of the unit's blocks. */
uint32_t scarp_ru_erases(const ScarpDrive *drive, uint32_t block);

#ifdef SCARP_CHECKED
/*
 * Remembers, for the laws, which stream wrote the host's unit that is now at
 * ppn.
 */
void scarp_ru_wrote(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
#endif

/*
 * Makes the tables for reclaim units of a new drive with ftl.reclaim_planes
 * above 1. From now on the drive's blocks are opened, filled and freed in such
 * units. Does nothing for other drives.
 */
void scarp_blocks_set_units(ScarpDrive *drive);

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

/*
 * Returns how many pages of the block were given to programs. Programs that are
 * still under way count, too.
 */
static inline uint32_t scarp_block_written(const ScarpDrive *drive,
                                           uint32_t block)
{
    return scarp_block_record(drive, block)->written;
}

/*
 * Return the valid mapping units, the time of the last change, and the erases
 * of a candidate: of the full block `block`, or of the full reclaim unit that
 * has this block in its group's first plane.
 */
static inline uint32_t scarp_victim_valid(const ScarpDrive *drive,
                                          uint32_t block)
{
    return drive->blocks.rus ? scarp_ru_valid(drive, block)
                             : scarp_block_valid(drive, block);
}

static inline int64_t scarp_victim_modified_ns(const ScarpDrive *drive,
                                               uint32_t block)
{
    return drive->blocks.rus ? scarp_ru_modified_ns(drive, block)
                             : scarp_block_modified_ns(drive, block);
}

static inline uint32_t scarp_victim_erases(const ScarpDrive *drive,
                                           uint32_t block)
{
    return drive->blocks.rus ? scarp_ru_erases(drive, block)
                             : scarp_media_erases(drive, block);
}

static inline bool scarp_block_is_full(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_record(drive, block)->state == BLOCK_FULL;
}

/* Returns the plane's full block that became full first, or SCARP_NONE. */
static inline uint32_t scarp_plane_oldest_full(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return drive->blocks.plane[plane].full.head;
}

/*
 * Full blocks are in buckets by their number of valid units. Returns 64 bits of
 * a bitmap of the plane's buckets: bit i is set if there is a full block with
 * 64 * word + i valid units. word may be up to units_per_block / 64.
 */
static inline uint64_t scarp_bucket_word(const ScarpDrive *drive,
                                         uint32_t plane, uint32_t word)
{
    return drive->blocks.plane[plane].bucket_filled[word];
}

/*
 * Returns that of the plane's full blocks with `valid` valid units whose number
 * of valid units changed longest ago. SCARP_NONE: the plane has no such block.
 */
static inline uint32_t scarp_bucket_first(const ScarpDrive *drive,
                                          uint32_t plane, uint32_t valid)
{
    return drive->blocks.plane[plane].bucket[valid].head;
}

/*
 * Returns the next full block of the same plane with equally many valid units,
 * or SCARP_NONE.
 */
static inline uint32_t scarp_bucket_next(const ScarpDrive *drive,
                                         uint32_t block)
{
    return drive->blocks.link[block].next;
}

/* ---- Blocks ------------------------------------------------------------- */

/*
 * Makes a full block the victim of a collection, and removes it from the lists
 * of full blocks.
 */
void scarp_block_take(ScarpDrive *drive, uint32_t block);
/*
 * Puts a victim back into the lists of full blocks without an erase, because
 * garbage collection ahead of time gave it up.
 */
void scarp_block_put_back(ScarpDrive *drive, uint32_t block);
/*
 * Called when the erase of the block has ended. The block becomes free, or bad
 * if it is worn out and the plane can do without it.
 */
void scarp_block_erased(ScarpDrive *drive, uint32_t block);
/*
 * Called instead of scarp_block_erased() when the plane needs the block at
 * once. The block becomes free even if it is worn out.
 */
void scarp_block_erased_needed(ScarpDrive *drive, uint32_t block);

/* ---- Pages: blocks/write_points.c --------------------------------------- */

/*
 * True when the plane has a page for the write. The host may not take the last
 * free block, as garbage collection needs it for its copies.
 */
bool scarp_page_possible(const ScarpDrive *drive, uint32_t plane,
                         ScarpOrigin origin, uint16_t stream);
/*
 * Returns the offset in its block of the page that scarp_page_take() would
 * take.
 */
uint32_t scarp_page_offset(const ScarpDrive *drive, uint32_t plane,
                           ScarpOrigin origin, uint16_t stream);
/*
 * Takes the next page of the plane's open block for the stream, and returns its
 * first PPN. The caller has checked scarp_page_possible(). For SCARP_ORIGIN_GC,
 * `stream` is 0, or SCARP_MAP_STREAM for translation units.
 */
uint32_t scarp_page_take(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin,
                         uint16_t stream);
/* True when the stream is that of translation units (ftl.mapping=demand). */
static inline bool scarp_stream_is_map(const ScarpDrive *drive,
                                       uint16_t stream)
{
    return stream == SCARP_MAP_STREAM && drive->geo.translation_blocks;
}
/*
 * True when scarp_page_take() would take a page of a block in SLC mode.
 * Translation units always go to blocks of the real mode.
 */
static inline bool scarp_page_is_slc(const ScarpDrive *drive, uint32_t plane,
                                     ScarpOrigin origin, uint16_t stream)
{
    return scarp_blocks_cached(drive) && origin == SCARP_ORIGIN_HOST &&
           !scarp_stream_is_map(drive, stream) &&
           scarp_slc_has_room(drive, plane, stream);
}
/*
 * Work like scarp_page_possible() and scarp_page_take() for the host, but never
 * with a page of the SLC cache: ageing writes to blocks whose cells store
 * nand.cell_bits bits, and pads fill the cells of such blocks.
 */
bool scarp_page_possible_real(const ScarpDrive *drive, uint32_t plane,
                              uint16_t stream);
uint32_t scarp_page_take_real(ScarpDrive *drive, uint32_t plane,
                              uint16_t stream);
/*
 * Work like scarp_page_possible(), scarp_page_offset() and scarp_page_take(),
 * but for the plane's aligned block (WRITE_ALIGNED, for multi-plane programs).
 * scarp_aligned_offset() returns 0 if no aligned block is open.
 */
enum { SCARP_ALIGNED_FREE = 3 }; /* free blocks needed to open an aligned one */
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
 * Takes up to *pages consecutive pages for copies that take no time (ageing),
 * and counts these pages as programmed at once. Sets *pages to the number of
 * pages taken. Returns the first PPN.
 */
uint32_t scarp_page_take_copies(ScarpDrive *drive, uint32_t plane,
                                uint16_t stream, uint32_t *pages);

/* ---- Blocks that the mapping owns: blocks/owned.c ----------------------- */

/*
 * Takes a free block of the plane for a mapping that chooses its pages itself.
 * The plane must have a free block.
 */
uint32_t scarp_block_open(ScarpDrive *drive, uint32_t plane,
                          ScarpOrigin origin);
/*
 * Takes the next page of a block from scarp_block_open(), and returns the
 * page's first PPN. The block must have a page left.
 */
uint32_t scarp_block_next_page(ScarpDrive *drive, uint32_t block);

/* True when no program is under way in the block. */
static inline bool scarp_block_settled(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_programmed(drive, block) ==
           scarp_block_record(drive, block)->written;
}

/* ---- Valid units: blocks/valid.c ---------------------------------------- */

/*
 * Called when the unit at ppn has become valid (`change` is 1) or invalid
 * (`change` is -1).
 */
void scarp_block_set_valid(ScarpDrive *drive, uint32_t ppn, int change);
/*
 * Called when n consecutive units of a block, the first one at ppn, have become
 * valid. All of them must have been invalid before.
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
 * Returns the valid bits of n units of a block, at most 64. The lowest bit is
 * that of the unit at ppn.
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
 * Prefetches the records of ppn's block into the host CPU's cache, because the
 * unit at ppn will soon become invalid. ppn may be SCARP_NONE.
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
 * Walk through a plane's free list or its list of full blocks, in the order of
 * the list. The functions return SCARP_NONE after the last block.
 */
uint32_t scarp_blocks_first_free(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_blocks_next_free(const ScarpDrive *drive, uint32_t block);
uint32_t scarp_blocks_next_full(const ScarpDrive *drive, uint32_t block);
/*
 * Returns the open block of the write point `point`, which is below
 * WRITE__COUNT. SCARP_NONE: the write point has no open block.
 */
uint32_t scarp_blocks_active(const ScarpDrive *drive, uint32_t plane,
                             int point);

/*
 * Sets the state of a block while a drive is loaded from an image. The block's
 * valid bits and its place in a list are set later.
 */
void scarp_block_load(ScarpDrive *drive, uint32_t block, ScarpBlockState state,
                      uint32_t written, int64_t modified_ns);
/*
 * Sets the valid bit of the unit at ppn while a drive is loaded. The unit's
 * block must not be in a list yet.
 */
void scarp_block_load_valid(ScarpDrive *drive, uint32_t ppn);
/*
 * Rebuild the lists of a plane from an image. scarp_blocks_forget() empties the
 * free list. Each other function appends a block to a list, so the blocks of a
 * list must be added in its order. A full block needs two calls.
 * scarp_blocks_add_full() adds it to the list by time of filling.
 * scarp_blocks_add_candidate(), called when its valid bits are set, adds it to
 * the bucket for its number of valid units.
 */
void scarp_blocks_forget(ScarpDrive *drive, uint32_t plane);
void scarp_blocks_add_free(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_full(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_candidate(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_bad(ScarpDrive *drive, uint32_t block);
/*
 * Adds a full block of translation units while a drive is loaded. Returns false
 * if the plane has as many such blocks as it may have.
 */
bool scarp_blocks_add_translation(ScarpDrive *drive, uint32_t block);
void scarp_blocks_add_active(ScarpDrive *drive, uint32_t plane, int point,
                             uint32_t block);
/*
 * An image may have an open block at a write point that the settings of the
 * loading drive never use. The function counts such blocks as full, as
 * otherwise garbage collection would never reclaim them.
 */
void scarp_blocks_close_unused(ScarpDrive *drive);
/*
 * Makes nand.bad_blocks_permille of each plane's blocks bad in a new drive. The
 * random seed chooses the blocks.
 */
void scarp_blocks_set_bad(ScarpDrive *drive);
/*
 * Puts slc.static_blocks of each plane's good blocks into SLC mode for ever, in
 * a new drive.
 */
void scarp_blocks_set_static(ScarpDrive *drive);

/* ---- After a power cut: blocks/recover.c -------------------------------- */

/*
 * Sets the state of each block from what is on flash: BLOCK_BAD, BLOCK_FREE, or
 * BLOCK_APART if the block has programmed pages. Called after a power cut, or
 * for a Sanitize, when the drive has got the cells of another one. A drive
 * without nand.power_cuts gets them for a Sanitize only.
 */
void scarp_blocks_recover(ScarpDrive *drive);
/*
 * Gives a block in the state BLOCK_APART its new state, once recovery knows the
 * block's contents.
 */
void scarp_block_recover(ScarpDrive *drive, uint32_t block,
                         ScarpBlockState state);
/*
 * Closes a partly written block: its unprogrammed pages are not used before the
 * next erase.
 */
void scarp_block_close_early(ScarpDrive *drive, uint32_t block);
/*
 * Opens a free block of the plane for the copies that recovery makes, and gives
 * the block the state BLOCK_APART. The plane must have a free block.
 */
uint32_t scarp_block_open_apart(ScarpDrive *drive, uint32_t plane,
                                ScarpOrigin origin);
/*
 * True when the plane has a free block beyond those kept for translation units
 * and recovery, so that the host can write.
 */
static inline bool scarp_plane_is_sound(const ScarpDrive *drive, uint32_t plane)
{
    return drive->blocks.plane[plane].n_free +
               drive->blocks.plane[plane].n_map > drive->geo.kept_blocks;
}

/* ---- Laws: blocks/laws.c ------------------------------------------------ */

/*
 * Checks that the plane's counters, valid bits and lists agree with a fresh
 * count over its blocks.
 */
bool scarp_blocks_check(const ScarpDrive *drive, uint32_t plane,
                        GError **error);

#endif /* SCARP_BLOCKS_OPS_H */
