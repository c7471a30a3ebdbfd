/*
 * The laws of the tables, checked from scratch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static bool broken(GError **error, const char *what, uint32_t where,
                   uint64_t is, uint64_t should)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "%s %u: is %" G_GUINT64_FORMAT ", should be %" G_GUINT64_FORMAT,
                what, where, is, should);
    return false;
}

static uint32_t count_valid(const ScarpDrive *drive, uint32_t block)
{
    uint32_t valid = 0;

    for (uint32_t i = 0; i < drive->units_per_block; i++) {
        uint32_t ppn = block * drive->units_per_block + i;
        uint32_t lpn = drive->p2l[ppn];

        bool mapped = lpn != SCARP_NONE && drive->l2p[lpn] == ppn;

        if (mapped != scarp_map_valid(drive, ppn)) {
            return SCARP_NONE; /* differs from every count */
        }
        valid += mapped;
    }
    return valid;
}

/* Open blocks are those that the plane's write points name, each once. */
static bool check_active(const ScarpDrive *drive, uint32_t p, GError **error)
{
    const ScarpPlane *plane = &drive->plane[p];
    uint32_t first = p * drive->d.blocks_per_plane, open = 0, named = 0;

    for (uint32_t b = 0; b < drive->d.blocks_per_plane; b++) {
        open += scarp_block(drive, first + b)->state == BLOCK_ACTIVE;
    }
    for (int i = 0; i < ACTIVE__COUNT; i++) {
        uint32_t b = plane->active[i];

        if (b == SCARP_NONE) {
            continue;
        }
        named++;
        if (i >= ACTIVE_HOST + (int)drive->d.streams ||
            scarp_block_plane(drive, b) != p ||
            scarp_block(drive, b)->state != BLOCK_ACTIVE) {
            return broken(error, "open block", b, scarp_block(drive, b)->state,
                          BLOCK_ACTIVE);
        }
        if (i >= ACTIVE_HOST &&
            scarp_block(drive, b)->stream != i - ACTIVE_HOST) {
            return broken(error, "stream of block", b,
                          scarp_block(drive, b)->stream, i - ACTIVE_HOST);
        }
    }
    return open == named || broken(error, "open blocks of plane", p, open,
                                   named);
}

static bool check_plane(const ScarpDrive *drive, uint32_t p, GError **error)
{
    const ScarpPlane *plane = &drive->plane[p];
    uint32_t free = 0, full = 0, listed = 0, valid = 0, bad = 0;

    for (uint32_t i = 0; i < drive->d.blocks_per_plane; i++) {
        uint32_t b = p * drive->d.blocks_per_plane + i;
        const ScarpBlock *block = scarp_block(drive, b);
        uint32_t found = count_valid(drive, b);

        if (found != block->valid) {
            return broken(error, "valid units of block", b, block->valid,
                          found);
        }
        if (block->state == BLOCK_FREE && block->written) {
            return broken(error, "pages in free block", b, block->written, 0);
        }
        if (block->valid > block->written * drive->units_per_page) {
            return broken(error, "valid over written units of block", b,
                          block->valid,
                          block->written * drive->units_per_page);
        }
        if (block->programmed > block->written) {
            return broken(error, "programmed pages of block", b,
                          block->programmed, block->written);
        }
        bad += block->state == BLOCK_BAD;
        free += block->state == BLOCK_FREE;
        full += block->state == BLOCK_FULL;
        valid += found;
    }
    for (uint32_t v = 0; v <= drive->units_per_block; v++) {
        bool filled = plane->bucket_filled[v / 64] >> (v % 64) & 1;
        uint32_t last = SCARP_NONE;

        if (filled != (plane->bucket[v].head != SCARP_NONE)) {
            return broken(error, "mark of bucket", v, filled, !filled);
        }
        for (uint32_t b = plane->bucket[v].head; b != SCARP_NONE;
             b = drive->link[b].next) {
            if (scarp_block(drive, b)->valid != v ||
                scarp_block(drive, b)->state != BLOCK_FULL) {
                return broken(error, "bucket of block", b, v,
                              scarp_block(drive, b)->valid);
            }
            if (drive->link[b].prev != last) {
                return broken(error, "block before block", b,
                              drive->link[b].prev, last);
            }
            last = b;
            listed++;
        }
        if (plane->bucket[v].tail != last) {
            return broken(error, "last block of bucket", v,
                          plane->bucket[v].tail, last);
        }
    }
    if (free != plane->n_free) {
        return broken(error, "free blocks of plane", p, plane->n_free, free);
    }
    if (listed != full) {
        return broken(error, "candidates of plane", p, listed, full);
    }
    if (bad != plane->n_bad || full != plane->n_full) {
        return broken(error, "bad blocks of plane", p, plane->n_bad, bad);
    }
    return valid == plane->valid ||
           broken(error, "valid units of plane", p, plane->valid, valid);
}

bool scarp_check(const ScarpDrive *drive, GError **error)
{
    uint64_t valid = 0, mapped = 0;

    for (uint32_t p = 0; p < drive->n_planes; p++) {
        if (!check_plane(drive, p, error) || !check_active(drive, p, error)) {
            return false;
        }
        valid += drive->plane[p].valid;
    }
    for (uint32_t lpn = 0; lpn < drive->mapped_units; lpn++) {
        uint32_t ppn = drive->l2p[lpn];

        if (ppn != SCARP_NONE && drive->p2l[ppn] != lpn) {
            return broken(error, "reverse map of unit", ppn, drive->p2l[ppn],
                          lpn);
        }
        mapped += ppn != SCARP_NONE;
    }
    if (valid != mapped) {
        return broken(error, "mapped units of drive", 0, mapped, valid);
    }
    /* What is in flight changes little, and contents take long. */
    return !drive->parity ||
           scarp_parity_check(drive, !drive->slots_used, error);
}
