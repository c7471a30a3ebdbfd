/*
 * Whose collection may change entries of the mapping next, where the mapping has
 * room for so many changes at a time (demand).
 *
 * A plane whose victim had no room would be passed over for ever by those that
 * are asked before it, or have fewer valid units.  So when as many collections
 * as there are planes have begun since, the others wait for it: but only while
 * it is due, its die collects nothing, and a program of the host waits there
 * for a page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

static bool is_in_need(const ScarpDrive *drive, uint32_t p)
{
    return !scarp_nand_collecting(drive, scarp_plane_die(drive, p)) &&
           scarp_gc_waits_for_page(drive, p) && scarp_gc_due(drive, p);
}

bool scarp_gc_has_room(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    ScarpGc *gc = &drive->gc;
    bool behind = false;

    if (!scarp_map_can(drive, MAP_FETCHES)) {
        return true;
    }
    if (gc->turns && scarp_map_changes_nothing(drive)) {
        gc->turns = 0; /* all of the room is there; so it is after a load */
    }
    if (gc->turns > drive->geo.n_planes && p != gc->refused) {
        behind = is_in_need(drive, gc->refused);
        gc->turns = behind ? gc->turns : 0;
    }
    if (!scarp_map_may_collect(drive, victim, behind)) {
        if (!gc->turns) {
            gc->refused = p;
            gc->turns = 1;
        }
        scarp_mark_if(drive, collection_waits_its_turn, behind);
        return false;
    }
    if (gc->turns) {
        gc->turns = p == gc->refused ? 0 : gc->turns + 1;
    }
    return true;
}
