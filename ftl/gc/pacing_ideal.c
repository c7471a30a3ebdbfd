/*
 * Ideal pacing: collections happen, and cost no time (hpdc18, Ideal-No-GC).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        while (scarp_gc_due(drive, p)) {
            if (!scarp_gc_collect_now(drive, p)) {
                break;
            }
        }
    }
}

/*
 * A collection that an earlier scheme began still takes time. The host's
 * commands go before the commands of that collection, unless a program waits
 * for a page in the collection's plane.
 */
static ScarpTurn turn(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        if (scarp_gc_runs(drive, p) && scarp_gc_waits_for_page(drive, p)) {
            return TURN_GC;
        }
    }
    return TURN_HOST;
}

const ScarpPacingOps scarp_pacing_ideal = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "ideal",
        .needs = NEEDS_NO_UNITS,
        .help = "garbage collection that costs no time",
        .source = "hpdc18 section 5, Ideal-No-GC",
    },
    .instant = true,
    .check = check,
    .turn = turn,
};
