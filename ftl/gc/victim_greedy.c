/*
 * Greedy victim choice, wear-aware among ties (hpdc18 §2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static uint32_t greedy_choose(const ScarpDrive *drive,
                              const ScarpPlane *plane G_GNUC_UNUSED,
                              const uint32_t *candidates, uint32_t n)
{
    uint32_t best = candidates[0];

    for (uint32_t i = 1; i < n; i++) {
        if (drive->block[candidates[i]].erases < drive->block[best].erases) {
            best = candidates[i];
        }
    }
    return best;
}

const ScarpVictimOps scarp_victim_greedy = {
    .name = "greedy",
    .help = "fewest valid pages; of equals the least erased",
    .choose = greedy_choose,
};
