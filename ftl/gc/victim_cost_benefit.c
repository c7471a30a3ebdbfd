/*
 * Cost-benefit: the victim is the block with the greatest age × (1 - u) / 2u
 * (Kawaguchi et al. 1995). Here u is the block's share of valid units, and age
 * is the time since the block changed last.
 *
 * The first block of a bucket (the list of full blocks with equally many valid
 * units) changed longest ago, so only the first block of each bucket is
 * compared. Blocks are compared by age × (n - v) / v, in integers of 128 bits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

static uint32_t choose(ScarpDrive *drive, uint32_t p)
{
    uint32_t n = drive->geo.victim_units, best = SCARP_NONE;
    unsigned __int128 best_gain = 0;
    uint64_t best_cost = 1;

    for (uint32_t w = 0; w <= n / 64; w++) {
        uint64_t filled = scarp_bucket_word(drive, p, w);

        for (; filled; filled &= filled - 1) {
            uint32_t valid = w * 64 + __builtin_ctzll(filled);
            uint32_t b = scarp_bucket_first(drive, p, valid);
            unsigned __int128 gain;

            if (!valid) {
                return b; /* an empty block costs nothing */
            }
            gain = scarp_time_ns(drive) - scarp_victim_modified_ns(drive, b) +
                   1;
            gain *= n - valid;
            if (valid < n && gain * best_cost > best_gain * valid) {
                best = b;
                best_gain = gain;
                best_cost = valid;
            }
        }
    }
    return scarp_victim_or_least(drive, p, best);
}

const ScarpVictimOps scarp_victim_cost_benefit = {
    .policy = {
        .axis = AXIS_VICTIM,
        .name = "cost-benefit",
        .help = "greatest age x free share / valid share",
        .source = "Kawaguchi, Nishioka, Motoda 1995",
    },
    .choose = choose,
};
