/*
 * Dynamic allocation: a page goes to a die that collects nothing and has the
 * fewest commands waiting; of equals, to the next in turn (hpdc18 §3.3).
 *
 * Looks at every die once per page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

/* Less is better. */
static uint32_t load(const ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    const ScarpDie *die = &drive->die[scarp_plane_die(drive, p)];
    const ScarpPlane *plane = &drive->plane[p];
    uint32_t waiting = MIN(die->n_reads + die->n_programs + die->n_gc +
                           !!die->current, 0xffff);

    if (!scarp_alloc_possible(drive, p, SCARP_ORIGIN_HOST, stream)) {
        return UINT32_MAX;
    }
    return (die->gc_jobs ? 1u << 20 : 0) +
           (plane->n_free <= drive->d.trigger_free_blocks ? 1u << 19 : 0) +
           waiting;
}

/* The valid units of a plane must stay below what GC can still collect. */
static bool below_ceiling(const ScarpDrive *drive, uint32_t p)
{
    const ScarpPlane *plane = &drive->plane[p];
    uint32_t spare = scarp_reserved_blocks(&drive->d) + plane->n_bad;

    return plane->valid + plane->programs_units <
           (drive->d.blocks_per_plane - spare) * drive->units_per_block;
}

static uint32_t dynamic_plane(ScarpDrive *drive, uint32_t lpn G_GNUC_UNUSED,
                              uint16_t stream)
{
    uint32_t n = drive->n_planes, best = SCARP_NONE, least = UINT32_MAX;

    /* Plane by plane over all dies: channels first, planes last. */
    for (uint32_t i = 0; i < n && least; i++) {
        uint32_t turn = (drive->next_plane + i) % n;
        uint32_t p = turn % drive->n_dies * (uint32_t)drive->d.planes_per_die +
                     turn / drive->n_dies;
        uint32_t now = below_ceiling(drive, p) ? load(drive, p, stream)
                                               : UINT32_MAX;

        if (now < least) {
            least = now;
            best = p;
        }
    }
    drive->next_plane = (drive->next_plane + 1) % n;
    if (best != SCARP_NONE) {
        return best;
    }
    /* None has room now: wait where the fewest units live. */
    best = 0;
    for (uint32_t p = 1; p < n; p++) {
        if (drive->plane[p].valid + drive->plane[p].programs_units <
            drive->plane[best].valid + drive->plane[best].programs_units) {
            best = p;
        }
    }
    return best;
}

const ScarpAllocOps scarp_alloc_dynamic = {
    .policy = {
        .axis = AXIS_ALLOCATION,
        .name = "dynamic",
        .needs = NEEDS_NO_PARITY,
        .help = "a die without garbage collection first, then the least busy",
        .source = "hpdc18 section 3.3",
    },
    .plane = dynamic_plane,
};
