/*
 * Rules of all placements that move units to other planes. The plane that takes
 * a unit in must keep a floor of free blocks and stay below a ceiling of valid
 * units, or its own collections could not end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

bool scarp_place_room(const ScarpDrive *drive, uint32_t p)
{
    if (scarp_gc_owes_host(drive, scarp_plane_die(drive, p))) {
        scarp_mark(drive, nothing_taken_in);
        return false;
    }
    /*
     * The plane's own collection may need one free block, and the unit that is
     * taken in may need a second.
     */
    return scarp_plane_free_blocks(drive, p) >= 3 &&
           scarp_plane_spare_blocks(drive, p) >= 2 &&
           scarp_plane_valid_units(drive, p) + scarp_pack_gc_coming(drive, p) +
                   scarp_packer_count(&drive->gc.plane[p].packer) <
               scarp_plane_ceiling_units(drive, p);
}

uint32_t scarp_place_plane_of(const ScarpDrive *drive, const ScarpGcJob *gc,
                              uint32_t channel)
{
    uint32_t per_channel = drive->geo.n_planes / (uint32_t)drive->desc.channels;

    /*
     * The planes take turns by the number of the victim's erases, which is
     * higher at the next collection of the block. An image has that number, so
     * a drive that starts from an image goes on in the same order.
     */
    return channel * per_channel +
           (gc->plane + scarp_media_erases(drive, gc->victim)) % per_channel;
}

uint32_t scarp_place_or_next(ScarpDrive *drive, const ScarpGcJob *gc,
                             uint32_t p)
{
    uint32_t n = drive->geo.n_planes;

    if (p == gc->plane || scarp_place_room(drive, p)) {
        return p;
    }
    drive->stats.gc_fallback_units++;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t other = (p + i) % n;

        if (scarp_place_room(drive, other)) {
            scarp_mark(drive, placed_elsewhere);
            return other;
        }
    }
    scarp_mark(drive, placed_at_home);
    return gc->plane;
}
