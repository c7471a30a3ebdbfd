/*
 * Entries of the mapping that lie on flash (ftl.mapping=demand). Reads and
 * written units that wait for such an entry go on when it has been read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * Goes on with a unit that the host wrote, when the mapping entry of its LPN is
 * known.
 */
static void unit_mapped(ScarpDrive *drive, ScarpUnit *unit)
{
    if (!scarp_buffer_mapped(drive, unit)) {
        return;
    }
    /*
     * the host wrote a part of the unit: the other bytes are on flash, or
     * zeroes
     */
    if (scarp_flow_lookup(drive, scarp_unit_lpn(unit)) != SCARP_NONE) {
        scarp_buffer_read_rest(drive, unit);
    } else {
        scarp_flow_fill(drive, unit, NULL);
    }
}

/*
 * Goes on with reads and units whose mapping entries are known. Reads of a
 * command's consecutive units in one page become one flash read, as if none of
 * them had waited.
 */
static void go_on(ScarpDrive *drive, ScarpMapWait *first)
{
    ScarpFlashCmd *open = NULL;
    ScarpMapWait *next;
    bool units = false;

    for (ScarpMapWait *wait = first; wait; wait = scarp_map_wait_next(wait)) {
        if (scarp_map_wait_cmd(wait)) {
            scarp_flow_read_mapped(drive, scarp_map_wait_cmd(wait), &open);
        } else {
            units = true;
            unit_mapped(drive, scarp_map_wait_unit(wait));
        }
    }
    if (open) {
        scarp_nand_enqueue(drive, open);
    }
    for (ScarpMapWait *wait = first; wait; wait = next) {
        next = scarp_map_wait_next(wait);
        if (scarp_map_wait_unit(wait)) {
            scarp_buffer_close(drive, scarp_map_wait_lpn(wait));
        }
        scarp_map_give_ready(drive, wait);
    }
    if (units) {
        scarp_flow_flushed(drive);
        scarp_flow_admit(drive);
    }
}

void scarp_flow_mapped(ScarpDrive *drive)
{
    while (scarp_map_wants(drive)) {
        scarp_map_pump(drive);
        go_on(drive, scarp_map_take_ready(drive));
    }
}
