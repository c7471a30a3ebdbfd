/*
 * Blocking pacing: one collection of a die at a time, and the die serves
 * nothing else until the victim is erased.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

bool scarp_gc_due(const ScarpDrive *drive, uint32_t p)
{
    const ScarpPlane *plane = &drive->plane[p];
    uint32_t n = drive->d.planes_per_die;
    bool room = plane->active[ACTIVE_ALIGNED] != SCARP_NONE &&
                scarp_aligned_offset(drive, p) * n <
                    drive->d.pages_per_block * (p % n + 1);

    /*
     * An aligned block is room too: without it being counted, a plane that
     * opens one would be due at once.  The planes of a die fill theirs in
     * step; each stops counting at another point, or they would be due in step
     * too, and the die would collect twice in a row.
     */
    return plane->n_free + room <= drive->d.trigger_free_blocks ||
           plane->n_free <= 1;
}

static void __attribute__((noinline)) start_one(ScarpDrive *drive,
                                                uint32_t die)
{
    uint32_t n = drive->d.planes_per_die;
    bool due = false;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        if (scarp_gc_due(drive, p)) {
            if (scarp_gc_start(drive, p, SCARP_ORIGIN_GC)) {
                return;
            }
            due = true;
        }
    }
    drive->die[die].gc_settled = !due;
}

void scarp_gc_check_one(ScarpDrive *drive, uint32_t die)
{
    if (!drive->die[die].gc_jobs && !drive->die[die].gc_settled) {
        start_one(drive, die);
    }
}

static ScarpTurn turn(ScarpDrive *drive G_GNUC_UNUSED,
                      uint32_t die G_GNUC_UNUSED)
{
    return TURN_HELD;
}

const ScarpPacingOps scarp_pacing_blocking = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "blocking",
        .help = "a die collects a whole victim before it serves the host again",
        .source = "hpdc18 section 2",
    },
    .check = scarp_gc_check_one,
    .turn = turn,
};
