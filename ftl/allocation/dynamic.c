/*
 * Dynamic allocation: a page goes to the die with the fewest commands waiting,
 * among those that collect nothing. Of equal dies, the next in turn gets the
 * page (hpdc18 §3.3).
 *
 * A tree has a cost of each plane that is never higher than the plane's cost
 * now. So only a cost that falls must be put into the tree before the next
 * choice, and nand notes the dies where that may be so. A cost that has risen
 * is corrected when the tree names the plane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "allocation/ops.h"
#include "allocation/least.h"

typedef struct {
    ScarpLeast least; /* cost of each plane, by its turn */
    bool known;       /* `least` has a cost of each plane */
} Dynamic;

/*
 * Returns the plane whose turn it is. Turns go plane by plane over all dies:
 * channels change first, planes last.
 */
static uint32_t plane_of(const ScarpDrive *drive, uint32_t turn)
{
    return scarp_die_plane(drive, turn % drive->geo.n_dies) +
           turn / drive->geo.n_dies;
}

/*
 * Returns the cost of plane p; of the planes with room, the one with the least
 * cost is chosen. A collection in the die adds more than a shortage of free
 * blocks, which adds more than any number of waiting commands.
 */
static uint32_t load(const ScarpDrive *drive, uint32_t p)
{
    uint32_t die = scarp_plane_die(drive, p);
    uint32_t waiting = MIN(scarp_nand_load(drive, die), 0xffff);

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

static bool has_room(const ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    return units_of(drive, p) < scarp_plane_ceiling_units(drive, p) &&
           scarp_page_possible(drive, p, SCARP_ORIGIN_HOST, stream);
}

/*
 * Looks at every plane, and returns the one with the least cost. SCARP_NONE: no
 * plane has room.
 */
static uint32_t search(const ScarpDrive *drive, uint16_t stream)
{
    uint32_t n = drive->geo.n_planes, best = SCARP_NONE, least = UINT32_MAX;

    for (uint32_t i = 0; i < n && least; i++) {
        uint32_t p = plane_of(drive, (drive->allocation.next_plane + i) % n);
        uint32_t now = has_room(drive, p, stream) ? load(drive, p) : UINT32_MAX;

        if (now < least) {
            least = now;
            best = p;
        }
    }
    return best;
}

/* Puts the costs of relieved dies into the tree; at first, those of all. */
static void look_again(ScarpDrive *drive, Dynamic *dynamic)
{
    uint32_t n = drive->geo.n_dies, die;

    if (scarp_nand_note_relief(drive)) {
        dynamic->known = false;
    }
    for (uint32_t i = 0; i < drive->geo.n_planes && !dynamic->known; i++) {
        scarp_least_set(&dynamic->least, i, load(drive, plane_of(drive, i)));
    }
    dynamic->known = true;
    while ((die = scarp_nand_next_relieved(drive)) != SCARP_NONE) {
        for (uint32_t i = 0; i < drive->desc.planes_per_die; i++) {
            scarp_least_set(&dynamic->least, i * n + die,
                            load(drive, scarp_die_plane(drive, die) + i));
        }
    }
}

/*
 * Returns the plane with the least cost. If it has no room, which is rare, all
 * planes are searched.
 */
static uint32_t cheapest(ScarpDrive *drive, uint16_t stream)
{
    Dynamic *dynamic = drive->scheme.state[AXIS_ALLOCATION];
    uint32_t from = drive->allocation.next_plane % drive->geo.n_planes;
    uint32_t turn, p, now;

    look_again(drive, dynamic);
    for (;;) {
        turn = scarp_least_from(&dynamic->least, from);
        p = plane_of(drive, turn);
        now = load(drive, p);
        if (now == scarp_least_cost(&dynamic->least, turn)) {
            break;
        }
        scarp_least_set(&dynamic->least, turn, now);
    }
    return has_room(drive, p, stream) ? p : search(drive, stream);
}

static uint32_t dynamic_plane(ScarpDrive *drive, uint32_t lpn G_GNUC_UNUSED,
                              uint16_t stream)
{
    uint32_t n = drive->geo.n_planes, best = cheapest(drive, stream);

#ifdef SCARP_CHECKED
    if (best != search(drive, stream)) {
        scarp_law_broken(drive);
    }
#endif
    drive->allocation.next_plane = (drive->allocation.next_plane + 1) % n;
    if (best != SCARP_NONE) {
        scarp_mark_if(drive, allocated_at_collecting,
                      load(drive, best) >= 1u << 20);
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

static bool init(ScarpDrive *drive, ScarpScheme *scheme,
                 GError **error G_GNUC_UNUSED)
{
    Dynamic *dynamic = scheme->state[AXIS_ALLOCATION];

    scarp_least_init(&dynamic->least, drive->geo.n_planes);
    return true;
}

static void clear(ScarpDrive *drive G_GNUC_UNUSED, void *state)
{
    scarp_least_clear(&((Dynamic *)state)->least);
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
        .state_size = sizeof(Dynamic),
        .init = init,
        .clear = clear,
    },
    .plane = dynamic_plane,
};
