/*
 * Dynamic allocation: a page goes to the die with the fewest commands waiting,
 * among those that collect nothing. Of equal dies, the next in turn gets the
 * page (hpdc18 §3.3). Every die is considered for each page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "allocation/ops.h"

/*
 * Returns the cost of plane p; the plane with the least cost is chosen. A plane
 * without a page costs most. A collection in the die adds more than a shortage
 * of free blocks, which adds more than any number of waiting commands.
 */
static uint32_t load(const ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    uint32_t die = scarp_plane_die(drive, p);
    uint32_t waiting = MIN(scarp_nand_load(drive, die), 0xffff);

    if (!scarp_page_possible(drive, p, SCARP_ORIGIN_HOST, stream)) {
        return UINT32_MAX;
    }
    return (scarp_nand_collecting(drive, die) ? 1u << 20 : 0) +
           (scarp_plane_free_blocks(drive, p) <= drive->desc.trigger_free_blocks
                ? 1u << 19 : 0) +
           waiting;
}

/*
 * Returns the number of the plane's valid units plus that of the host's units
 * on their way there.
 */
static uint32_t units_of(const ScarpDrive *drive, uint32_t p)
{
    return scarp_plane_valid_units(drive, p) + scarp_pack_host_coming(drive, p);
}

static uint32_t dynamic_plane(ScarpDrive *drive, uint32_t lpn G_GNUC_UNUSED,
                              uint16_t stream)
{
    uint32_t n = drive->geo.n_planes, best = SCARP_NONE, least = UINT32_MAX;
    uint32_t *next_plane = &drive->allocation.next_plane;

    /*
     * The search goes plane by plane over all dies: channels change first,
     * planes last.
     */
    for (uint32_t i = 0; i < n && least; i++) {
        uint32_t turn = (*next_plane + i) % n;
        uint32_t p = scarp_die_plane(drive, turn % drive->geo.n_dies) +
                     turn / drive->geo.n_dies;
        uint32_t now = units_of(drive, p) < scarp_plane_ceiling_units(drive, p)
                           ? load(drive, p, stream) : UINT32_MAX;

        if (now < least) {
            least = now;
            best = p;
        }
    }
    *next_plane = (*next_plane + 1) % n;
    scarp_mark_if(drive, allocated_at_collecting,
                  best != SCARP_NONE && least >= 1u << 20);
    if (best != SCARP_NONE) {
        return best;
    }
    scarp_mark(drive, no_plane_has_room);
    /* No plane has room: the page waits in the plane with the fewest units. */
    best = 0;
    for (uint32_t p = 1; p < n; p++) {
        if (units_of(drive, p) < units_of(drive, best)) {
            best = p;
        }
    }
    return best;
}

uint32_t scarp_alloc_turn(const ScarpDrive *drive)
{
    return drive->allocation.next_plane;
}

void scarp_alloc_load_turn(ScarpDrive *drive, uint32_t next_plane)
{
    drive->allocation.next_plane = next_plane;
}

const ScarpAllocOps scarp_alloc_dynamic = {
    .policy = {
        .axis = AXIS_ALLOCATION,
        .name = "dynamic",
        .needs = NEEDS_NO_PARITY | NEEDS_ANY_PAGE | NEEDS_NO_UNITS,
        .help = "a die without garbage collection first, then the least busy",
        .source = "hpdc18 section 3.3",
    },
    .plane = dynamic_plane,
};
