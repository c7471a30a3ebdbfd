/*
 * Greedy: the victim is the block with the fewest valid units. Of several such
 * blocks the one with the fewest erases is taken (hpdc18 §2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

static uint32_t choose(ScarpDrive *drive, uint32_t p)
{
    uint32_t candidates[64];
    uint32_t n = scarp_victim_least(drive, p, candidates,
                                    drive->desc.victim_candidates);
    uint32_t best = n ? candidates[0] : SCARP_NONE;

    for (uint32_t i = 1; i < n; i++) {
        if (scarp_victim_erases(drive, candidates[i]) <
            scarp_victim_erases(drive, best)) {
            scarp_mark(drive, least_worn_victim);
            best = candidates[i];
        }
    }
    return best;
}

const ScarpVictimOps scarp_victim_greedy = {
    .policy = {
        .axis = AXIS_VICTIM,
        .name = "greedy",
        .help = "fewest valid units; of equals the least erased",
        .source = "hpdc18 section 2",
    },
    .choose = choose,
};
