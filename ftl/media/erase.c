/*
 * The erase of a block: its units become empty, and its count of erases (wear)
 * grows by one. The cells get nand.cell_bits bits again, unless the block is
 * SLC for ever.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "media/ops.h"

void scarp_media_erase(ScarpDrive *drive, uint32_t index)
{
    ScarpMediaBlock *block = &drive->media.block[index];
    uint32_t *lpn_of = &drive->media.lpn_of[scarp_block_ppn(drive, index)];

    /*
     * Frees the bytes that the block still has. With nand.power_cuts these are
     * the bytes of overwritten and relocated units, which flash keeps until the
     * erase. Without nand.power_cuts such bytes are freed or moved when the
     * unit becomes invalid, and only Sanitize erases a block that has bytes.
     */
    for (uint32_t i = 0;
         block->contents && i < drive->geo.units_per_block; i++) {
        scarp_contents_release(drive, block->contents[i]);
    }
    if (scarp_media_keeps(drive)) {
        uint32_t pages = drive->desc.pages_per_block;

        scarp_media_set_pages(drive, index * pages, pages, PAGE_ERASED);
    }
    for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
        lpn_of[i] = SCARP_NONE;
    }
    g_clear_pointer(&block->contents, g_free);
    if (scarp_media_mode(drive, index) != MODE_REAL) {
        drive->slc_stats.slc_erases++;
        if (drive->media.slc_erases) {
            drive->media.slc_erases[index]++;
        }
        if (scarp_media_mode(drive, index) == MODE_SLC) {
            scarp_media_set_mode(drive, index, MODE_REAL);
        }
    }
    block->programmed = 0;
    block->erases++;
    drive->stats.erases++;
}
