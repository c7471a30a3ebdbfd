/*
 * Sets the states of blocks after a power cut, or for a Sanitize, from what is
 * on flash.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

void scarp_blocks_recover(ScarpDrive *drive)
{
    drive->stats.bad_blocks = 0;
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        scarp_blocks_forget(drive, p);
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        uint32_t pages = scarp_media_keeps(drive)
                             ? scarp_media_used_pages(drive, b)
                             : scarp_media_programmed(drive, b);

        scarp_media_set_programmed(drive, b, pages);
        scarp_block_load(drive, b, BLOCK_APART, pages, scarp_time_ns(drive));
        if (scarp_media_is_bad(drive, b)) {
            scarp_block_set_bad(drive, b);
        } else if (drive->blocks.slc && scarp_slc_recover(drive, b, pages)) {
            continue;
        } else if (!pages) {
            scarp_free_push(drive, scarp_blocks_plane_of(drive, b), b);
        }
    }
}

void scarp_block_recover(ScarpDrive *drive, uint32_t index,
                         ScarpBlockState state)
{
    ScarpBlocksPlane *plane = scarp_blocks_plane_of(drive, index);

    scarp_block_record(drive, index)->state = state;
    if (state == BLOCK_FULL &&
        scarp_media_mode(drive, index) != MODE_REAL) {
        scarp_slc_recover_full(drive, index);
    } else if (state == BLOCK_FULL) {
        scarp_full_insert(drive, plane, index);
    } else if (state == BLOCK_TRANSLATION) {
        plane->n_map++;
        scarp_translation_insert(drive, index);
    }
}

void scarp_block_close_early(ScarpDrive *drive, uint32_t index)
{
    uint32_t pages = drive->desc.pages_per_block;

    scarp_mark_if(drive, closed_early, scarp_block_written(drive, index) < pages);
    scarp_block_record(drive, index)->written = pages;
    scarp_media_set_programmed(drive, index, pages);
}

uint32_t scarp_block_open_apart(ScarpDrive *drive, uint32_t p,
                                ScarpOrigin origin)
{
    uint32_t index = scarp_free_pop(drive, &drive->blocks.plane[p]);

    scarp_block_record(drive, index)->state = BLOCK_APART;
    scarp_media_open(drive, index, origin, 0);
    return index;
}
