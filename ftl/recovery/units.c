/*
 * Recovery's work in a group of planes that share reclaim units of several
 * planes. If the group's only free unit is the one that is kept for recovery,
 * recovery copies the mapping units of those reclaim units that have the fewest
 * valid ones. They go into fewer reclaim units, as by garbage collection, one
 * flash command after the other.
 *
 * The blocks of a reclaim unit are erased when all its copies are on flash. So
 * if power fails again, either the reclaim unit has all it had, or nothing in
 * it counts (map/twins.c), and the next recovery has as many free units as this
 * one had.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"
#include "allocation/ops.h"

static void program_next(ScarpDrive *drive, uint32_t p)
{
    uint32_t group = scarp_ru_group(drive, p);
    uint16_t stream = scarp_ru_victim_stream(drive, group);
    uint32_t to = scarp_ru_next_plane(drive, group, SCARP_ORIGIN_GC, stream);

    scarp_recovery_issue(drive, to, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_GC,
                         scarp_page_take(drive, to, SCARP_ORIGIN_GC, stream),
                         drive->desc.page_bytes);
}

bool scarp_recovery_units(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryJob *job = &drive->recovery.plane[p].job;

    if (scarp_ru_first_plane(drive, p) != p) {
        return false; /* the group's first plane does all */
    }
    for (;;) {
        if (job->done < job->mend.n_units) {
            if (!scarp_recovery_read_next(drive, job)) {
                program_next(drive, p);
            }
            return true;
        }
        if (scarp_recovery_erase_next(drive, job)) {
            return true;
        }
        if (!scarp_map_mend_group(drive, p, &job->mend)) {
            return false;
        }
        job->read = job->done = 0;
    }
}
