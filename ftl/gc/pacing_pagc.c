/*
 * PaGC: when collection is due in one plane of a die, all planes of the die
 * collect, so that no plane idles while another plane collects (Shahidi et al.
 * 2016, parallel garbage collection).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * Starts a collection in each plane of the die when one plane's is due. If only
 * collections of translation units are due, the other planes do not join in.
 * Their collections would move data and so change mapping entries, which would
 * make the next collection of translation units due, and so on for ever.
 */
static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die, first = die * n;
    bool together = false;

    if (scarp_nand_collecting(drive, die)) {
        return;
    }
    for (uint32_t p = first; p < first + n; p++) {
        together |= scarp_gc_due(drive, p) && !scarp_translation_due(drive, p);
    }
    for (uint32_t p = first; p < first + n; p++) {
        scarp_mark_if(drive, planes_collect_together,
                      together && scarp_nand_collecting(drive, die));
        if (together || scarp_gc_due(drive, p)) {
            scarp_gc_start(drive, p, SCARP_ORIGIN_GC);
        }
    }
}

static ScarpTurn turn(ScarpDrive *drive G_GNUC_UNUSED,
                      uint32_t die G_GNUC_UNUSED)
{
    return TURN_HELD;
}

const ScarpPacingOps scarp_pacing_pagc = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "pagc",
        .needs = NEEDS_PLANES,
        .help = "all planes of a die collect together, blocking",
        .source = "Shahidi et al. 2016",
    },
    .check = check,
    .turn = turn,
};
