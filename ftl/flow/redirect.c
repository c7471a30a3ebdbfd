/*
 * Programs of the host whose plane can take no more units.
 *
 * With dynamic allocation, or by a collection, a unit may move to another
 * plane. So a plane may get so many valid units that none of its full blocks is
 * worth a collection, and have no free block to spare. Nothing in the plane can
 * end this state, but all planes together do have room. So programs that wait
 * in such a stuck plane are sent to a plane with room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

static bool is_stuck(const ScarpDrive *drive, uint32_t p,
                     const ScarpFlashCmd *head)
{
    uint32_t victim;

    return scarp_flash_owner(head) == OWNER_BUFFER &&
           !scarp_gc_runs(drive, p) &&
           !scarp_page_possible(drive, p, SCARP_ORIGIN_HOST,
                                scarp_flash_stream(head)) &&
           !scarp_victim_least(drive, p, &victim, 1) &&
           !(scarp_blocks_cached(drive) && scarp_fold_possible(drive, p));
}

/*
 * True when the plane can still collect after it has got one more page of
 * units.
 */
static bool has_room(const ScarpDrive *drive, uint32_t p)
{
    return scarp_plane_valid_units(drive, p) + drive->geo.units_per_page <=
           scarp_plane_limit_units(drive, p);
}

/*
 * Returns the plane with the fewest units, including those on their way to it,
 * among the planes with room (has_room()); or SCARP_NONE. `head` is a program
 * that waits in a stuck plane (is_stuck()).
 *
 * A plane with room can be stuck, too, while most of its free blocks are
 * reserved for copies from other planes. Such a state ends when the copies are
 * programmed, so a program may go to such a plane and wait there. But it leaves
 * such a plane only for a plane that is not stuck. Otherwise it could go back
 * and forth between two stuck planes for ever.
 */
static uint32_t elsewhere(const ScarpDrive *drive, const ScarpFlashCmd *head)
{
    uint32_t own = scarp_flash_plane(head);
    uint32_t best = SCARP_NONE, least = UINT32_MAX;
    bool may_stay = has_room(drive, own);

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        uint32_t units = scarp_plane_valid_units(drive, p) +
                         scarp_pack_host_coming(drive, p) +
                         scarp_pack_gc_coming(drive, p);

        if (!has_room(drive, p) ||
            (may_stay && p != own && is_stuck(drive, p, head))) {
            continue;
        }
        if (units < least) {
            least = units;
            best = p;
        }
    }
    return best;
}

bool scarp_flow_redirect(ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    bool moved = false;

    if (scarp_map_can(drive, MAP_PLACES_PAGES) || scarp_has_parity(drive) ||
        scarp_blocks_in_units(drive)) {
        /*
         * the mapping, a stripe or the order of a reclaim unit says which plane
         * a unit goes to
         */
        return false;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        ScarpFlashQueue *queue = scarp_nand_queue(drive, p, QUEUE_PROGRAMS);
        const ScarpFlashCmd *head = scarp_nand_head(drive, p, QUEUE_PROGRAMS);

        while (head && is_stuck(drive, p, head)) {
            uint32_t to = elsewhere(drive, head);
            ScarpFlashCmd *cmd;

            if (to == SCARP_NONE || to == p) {
                break;
            }
            cmd = scarp_nand_dequeue(drive, queue, scarp_nand_first_link(queue));
            scarp_flash_waited(drive, cmd);
            scarp_buffer_redirect(drive, cmd, to);
            moved = true;
            head = scarp_nand_head(drive, p, QUEUE_PROGRAMS);
        }
    }
    return moved;
}
