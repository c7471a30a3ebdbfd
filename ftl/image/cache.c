/*
 * The SLC cache in an image: the mode of each block, the cache's lists of
 * blocks, its open blocks, and since when each die is idle.
 *
 * An image that lacks these sections is of a drive without a cache. A drive
 * with a dynamic cache may start from it: all of its blocks are real ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"

bool image_has_cache(const ScarpImage *image)
{
    return image_find(image, "modes");
}

void image_visit_modes(ScarpDrive *drive, ScarpVisit *visit)
{
    for (uint32_t b = 0; b < drive->geo.n_blocks && !visit->problem; b++) {
        uint8_t mode = scarp_media_mode(drive, b);

        scarp_visit_u8(visit, "a block's mode", &mode, MODE_REAL, MODE_STATIC);
        if (visit->loading) {
            scarp_media_set_mode(drive, b, mode);
        }
    }
}

void image_visit_wear(ScarpDrive *drive, ScarpVisit *visit)
{
    for (uint32_t b = 0; b < drive->geo.n_blocks && !visit->problem; b++) {
        uint32_t erases = scarp_media_slc_erases(drive, b);

        scarp_visit_u32(visit, "a block's erases in SLC mode", &erases, 0,
                        scarp_media_erases(drive, b));
        if (visit->loading) {
            scarp_media_load_slc_erases(drive, b, erases);
        }
    }
}

/* ---- Lists --------------------------------------------------------------- */

/* True when a loaded block is in the mode that its list requires. */
static bool in_mode(const ScarpDrive *drive, uint32_t index,
                    ScarpCellMode mode, ScarpVisit *visit)
{
    if (!visit->problem && scarp_media_mode(drive, index) != mode) {
        scarp_visit_fail(visit, "block %u of the SLC cache is in mode %d",
                         index, scarp_media_mode(drive, index));
    }
    return !visit->problem;
}

static void visit_free(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                       ScarpVisit *visit)
{
    uint32_t at = scarp_slc_first_free(drive, p), n = 0;

    for (uint32_t b = at; b != SCARP_NONE;
         b = scarp_blocks_next_free(drive, b)) {
        n++;
    }
    scarp_visit_u32(visit, "free static blocks of a plane", &n, 0,
                    drive->geo.static_blocks);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index = image_visit_member(drive, p, at, BLOCK_FREE, seen, 1,
                                            visit);

        if (!visit->loading) {
            at = scarp_blocks_next_free(drive, at);
        } else if (in_mode(drive, index, MODE_STATIC, visit)) {
            scarp_slc_load_free(drive, index);
        }
    }
}

/* Visits the full blocks that are static (fixed), or those that are dynamic. */
static void visit_full(ScarpDrive *drive, uint32_t p, bool fixed,
                       uint8_t *seen, ScarpVisit *visit)
{
    uint32_t at = scarp_slc_first_full(drive, p, fixed), n = 0;

    for (uint32_t b = at; b != SCARP_NONE;
         b = scarp_blocks_next_full(drive, b)) {
        n++;
    }
    scarp_visit_u32(visit, "full SLC blocks of a plane", &n, 0,
                    drive->desc.blocks_per_plane);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t index = image_visit_member(drive, p, at, BLOCK_CACHE, seen, 1,
                                            visit);

        if (!visit->loading) {
            at = scarp_blocks_next_full(drive, at);
        } else if (in_mode(drive, index, fixed ? MODE_STATIC : MODE_SLC,
                           visit)) {
            scarp_slc_load_full(drive, index);
        }
    }
}

static void visit_active(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                         ScarpVisit *visit)
{
    for (uint16_t s = 0; s < SCARP_MAX_STREAMS && !visit->problem; s++) {
        uint32_t index = scarp_slc_active(drive, p, s);
        bool open = index != SCARP_NONE;

        scarp_visit_bool(visit, "an open SLC block", &open);
        if (!open) {
            continue;
        }
        index = image_visit_member(drive, p, index, BLOCK_ACTIVE, seen, 1,
                                   visit);
        if (!visit->loading || visit->problem) {
            continue;
        }
        if (scarp_media_mode(drive, index) == MODE_REAL ||
            scarp_media_stream(drive, index) != s) {
            scarp_visit_fail(visit, "open SLC block %u of stream %u", index, s);
        } else {
            scarp_slc_load_active(drive, p, s, index);
        }
    }
}

/* Checks that the drive's description allows so many dynamic blocks. */
static void check_most(const ScarpDrive *drive, uint32_t p, ScarpVisit *visit)
{
    uint64_t most = drive->desc.slc_most_blocks;
    uint32_t n = scarp_slc_dynamic_blocks(drive, p);

    if (visit->loading && most && n > most) {
        scarp_visit_fail(visit, "plane %u has %u blocks in SLC mode, too many "
                         "for slc.most_blocks=%" G_GUINT64_FORMAT, p, n, most);
    }
}

void image_visit_cache(ScarpDrive *drive, ScarpVisit *visit)
{
    g_autofree uint8_t *seen = g_malloc0(drive->geo.n_blocks);

    for (uint32_t p = 0; p < drive->geo.n_planes && !visit->problem; p++) {
        visit_free(drive, p, seen, visit);
        visit_full(drive, p, false, seen, visit);
        visit_full(drive, p, true, seen, visit);
        visit_active(drive, p, seen, visit);
        check_most(drive, p, visit);
    }
    scarp_fold_visit(drive, visit);
}
