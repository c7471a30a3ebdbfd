/*
 * The order in which collections may change entries of the mapping, where the
 * mapping has room for so many changes at a time (demand).
 *
 * A plane whose victim had no room could be passed over for ever by planes that
 * are asked before it, or whose victims have fewer valid units. So gc remembers
 * the refused plane whose program waits longest. When that program is owed its
 * turn, the other planes wait for this plane's collection, but not while its
 * die collects in another plane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * Returns the program of the host that the plane's collection is for, or NULL.
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
        *refused = SCARP_NONE; /* the room is all free, or nobody waits */
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
