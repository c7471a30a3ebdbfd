/*
 * Whose collection may change entries of the mapping next, where the mapping has
 * room for so many changes at a time (demand).
 *
 * A plane whose victim had no room would be passed over for ever by those that
 * are asked before it, or have fewer valid units.  So of the planes that were
 * refused the one whose program waits longest has a turn: when as many
 * collections as there are planes have begun since, the others wait for it, but
 * not while its die collects in another plane.  The turn ends when it begins, or
 * is due no more, or no program of the host waits there for a page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/* The program of the host that the plane's collection is for, or NULL. */
static const ScarpFlashCmd *host_in_need(const ScarpDrive *drive, uint32_t p)
{
    return scarp_gc_due(drive, p) ? scarp_gc_waits_for_page(drive, p) : NULL;
}

/* It was refused: it is next, if nobody is whose program is older. */
static void refuse(ScarpDrive *drive, uint32_t p)
{
    ScarpGc *gc = &drive->gc;
    const ScarpFlashCmd *own = host_in_need(drive, p);
    const ScarpFlashCmd *next = gc->turns ? host_in_need(drive, gc->refused) : NULL;

    if (own && (!next || scarp_flash_seq(own) < scarp_flash_seq(next))) {
        gc->refused = p;
        gc->turns = MAX(gc->turns, 1);
    }
}

bool scarp_gc_has_room(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    ScarpGc *gc = &drive->gc;
    bool behind = false;

    if (!scarp_map_can(drive, MAP_FETCHES)) {
        return true;
    }
    if (gc->turns && (scarp_map_changes_nothing(drive) ||
                      !host_in_need(drive, gc->refused))) {
        gc->turns = 0; /* all of the room is there; so it is after a load */
    }
    if (gc->turns > drive->geo.n_planes && p != gc->refused) {
        behind = !scarp_nand_collecting(drive,
                                        scarp_plane_die(drive, gc->refused));
    }
    if (!scarp_map_may_collect(drive, victim, behind)) {
        refuse(drive, p);
        scarp_mark_if(drive, collection_waits_its_turn, behind);
        return false;
    }
    if (gc->turns) {
        gc->turns = p == gc->refused ? 0 : gc->turns + 1;
    }
    return true;
}
