/*
 * Invariants of blocks. Checked builds prove them by counting anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

uint32_t scarp_block_marks(const ScarpDrive *drive, uint32_t block)
{
    uint32_t marks = 0;

    for (uint32_t w = 0; w * 64 < drive->geo.units_per_block; w++) {
        marks += __builtin_popcountll(
            scarp_block_record(drive, block)->is_valid[w]);
    }
    return marks;
}

bool scarp_buckets_check(const ScarpDrive *drive, uint32_t p,
                         uint32_t *listed, GError **error)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    /* before a drive has reclaim units (Sanitize), its lists are of blocks */
    uint32_t most = scarp_blocks_in_units(drive) ? drive->geo.victim_units
                                                 : drive->geo.units_per_block;

    for (uint32_t v = 0; v <= most; v++) {
        bool filled = plane->bucket_filled[v / 64] >> (v % 64) & 1;
        uint32_t last = SCARP_NONE;

        if (filled != (plane->bucket[v].head != SCARP_NONE)) {
            return scarp_law_differs(error, "mark of bucket", v, filled,
                                     !filled);
        }
        for (uint32_t b = plane->bucket[v].head; b != SCARP_NONE;
             b = drive->blocks.link[b].next) {
            if (scarp_victim_valid(drive, b) != v ||
                scarp_block_record(drive, b)->state != BLOCK_FULL) {
                return scarp_law_differs(error, "bucket of block", b, v,
                                         scarp_victim_valid(drive, b));
            }
            if (drive->blocks.link[b].prev != last) {
                return scarp_law_differs(error, "block before block", b,
                                         drive->blocks.link[b].prev, last);
            }
            last = b;
            ++*listed;
        }
        if (plane->bucket[v].tail != last) {
            return scarp_law_differs(error, "last block of bucket", v,
                                     plane->bucket[v].tail, last);
        }
    }
    return true;
}

/*
 * Checks that the plane's blocks in the state BLOCK_ACTIVE are exactly the open
 * blocks of its write points and of the SLC cache. The caller passes the number
 * of the cache's open blocks as `named`.
 */
static bool check_active(const ScarpDrive *drive, uint32_t p, uint32_t named,
                         GError **error)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    uint32_t first = p * drive->desc.blocks_per_plane, open = 0;

    for (uint32_t b = 0; b < drive->desc.blocks_per_plane; b++) {
        open += scarp_block_record(drive, first + b)->state == BLOCK_ACTIVE;
    }
    for (int i = 0; i < WRITE__COUNT; i++) {
        uint32_t b = plane->active[i];

        if (b == SCARP_NONE) {
            continue;
        }
        named++;
        if (!scarp_write_point_used(drive, i) ||
            scarp_block_plane(drive, b) != p ||
            scarp_block_record(drive, b)->state != BLOCK_ACTIVE) {
            return scarp_law_differs(error, "open block", b,
                                     scarp_block_record(drive, b)->state,
                                     BLOCK_ACTIVE);
        }
        if (i >= WRITE_HOST &&
            (int)scarp_media_stream(drive, b) != i - WRITE_HOST) {
            return scarp_law_differs(error, "stream of block", b,
                                     scarp_media_stream(drive, b),
                                     i - WRITE_HOST);
        }
    }
    return open == named ||
           scarp_law_differs(error, "open blocks of plane", p, open, named);
}

/*
 * Checks that the plane's lists agree with the states of its blocks. `n_static`
 * is the number of free static SLC blocks, which are not in the plane's free
 * list.
 */
static bool check_lists(const ScarpDrive *drive, uint32_t p, uint32_t n_static,
                        GError **error)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    uint32_t free = 0, full = 0, listed = 0, valid = 0, bad = 0, map = 0;
    /*
     * with blocks in BLOCK_APART recovery goes on, and may use the kept blocks
     */
    uint32_t map_full = 0, apart = 0;
    bool collected = false;

    for (uint32_t i = 0; i < drive->desc.blocks_per_plane; i++) {
        uint32_t b = p * drive->desc.blocks_per_plane + i;
        const ScarpBlock *block = scarp_block_record(drive, b);
        uint32_t found = scarp_block_marks(drive, b);

        if (found != block->valid) {
            return scarp_law_differs(error, "valid units of block", b,
                                     block->valid, found);
        }
        if (block->state == BLOCK_FREE && block->written) {
            return scarp_law_differs(error, "pages in free block", b,
                                     block->written, 0);
        }
        if (block->valid > block->written * drive->geo.units_per_page) {
            return scarp_law_differs(
                error, "valid over written units of block", b, block->valid,
                block->written * drive->geo.units_per_page);
        }
        if (scarp_media_programmed(drive, b) > block->written) {
            return scarp_law_differs(error, "programmed pages of block", b,
                                     scarp_media_programmed(drive, b),
                                     block->written);
        }
        bad += block->state == BLOCK_BAD;
        free += block->state == BLOCK_FREE;
        full += block->state == BLOCK_FULL;
        apart += block->state == BLOCK_APART;
        map_full += block->state == BLOCK_TRANSLATION;
        map += block->state != BLOCK_FREE && block->state != BLOCK_BAD &&
               block->state != BLOCK_APART &&
               scarp_block_is_translation(drive, b);
        collected |= block->state == BLOCK_VICTIM &&
                     scarp_block_is_translation(drive, b);
        valid += found;
    }
    if (!scarp_buckets_check(drive, p, &listed, error)) {
        return false;
    }
    free -= n_static;
    if (free != plane->n_free) {
        return scarp_law_differs(error, "free blocks of plane", p,
                                 plane->n_free, free);
    }
    if (listed != full) {
        return scarp_law_differs(error, "candidates of plane", p, listed, full);
    }
    if (bad != plane->n_bad || full != plane->n_full) {
        return scarp_law_differs(error, "bad blocks of plane", p, plane->n_bad,
                                 bad);
    }
    if (map != plane->n_map || map_full != plane->n_map_full) {
        return scarp_law_differs(error, "blocks of translation units of plane",
                                 p, plane->n_map, map);
    }
    if (map > drive->geo.translation_blocks ||
        (!apart && free + map < drive->geo.kept_blocks)) {
        return scarp_law_differs(error, "blocks that are kept in plane", p,
                                 free + map, drive->geo.kept_blocks);
    }
    /*
     * All blocks for translation units may be in use only while one of them is
     * a victim: the last block is kept for the copies from that victim.
     */
    if (map && map == drive->geo.translation_blocks && !collected) {
        return scarp_law_differs(error, "last block for translation units of "
                                 "plane", p, map,
                                 drive->geo.translation_blocks - 1);
    }
    return valid == plane->valid ||
           scarp_law_differs(error, "valid units of plane", p, plane->valid,
                             valid);
}

bool scarp_blocks_check(const ScarpDrive *drive, uint32_t p, GError **error)
{
    uint32_t open = 0, n_static = 0;

    if (drive->blocks.rus) {
        return scarp_ru_check(drive, p, error);
    }
    return (!drive->blocks.slc ||
            scarp_slc_check(drive, p, &open, &n_static, error)) &&
           check_lists(drive, p, n_static, error) &&
           check_active(drive, p, open, error);
}
