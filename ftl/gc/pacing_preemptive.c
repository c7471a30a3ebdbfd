/*
 * Preemptive GC (Lee et al. 2011): between its flash commands a collection
 * yields to the host, unless the plane is short of free blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * True when the plane depends on a collection, for one of four reasons: a
 * collection runs there; the collection of a reclaim unit may copy to it; a
 * page of the plane is reserved for copies; or a program waits there for a page,
 * and the plane cannot collect until the die's running collection ends. That
 * program would starve as long as the die has other programs.
 */
static bool waits(const ScarpDrive *drive, uint32_t die, uint32_t p)
{
    return scarp_gc_runs(drive, p) || scarp_plane_is_promised(drive, p) ||
           (scarp_blocks_in_units(drive) && scarp_ru_collected(drive, p)) ||
           (scarp_nand_collecting(drive, die) &&
            scarp_gc_in_need(drive, p));
}

static ScarpTurn turn(ScarpDrive *drive, uint32_t die)
{
    uint64_t floor = drive->scheme.param[AXIS_PACING][0];
    uint32_t n = drive->desc.planes_per_die;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        if (scarp_gc_is_urgent(drive, p, floor) && waits(drive, die, p)) {
            scarp_mark(drive, yields_no_longer);
            return TURN_GC;
        }
    }
    return TURN_HOST;
}

static const ScarpParam params[] = {
    { "pgc_floor", "free blocks", "a plane at or below it no longer yields",
      1, 1u << 20, 2 },
};

const ScarpPacingOps scarp_pacing_preemptive = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "pgc",
        .help = "garbage collection yields to the host between commands",
        .source = "hpdc18 section 5, PGC; Lee et al. 2011",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
    },
    .check = scarp_gc_check_one,
    .turn = turn,
};
