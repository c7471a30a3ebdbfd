/*
 * The order in which collections begin if RAM has room for a limited number of
 * changed mapping entries (ftl.mapping=demand).
 *
 * A collection changes as many entries as its victim has valid units. Without
 * room for so many, the collection is refused. Planes that ask earlier, or
 * whose victims have fewer valid units, could then take the room again and
 * again. So gc remembers one refused plane: the plane in which a program of the
 * host waits longest for a page.
 *
 * When collections of other planes have gone before that program as often as
 * the limit allows (PASS_UPDATES), no collection that changes entries begins
 * before the remembered plane's. There is one exception: while the die of the
 * remembered plane runs another collection, that plane could not begin anyway,
 * so other planes may.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * Returns the program of the host that waits until the plane has collected, or
 * NULL.
 */
static const ScarpFlashCmd *host_in_need(const ScarpDrive *drive, uint32_t p)
{
    return scarp_gc_due(drive, p) ? scarp_gc_waits_for_page(drive, p) : NULL;
}

bool scarp_gc_has_room(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    uint32_t *refused = &drive->gc.refused;
    const ScarpFlashCmd *waiter, *own;
    bool behind;

    if (!scarp_map_can(drive, MAP_FETCHES)) {
        return true;
    }
    if (*refused != SCARP_NONE && (scarp_map_changes_nothing(drive) ||
                                   !host_in_need(drive, *refused))) {
        /* all room is free, or no program waits for room */
        *refused = SCARP_NONE;
    }
    waiter = *refused == SCARP_NONE ? NULL : host_in_need(drive, *refused);
    behind = waiter && p != *refused &&
             scarp_turn_owed(drive, PASS_UPDATES, 0, scarp_flash_seq(waiter)) &&
             !scarp_nand_collecting(drive, scarp_plane_die(drive, *refused));
    if (!scarp_map_may_collect(drive, victim, behind)) {
        scarp_mark_if(drive, collection_waits_its_turn, behind);
        own = host_in_need(drive, p);
        if (own &&
            (!waiter || scarp_flash_seq(own) < scarp_flash_seq(waiter))) {
            *refused = p;
        }
        return false;
    }
    if (waiter && p != *refused) {
        scarp_turn_passed(drive, PASS_UPDATES, 0, scarp_flash_seq(waiter));
    } else {
        *refused = SCARP_NONE;
    }
    return true;
}
