/*
 * ftl.mapping=demand after a power cut. The changed entries in RAM are lost, so
 * some translation units on flash are out of date. Recovery has found the right
 * PPNs in the spare areas. This file counts the wrong entries as if a
 * collection had moved their units, and queues these translation units to be
 * written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

/*
 * Returns how many mapped units have a wrong PPN in translation unit `index` on
 * flash. Sets *deallocated if the translation unit has a PPN for a unit that is
 * unmapped.
 */
static uint32_t count_stale(const ScarpDrive *drive, uint32_t index,
                            bool *deallocated)
{
    uint32_t lpn = drive->geo.first_translation_unit + index;
    uint32_t at = scarp_map_lookup(drive, lpn), stale = 0;
    uint32_t first = index << drive->geo.translation_shift;
    uint32_t n = MIN(1u << drive->geo.translation_shift,
                     drive->geo.logical_units - first);
    const uint32_t *says =
        at == SCARP_NONE ? NULL : scarp_contents_get(drive, at);

    for (uint32_t k = 0; k < n; k++) {
        uint32_t ppn = drive->map.ppn_of[first + k];
        uint32_t said = says ? GUINT32_FROM_LE(says[k]) : SCARP_NONE;

        stale += said != ppn && ppn != SCARP_NONE;
        *deallocated |= said != ppn && ppn == SCARP_NONE;
    }
    return stale;
}

void scarp_demand_recovered(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;

    demand->aside = false;
    for (uint32_t i = 0; i < demand->n_tus; i++) {
        Tu *tu = &demand->tu[i];
        bool deallocated = false;
        uint32_t stale = count_stale(drive, i, &deallocated);

        tu->updates += stale;
        demand->n_updates += stale;
        demand->n_deallocated += deallocated && !tu->deallocated;
        tu->deallocated |= deallocated;
        if (stale || deallocated) {
            scarp_tu_want(drive, tu);
        }
    }
    demand->n_recovered = demand->n_updates;
    if (scarp_has_checkpoints(drive)) {
        scarp_checkpoint_recovered(drive);
    }
}
