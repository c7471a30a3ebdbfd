/*
 * The SLC cache in an image: the mode of each block, the cache's lists of
 * blocks, its open blocks, and since when each die is idle.
 *
 * An image that lacks these sections is of a drive without a cache. A drive
 * with a dynamic cache may start from such an image: each of its blocks is in
 * the real mode.
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

/*
 * Visits a list of a plane's blocks. The caller leaves list.n and list.mark to
 * this function.
 */
static void visit_list(ScarpDrive *drive, uint32_t p, ImageList list,
                       uint8_t *seen, ScarpVisit *visit)
{
    for (uint32_t b = list.first; b != SCARP_NONE; b = list.next(drive, b)) {
        list.n++;
    }
    list.mark = 1;
    image_visit_list(drive, p, &list, seen, visit);
}

static void visit_free(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                       ScarpVisit *visit)
{
    visit_list(drive, p, (ImageList) {
        .name = "free static blocks of a plane",
        .most = drive->geo.static_blocks,
        .state = BLOCK_FREE, .mode = MODE_STATIC,
        .first = scarp_slc_first_free(drive, p),
        .next = scarp_blocks_next_free, .add = scarp_slc_load_free,
    }, seen, visit);
}

/*
 * Visits the list of full static blocks (fixed), or that of full dynamic
 * blocks.
 */
static void visit_full(ScarpDrive *drive, uint32_t p, bool fixed,
                       uint8_t *seen, ScarpVisit *visit)
{
    visit_list(drive, p, (ImageList) {
        .name = "full SLC blocks of a plane",
        .most = drive->desc.blocks_per_plane,
        .state = BLOCK_CACHE, .mode = fixed ? MODE_STATIC : MODE_SLC,
        .first = scarp_slc_first_full(drive, p, fixed),
        .next = scarp_blocks_next_full, .add = scarp_slc_load_full,
    }, seen, visit);
}

static void visit_active(ScarpDrive *drive, uint32_t p, uint8_t *seen,
                         ScarpVisit *visit)
{
    for (uint16_t s = 0; s < SCARP_MAX_STREAMS && !visit->problem; s++) {
        uint32_t index = image_visit_open(drive, p,
                                          scarp_slc_active(drive, p, s), seen,
                                          1, visit);

        if (index == SCARP_NONE || !visit->loading || visit->problem) {
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

/* Checks that the plane's dynamic blocks are no more than slc.most_blocks. */
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
