/*
 * What placements across planes have in common: a destination must keep its
 * floor of free blocks and its ceiling of valid units, or its own collections
 * could not end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

bool scarp_place_room(const ScarpDrive *drive, uint32_t p)
{
    const ScarpPlane *plane = &drive->plane[p];
    /* Active blocks, the reserve, and what its own collection may need. */
    uint32_t spare = scarp_reserved_blocks(&drive->d) + plane->n_bad;
    uint32_t ceiling = (drive->d.blocks_per_plane - spare) *
                       drive->units_per_block;

    return plane->n_free >= 3 &&
           plane->valid + plane->incoming + plane->gc_packer.n < ceiling;
}

uint32_t scarp_place_plane_of(const ScarpDrive *drive, const ScarpGc *gc,
                              uint32_t channel)
{
    uint32_t per_channel = drive->n_planes / (uint32_t)drive->d.channels;

    /* Erased blocks change with every victim, and are in an image. */
    return channel * per_channel +
           (gc->plane + scarp_block(drive, gc->victim)->erases) % per_channel;
}

uint32_t scarp_place_or_next(ScarpDrive *drive, const ScarpGc *gc, uint32_t p)
{
    uint32_t n = drive->n_planes;

    if (p == gc->plane || scarp_place_room(drive, p)) {
        return p;
    }
    drive->stats.gc_fallback_units++;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t other = (p + i) % n;

        if (scarp_place_room(drive, other)) {
            return other;
        }
    }
    return gc->plane;
}
