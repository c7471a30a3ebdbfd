/*
 * Rotating pacing (TTFlash, FAST 2017): of the dies that share stripes, only
 * one die collects at a time. So reads of that die can be rebuilt from the
 * other dies. When its collection has ended, the next die has the turn. A plane
 * with rotating_floor free blocks or fewer collects out of turn, which
 * gc_forced_runs counts. All other rules are those of blocking pacing.
 *
 * In TTFlash only the plane that collects is blocked. Here a die runs one
 * command at a time, so its other planes wait, too. Reads of these planes can
 * also be rebuilt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/ops.h"

/*
 * Begins a collection of plane p, where a collection is due. Returns false if
 * plane p must wait for another die that collects, or has nothing to collect.
 */
static bool begin(ScarpDrive *drive, uint32_t p)
{
    uint64_t floor = drive->scheme.param[AXIS_PACING][0];
    bool wait = scarp_parity_sibling_collects(drive, scarp_plane_die(drive, p));

    scarp_mark_if(drive, rotation_waits, wait);
    if ((wait && scarp_plane_free_blocks(drive, p) > floor) ||
        !scarp_gc_start(drive, p, SCARP_ORIGIN_GC)) {
        return false;
    }
    scarp_mark_if(drive, out_of_turn, wait);
    drive->stats.gc_forced_runs += wait;
    return true;
}

static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->desc.planes_per_die, longest;

    if (scarp_nand_collecting(drive, die)) {
        return;
    }
    longest = n > 1 ? scarp_gc_longest_in_need(drive, die) : SCARP_NONE;
    if (longest != SCARP_NONE && begin(drive, longest)) {
        return;
    }
    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        if (scarp_gc_due(drive, p) && begin(drive, p)) {
            return;
        }
    }
}

static ScarpTurn turn(ScarpDrive *drive G_GNUC_UNUSED,
                      uint32_t die G_GNUC_UNUSED)
{
    return TURN_HELD;
}

static bool may_collect(const ScarpDrive *drive, uint32_t die)
{
    return !scarp_parity_sibling_collects(drive, die);
}

static void gc_done(ScarpDrive *drive, ScarpGcJob *gc)
{
    uint32_t n = drive->desc.planes_per_die;
    uint32_t first = scarp_plane_die(drive, scarp_gc_job_plane(gc)) * n;

    for (uint32_t p = first; p < first + n; p++) {
        scarp_parity_kick_siblings(drive, p);
    }
}

static const ScarpParam params[] = {
    { "rotating_floor", "free blocks", "a plane at or below it waits no longer",
      1, 1u << 20, 1 },
};

const ScarpPacingOps scarp_pacing_rotating = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "rotating",
        .needs = NEEDS_PARITY,
        .help = "of the dies of a stripe one collects at a time, blocking",
        .source = "TTFlash (FAST 2017), rotating GC",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
    },
    .check = check,
    .turn = turn,
    .may_collect = may_collect,
    .gc_done = gc_done,
};
