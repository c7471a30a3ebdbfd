/*
 * Mappings that choose the page of each write (MAP_PLACES_PAGES): finds the
 * block, and the page in it, for the next page that the host writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

bool scarp_map_page_possible(const ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    return drive->map.ops->room(drive, p, lpn) != SCARP_NONE;
}

uint32_t scarp_map_page_offset(const ScarpDrive *drive, uint32_t p,
                               uint32_t lpn)
{
    uint32_t block = drive->map.ops->room(drive, p, lpn);

    return block >= SCARP_FRESH ? 0 : scarp_block_written(drive, block);
}

uint32_t scarp_map_page_take(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    const ScarpMappingOps *ops = drive->map.ops;
    uint32_t block = ops->room(drive, p, lpn);

    if (block == SCARP_FRESH) {
        block = ops->open(drive, p, lpn);
    }
    ops->wrote(drive, p, lpn, block);
    return scarp_block_next_page(drive, block);
}

bool scarp_map_has_room(const ScarpDrive *drive, uint32_t p, uint32_t lpn,
                        uint32_t n, const uint32_t *ahead, uint32_t n_ahead)
{
    return drive->map.ops->fits
               ? drive->map.ops->fits(drive, p, lpn, n, ahead, n_ahead)
               : scarp_map_page_possible(drive, p, lpn);
}

bool scarp_map_is_stuck(const ScarpDrive *drive, uint32_t p)
{
    return scarp_map_can(drive, MAP_PLACES_PAGES) &&
           scarp_nand_head(drive, p, QUEUE_PROGRAMS) &&
           !scarp_map_page_possible(drive, p, scarp_map_waiting_lpn(drive, p));
}
