/*
 * Invariants of the SLC cache's blocks. Checked builds prove them by counting
 * anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

static bool in_slc_mode(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_mode(drive, block) != MODE_REAL;
}

/*
 * Checks the list of full static SLC blocks (`fixed`), or that of full dynamic
 * SLC blocks.
 */
static bool check_full(const ScarpDrive *drive, uint32_t p, bool fixed,
                       uint32_t *listed, GError **error)
{
    const ScarpBlockList *list = &drive->blocks.slc[p].full[fixed];
    uint32_t last = SCARP_NONE;

    for (uint32_t b = list->head; b != SCARP_NONE;
         b = drive->blocks.full[b].next) {
        if (scarp_block_record(drive, b)->state != BLOCK_CACHE ||
            scarp_block_plane(drive, b) != p ||
            scarp_media_mode(drive, b) != (fixed ? MODE_STATIC : MODE_SLC)) {
            return scarp_law_differs(error, "full block of the SLC cache", b,
                                     scarp_block_record(drive, b)->state,
                                     BLOCK_CACHE);
        }
        if (scarp_block_record(drive, b)->written != drive->geo.slc_pages) {
            return scarp_law_differs(error, "pages of full SLC block", b,
                                     scarp_block_record(drive, b)->written,
                                     drive->geo.slc_pages);
        }
        if (drive->blocks.full[b].prev != last) {
            return scarp_law_differs(error, "SLC block before block", b,
                                     drive->blocks.full[b].prev, last);
        }
        last = b;
        ++*listed;
    }
    return list->tail == last ||
           scarp_law_differs(error, "last full SLC block of plane", p,
                             list->tail, last);
}

/*
 * Checks that each open block of the cache has the state BLOCK_ACTIVE, is in
 * SLC mode, and belongs to its stream. Adds the number of these blocks to
 * *open.
 */
static bool check_active(const ScarpDrive *drive, uint32_t p, uint32_t *open,
                         GError **error)
{
    const ScarpSlcPlane *slc = &drive->blocks.slc[p];

    for (uint32_t s = 0; s < SCARP_MAX_STREAMS; s++) {
        uint32_t b = slc->active[s];

        if (b == SCARP_NONE) {
            continue;
        }
        ++*open;
        if (s >= drive->desc.streams || !in_slc_mode(drive, b) ||
            scarp_block_plane(drive, b) != p ||
            scarp_block_record(drive, b)->state != BLOCK_ACTIVE ||
            scarp_media_stream(drive, b) != s ||
            scarp_block_record(drive, b)->written >= drive->geo.slc_pages) {
            return scarp_law_differs(error, "open SLC block of stream", s, b,
                                     SCARP_NONE);
        }
    }
    return true;
}

static bool check_free(const ScarpDrive *drive, uint32_t p, uint32_t *free,
                       GError **error)
{
    for (uint32_t b = drive->blocks.slc[p].free.head; b != SCARP_NONE;
         b = drive->blocks.link[b].next) {
        if (scarp_block_record(drive, b)->state != BLOCK_FREE ||
            scarp_media_mode(drive, b) != MODE_STATIC) {
            return scarp_law_differs(error, "free static block", b,
                                     scarp_block_record(drive, b)->state,
                                     BLOCK_FREE);
        }
        ++*free;
    }
    return true;
}

/*
 * Returns how many erases in SLC mode the block can have had. Without dynamic
 * blocks only static blocks are erased in that mode. A static block leaves the
 * mode only when it becomes bad.
 */
static uint32_t most_slc_erases(const ScarpDrive *drive, uint32_t b)
{
    bool never = !drive->desc.slc_dynamic && !in_slc_mode(drive, b) &&
                 scarp_block_record(drive, b)->state != BLOCK_BAD;

    return never ? 0 : scarp_media_erases(drive, b);
}

/*
 * Checks that the mode of block b fits its state and its written pages, and
 * counts the block in *found and *all. scarp_slc_check() compares these counts
 * with the plane's counters.
 */
static bool count(const ScarpDrive *drive, uint32_t b, ScarpSlcPlane *found,
                  uint32_t *all, GError **error)
{
    ScarpBlockState state = scarp_block_record(drive, b)->state;
    ScarpCellMode mode = scarp_media_mode(drive, b);

    *all += mode == MODE_STATIC;
    found->n_full += state == BLOCK_CACHE;
    found->n_static += mode == MODE_STATIC && state != BLOCK_FREE;
    found->n_dynamic += mode == MODE_SLC;
    if (scarp_media_slc_erases(drive, b) > most_slc_erases(drive, b)) {
        return scarp_law_differs(error, "erases in SLC mode of block", b,
                                 scarp_media_slc_erases(drive, b),
                                 most_slc_erases(drive, b));
    }
    if (mode == MODE_SLC && state == BLOCK_FREE) {
        return scarp_law_differs(error, "mode of free block", b, mode,
                                 MODE_REAL);
    }
    if (mode == MODE_REAL) {
        return true;
    }
    if (scarp_block_record(drive, b)->written > drive->geo.slc_pages) {
        return scarp_law_differs(error, "pages of SLC block", b,
                                 scarp_block_record(drive, b)->written,
                                 drive->geo.slc_pages);
    }
    if (state == BLOCK_FULL) {
        return scarp_law_differs(error, "state of SLC block", b, state,
                                 BLOCK_CACHE);
    }
    if (state != BLOCK_FREE &&
        scarp_media_origin(drive, b) != SCARP_ORIGIN_HOST) {
        return scarp_law_differs(error, "origin of SLC block", b,
                                 scarp_media_origin(drive, b),
                                 SCARP_ORIGIN_HOST);
    }
    return true;
}

bool scarp_slc_check(const ScarpDrive *drive, uint32_t p, uint32_t *open,
                     uint32_t *free, GError **error)
{
    const ScarpSlcPlane *slc = &drive->blocks.slc[p];
    uint32_t first = p * drive->desc.blocks_per_plane, listed = 0, all = 0;
    uint64_t most = drive->desc.slc_most_blocks;
    ScarpSlcPlane found = { .n_full = 0 };

    for (uint32_t b = first; b < first + drive->desc.blocks_per_plane; b++) {
        if (!count(drive, b, &found, &all, error)) {
            return false;
        }
    }
    if (!check_full(drive, p, false, &listed, error) ||
        !check_full(drive, p, true, &listed, error) ||
        !check_active(drive, p, open, error) ||
        !check_free(drive, p, free, error)) {
        return false;
    }
    if (listed != slc->n_full || found.n_full != listed) {
        return scarp_law_differs(error, "full SLC blocks of plane", p,
                                 slc->n_full, found.n_full);
    }
    if (all != drive->geo.static_blocks || found.n_static != slc->n_static ||
        *free + slc->n_static != all) {
        return scarp_law_differs(error, "static blocks of plane", p,
                                 *free + slc->n_static,
                                 drive->geo.static_blocks);
    }
    if (found.n_dynamic != slc->n_dynamic) {
        return scarp_law_differs(error, "dynamic SLC blocks of plane", p,
                                 slc->n_dynamic, found.n_dynamic);
    }
    most = !drive->desc.slc_dynamic ? 0 : most ? most : UINT64_MAX;
    return slc->n_dynamic <= most ||
           scarp_law_differs(error, "most dynamic SLC blocks of plane", p,
                             slc->n_dynamic, most);
}
