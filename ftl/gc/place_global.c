/*
 * Global GC (hpdc18 §4.4): relocated pages go to all planes in turn, so that a
 * collection keeps the victim's die busy with reads, and other dies with
 * programs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

typedef struct {
    uint32_t next_plane;
    uint32_t units; /* units counted in next_plane's turn */
} Global;

static uint32_t plane(ScarpDrive *drive, const ScarpGcJob *gc,
                      uint32_t lpn G_GNUC_UNUSED)
{
    Global *global = drive->scheme.state[AXIS_PLACEMENT];

    /*
     * A plane gets as many units as a page has, then it is the next plane's
     * turn.
     */
    if (++global->units >= drive->geo.units_per_page) {
        global->units = 0;
        global->next_plane = (global->next_plane + 1) % drive->geo.n_planes;
    }
    return scarp_place_or_next(drive, gc, global->next_plane);
}

static void persist(ScarpDrive *drive, void *state, ScarpVisit *visit)
{
    Global *global = state;

    scarp_visit_u32(visit, "next_plane", &global->next_plane, 0,
                    drive->geo.n_planes - 1);
    scarp_visit_u32(visit, "units", &global->units, 0,
                    drive->geo.units_per_page);
}

const ScarpPlaceOps scarp_place_global = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "global",
        .needs = NEEDS_TIME | NEEDS_NO_PARITY | NEEDS_ANY_PAGE |
                 NEEDS_NO_UNITS,
        .help = "relocated pages go round all planes of the drive",
        .source = "hpdc18 section 4.4",
        .state_size = sizeof(Global),
        .persist = persist,
    },
    .window = 4,
    .plane = plane,
};
