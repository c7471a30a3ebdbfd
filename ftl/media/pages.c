/*
 * The state of each page, for drives whose power may fail (nand.power_cuts).
 *
 * An MLC, TLC or QLC cell stores a bit of several pages: page i of a block lies
 * in the cells of group i / cell_bits. A page of a block in SLC mode has its
 * cells for itself. Programming a page changes the voltages of cells that
 * already store the earlier pages of the group. So if power fails during the
 * program, the earlier pages are destroyed, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "media/ops.h"

void scarp_media_set_pages(ScarpDrive *drive, uint32_t page, uint32_t n,
                           ScarpPageState state)
{
    uint8_t *states = drive->media.page_state;

    drive->media.is_clean = false;
    for (uint32_t end = page + n; page < end; page++) {
        uint8_t *byte = &states[page / 4];

        *byte = (*byte & ~(3u << (page % 4 * 2))) | state << (page % 4 * 2);
    }
}

void scarp_media_programmed_kept(ScarpDrive *drive, uint32_t ppn,
                                 uint32_t pages)
{
    uint32_t page = ppn >> drive->geo.page_shift;
    uint32_t shared =
        scarp_media_cell_pages(drive, scarp_ppn_block(drive, ppn));

    scarp_media_set_pages(drive, page, pages, PAGE_PROGRAMMED);
    for (uint32_t i = 0; drive->desc.paired_pages == PAIRED_BACKUP &&
                         i < pages; i++) {
        drive->stats.backup_page_programs +=
            (page + i) % drive->desc.pages_per_block % shared != 0;
    }
}

/* Makes a page unreadable (torn): its data and spare area are lost. */
static void lose(ScarpDrive *drive, uint32_t page)
{
    uint32_t ppn = page << drive->geo.page_shift;

    drive->stats.torn_pages += scarp_media_page(drive, page) != PAGE_TORN;
    scarp_media_set_pages(drive, page, 1, PAGE_TORN);
    for (uint32_t i = 0; i < drive->geo.units_per_page; i++) {
        drive->media.lpn_of[ppn + i] = SCARP_NONE;
        scarp_contents_release(drive, scarp_contents_take(drive, ppn + i));
    }
}

void scarp_media_tear(ScarpDrive *drive, uint32_t ppn, bool earlier)
{
    uint32_t page = ppn >> drive->geo.page_shift;
    uint32_t in_block = page % drive->desc.pages_per_block;
    uint32_t shared =
        scarp_media_cell_pages(drive, scarp_ppn_block(drive, ppn));
    uint32_t before = earlier ? in_block % shared : 0;

    for (uint32_t i = 0; i <= before; i++) {
        lose(drive, page - i);
    }
}

void scarp_media_tear_block(ScarpDrive *drive, uint32_t block)
{
    uint32_t first = block * (uint32_t)drive->desc.pages_per_block;

    for (uint32_t i = 0; i < scarp_block_pages(drive, block); i++) {
        lose(drive, first + i);
    }
}

uint32_t scarp_media_used_pages(const ScarpDrive *drive, uint32_t block)
{
    uint32_t first = block * (uint32_t)drive->desc.pages_per_block;
    uint32_t n = drive->desc.pages_per_block;

    while (n && scarp_media_page(drive, first + n - 1) == PAGE_ERASED) {
        n--;
    }
    return n;
}

void scarp_media_set_programmed(ScarpDrive *drive, uint32_t block,
                                uint16_t pages)
{
    drive->media.block[block].programmed = pages;
}
