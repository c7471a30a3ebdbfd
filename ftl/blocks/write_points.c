/*
 * Write points: a plane's open blocks (one for garbage collection, one for
 * aligned multi-plane programs, one for each stream of the host), and the next
 * page in each. The open blocks of an SLC cache are in blocks/slc.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

static uint32_t next_of(const ScarpDrive *drive, uint32_t p, int point)
{
    uint32_t block = drive->blocks.plane[p].active[point];

    return block == SCARP_NONE ? 0 : scarp_block_record(drive, block)->written;
}

uint32_t scarp_aligned_offset(const ScarpDrive *drive, uint32_t p)
{
    return next_of(drive, p, WRITE_ALIGNED);
}

uint32_t scarp_plane_collection_pages(const ScarpDrive *drive, uint32_t p)
{
    int point = drive->desc.separate_active_block ? WRITE_GC : WRITE_HOST;
    uint32_t pages = drive->desc.pages_per_block;
    bool open = drive->blocks.plane[p].active[point] != SCARP_NONE;

    return scarp_plane_free_blocks(drive, p) * pages +
           (open ? pages - next_of(drive, p, point) : 0);
}

/*
 * Copies for which pages are reserved first fill the open block of garbage
 * collection, if the host does not write to that block.
 */
uint32_t scarp_plane_promised_blocks(const ScarpDrive *drive, uint32_t p)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    uint32_t pages = drive->desc.pages_per_block, open = 0;

    if (drive->desc.separate_active_block &&
        plane->active[WRITE_GC] != SCARP_NONE) {
        open = pages - next_of(drive, p, WRITE_GC);
    }
    return MIN((plane->promised - MIN(plane->promised, open) + pages - 1) /
                   pages,
               scarp_plane_free_blocks(drive, p));
}

bool scarp_aligned_possible(const ScarpDrive *drive, uint32_t p)
{
    /*
     * An aligned block may be opened only if two more free blocks remain: one
     * for the host, and one for garbage collection.
     */
    return scarp_aligned_open(drive, p) ||
           scarp_plane_spare_blocks(drive, p) >= SCARP_ALIGNED_FREE;
}

/*
 * Multi-plane programs need the aligned blocks of a die's planes at the same
 * page offset. True when this plane's block is behind that of another plane of
 * the die. Single-plane programs then go to this plane's block until it has
 * caught up. Offsets wrap around at the block's end, and the shorter way
 * counts: with 256 pages, offset 250 is behind offset 2.
 */
static bool __attribute__((noinline)) is_behind(const ScarpDrive *drive,
                                                uint32_t p)
{
    uint32_t n = drive->desc.planes_per_die;
    uint32_t pages = drive->desc.pages_per_block;
    uint32_t own = scarp_aligned_offset(drive, p);

    for (uint32_t q = p / n * n; q < p / n * n + n; q++) {
        uint32_t ahead = (scarp_aligned_offset(drive, q) + pages - own) % pages;

        if (ahead && ahead <= pages / 2) {
            return scarp_aligned_possible(drive, p);
        }
    }
    return false;
}

/*
 * True when single-plane programs go to the plane's aligned block. If the
 * drive's policies use no aligned blocks, but an image contained one, these
 * programs fill that block.
 */
static bool lags(const ScarpDrive *drive, uint32_t p)
{
    return drive->scheme.multiplane->aligned ? is_behind(drive, p)
                                             : scarp_aligned_open(drive, p);
}

static inline int point_for(const ScarpDrive *drive, uint32_t p,
                            ScarpOrigin origin, uint16_t stream)
{
    if (origin != SCARP_ORIGIN_HOST && !stream &&
        drive->desc.separate_active_block) {
        return WRITE_GC;
    }
    return !stream && lags(drive, p) ? WRITE_ALIGNED : WRITE_HOST + stream;
}

/*
 * True when a page for translation units can be taken. Translation units have a
 * fixed number of blocks of their own, so they never take a free block from
 * host data.
 *
 * The last of these blocks is kept for the copies of a collection of
 * translation units. A pacing policy may pause that collection. If other writes
 * took the pages of this last block meanwhile, the collection could not go on,
 * and no block would ever be erased.
 */
static bool translation_possible(const ScarpDrive *drive, uint32_t p,
                                 ScarpOrigin origin)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    bool room = plane->active[WRITE_HOST + SCARP_MAP_STREAM] != SCARP_NONE;

    if (origin == SCARP_ORIGIN_HOST) {
        return !scarp_translation_short(drive, p);
    }
    return room || plane->n_map < drive->geo.translation_blocks;
}

/*
 * True when the plane has a page for the write outside the SLC cache: a page
 * for translation units if the stream has those, otherwise a page for data.
 */
static inline bool real_possible(const ScarpDrive *drive, uint32_t p,
                                 ScarpOrigin origin, uint16_t stream)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    uint32_t n_free;
    bool room = plane->active[point_for(drive, p, origin, stream)] !=
                SCARP_NONE;

    if (scarp_stream_is_map(drive, stream)) {
        return translation_possible(drive, p, origin);
    }
    if (origin != SCARP_ORIGIN_HOST) {
        return room || scarp_plane_free_blocks(drive, p) > 0;
    }
    n_free = scarp_plane_spare_blocks(drive, p);
    scarp_mark_if(drive, host_kept_from_last_block, n_free == 1 && !room);
    /*
     * The host may not open the last free block: garbage collection needs it
     * for the copies from its victim.
     */
    if (room) {
        return drive->desc.separate_active_block || n_free >= 1;
    }
    return n_free > 1;
}

/*
 * True when the host can take a page on a drive with an SLC cache. The
 * functions of the cache are out of line, so that drives without a cache do not
 * pay for them.
 */
static bool __attribute__((noinline)) cached_possible(const ScarpDrive *drive,
                                                      uint32_t p,
                                                      uint16_t stream)
{
    return scarp_slc_has_room(drive, p, stream) ||
           (drive->desc.slc_full == SLC_DIRECT &&
            real_possible(drive, p, SCARP_ORIGIN_HOST, stream));
}

bool scarp_page_possible_real(const ScarpDrive *drive, uint32_t p,
                              uint16_t stream)
{
    return real_possible(drive, p, SCARP_ORIGIN_HOST, stream);
}

bool scarp_page_possible(const ScarpDrive *drive, uint32_t p,
                         ScarpOrigin origin, uint16_t stream)
{
    if (drive->blocks.slc && origin == SCARP_ORIGIN_HOST &&
        !scarp_stream_is_map(drive, stream)) {
        return cached_possible(drive, p, stream);
    }
    return drive->blocks.rus ? scarp_ru_possible(drive, p, origin, stream)
                             : real_possible(drive, p, origin, stream);
}

uint32_t scarp_page_offset(const ScarpDrive *drive, uint32_t p,
                           ScarpOrigin origin, uint16_t stream)
{
    if (drive->blocks.rus) {
        return scarp_ru_offset(drive, p, origin, stream);
    }
    return scarp_page_is_slc(drive, p, origin, stream)
               ? scarp_slc_offset(drive, p, stream)
               : next_of(drive, p, point_for(drive, p, origin, stream));
}

/*
 * Takes `pages` consecutive pages of the write point's open block, which must
 * have as many left, and opens a block if none is open. Returns the first PPN.
 */
static inline uint32_t take(ScarpDrive *drive, uint32_t p, int point,
                            ScarpOrigin origin, uint16_t stream,
                            uint32_t pages)
{
    ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    uint32_t *active = &plane->active[point];
    ScarpBlock *block;
    uint32_t ppn;

    if (*active == SCARP_NONE || point == WRITE_ALIGNED) {
        drive->blocks.opened[scarp_plane_die(drive, p)] = true;
    }
    if (*active == SCARP_NONE) {
        *active = scarp_free_pop(drive, plane);
        scarp_block_record(drive, *active)->state = BLOCK_ACTIVE;
        if (scarp_stream_is_map(drive, stream)) {
            origin = SCARP_ORIGIN_MAP;
            plane->n_map++;
            scarp_mark_if(drive, last_translation_block,
                          plane->n_map == drive->geo.translation_blocks);
        }
        scarp_media_open(drive, *active, origin, stream);
    }
    scarp_mark_if(drive, orphaned_aligned_block,
                  point == WRITE_ALIGNED && !drive->scheme.multiplane->aligned);
    block = scarp_block_record(drive, *active);
    ppn = scarp_block_ppn(drive, *active) +
          block->written * drive->geo.units_per_page;
    block->written += pages;
    block->modified_ns = scarp_time_ns(drive);
    if (block->written == drive->desc.pages_per_block) {
        if (scarp_stream_is_map(drive, stream)) {
            scarp_translation_insert(drive, *active);
        } else {
            scarp_full_insert(drive, plane, *active);
        }
        *active = SCARP_NONE;
    }
    return ppn;
}

uint32_t scarp_page_take_copies(ScarpDrive *drive, uint32_t p, uint16_t stream,
                                uint32_t *pages)
{
    ScarpOrigin origin = SCARP_ORIGIN_GC;
    int point = point_for(drive, p, origin, stream);
    uint32_t room = drive->desc.pages_per_block - next_of(drive, p, point);
    uint32_t ppn;

    if (drive->scheme.multiplane->aligned) {
        room = 1; /* each page may change which plane is behind */
    }
    *pages = MIN(*pages, room);
    ppn = take(drive, p, point, origin, stream, *pages);
    scarp_media_pages_programmed(drive, ppn, *pages);
    return ppn;
}

uint32_t scarp_page_take(ScarpDrive *drive, uint32_t p, ScarpOrigin origin,
                         uint16_t stream)
{
    if (scarp_page_is_slc(drive, p, origin, stream)) {
        return scarp_slc_take(drive, p, stream);
    }
    if (drive->blocks.rus) {
        return scarp_ru_take(drive, p, origin, stream);
    }
    return take(drive, p, point_for(drive, p, origin, stream), origin, stream,
                1);
}

uint32_t scarp_page_take_real(ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    ScarpOrigin origin = SCARP_ORIGIN_HOST;

    if (drive->blocks.rus) {
        return scarp_ru_take(drive, p, origin, stream);
    }
    return take(drive, p, point_for(drive, p, origin, stream), origin, stream,
                1);
}

uint32_t scarp_aligned_take(ScarpDrive *drive, uint32_t p, ScarpOrigin origin)
{
    return take(drive, p, WRITE_ALIGNED, origin, 0, 1);
}
