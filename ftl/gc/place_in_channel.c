/*
 * Relocated units stay in their channel, as in the Baseline of paragc §IV. As
 * with ParaGC, a victim's pages are read into RAM first, and the channel writes
 * its share in one of its planes. The planes take turns, victim by victim.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

static uint32_t plane(ScarpDrive *drive, const ScarpGcJob *gc,
                      uint32_t lpn G_GNUC_UNUSED)
{
    uint32_t die = scarp_plane_die(drive, gc->plane);
    uint32_t p = scarp_place_plane_of(drive, gc, scarp_die_channel(drive, die));

    if (p == gc->plane || scarp_place_room(drive, p)) {
        return p;
    }
    drive->stats.gc_fallback_units++;
    scarp_mark(drive, placed_at_home);
    return gc->plane;
}

const ScarpPlaceOps scarp_place_in_channel = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "in-channel",
        .needs = NEEDS_TIME | NEEDS_NO_PARITY | NEEDS_ANY_PAGE |
                 NEEDS_NO_UNITS,
        .help = "relocated pages stay in their channel",
        .source = "paragc section IV, its Baseline",
    },
    .window = UINT32_MAX, /* the whole victim is read into RAM first */
    .plane = plane,
};
