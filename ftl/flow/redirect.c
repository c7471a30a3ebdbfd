/*
 * Programs of the host whose plane can take no more units.
 *
 * By dynamic allocation, or in a collection, a unit may leave its plane. So a
 * plane can come to have so many valid units that none of its full blocks is
 * worth a collection, while it has no free block to spare. Nothing that happens
 * in the plane ends this state. But all planes together have room. So programs
 * that wait in such a plane go to a plane with room.
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
 * Looks for planes that could still collect after one more page of units.
 * Returns the one of these that will have the fewest units, or SCARP_NONE.
 */
static uint32_t elsewhere(const ScarpDrive *drive)
{
    uint32_t best = SCARP_NONE, least = UINT32_MAX;

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        uint32_t units = scarp_plane_valid_units(drive, p) +
                         drive->geo.units_per_page;

        if (units > scarp_plane_limit_units(drive, p)) {
            continue;
        }
        units += scarp_pack_host_coming(drive, p) +
                 scarp_pack_gc_coming(drive, p);
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

    if (scarp_map_can(drive, MAP_PLACES_PAGES) || scarp_has_parity(drive)) {
        /* the mapping or a stripe says which plane a unit goes to */
        return false;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        ScarpFlashQueue *queue = scarp_nand_queue(drive, p, QUEUE_PROGRAMS);
        const ScarpFlashCmd *head = scarp_nand_head(drive, p, QUEUE_PROGRAMS);

        while (head && is_stuck(drive, p, head)) {
            uint32_t to = elsewhere(drive);
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
