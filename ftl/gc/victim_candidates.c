/*
 * Candidates for victim policies: full blocks in the order of their numbers of
 * valid units, and full blocks drawn at random.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

/*
 * True when the collection of a block with `valid` valid units frees at least a
 * page (gain_units).
 */
static bool worth(const ScarpDrive *drive, uint32_t valid)
{
    return valid + drive->geo.gain_units <= drive->geo.victim_units;
}

uint32_t scarp_victim_least(const ScarpDrive *drive, uint32_t p,
                            uint32_t *candidates, uint32_t max)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w <= drive->geo.victim_units / 64; w++) {
        uint64_t filled = scarp_bucket_word(drive, p, w);

        if (filled) {
            uint32_t valid = w * 64 + __builtin_ctzll(filled);

            if (!worth(drive, valid)) {
                scarp_mark(drive, nothing_worth_it);
                return 0;
            }
            for (uint32_t b = scarp_bucket_first(drive, p, valid);
                 b != SCARP_NONE && n < max; b = scarp_bucket_next(drive, b)) {
                candidates[n++] = b;
            }
            return n;
        }
    }
    return 0;
}

uint32_t scarp_victim_above(const ScarpDrive *drive, uint32_t p,
                            uint32_t least, uint32_t *n_below)
{
    *n_below = 0;
    for (uint32_t w = 0; w <= drive->geo.victim_units / 64; w++) {
        uint64_t filled = scarp_bucket_word(drive, p, w);

        for (; filled; filled &= filled - 1) {
            uint32_t valid = w * 64 + __builtin_ctzll(filled);
            uint32_t b = scarp_bucket_first(drive, p, valid);

            if (valid > least) {
                return worth(drive, valid) ? b : SCARP_NONE;
            }
            for (; b != SCARP_NONE; b = scarp_bucket_next(drive, b)) {
                ++*n_below;
            }
        }
    }
    return SCARP_NONE;
}

/*
 * Takes greedy's choice if collecting the policy's choice would free nothing,
 * so that every collection makes progress.
 */
uint32_t scarp_victim_or_least(const ScarpDrive *drive, uint32_t p,
                               uint32_t block)
{
    uint32_t least;

    if (block != SCARP_NONE &&
        worth(drive, scarp_victim_valid(drive, block))) {
        return block;
    }
    scarp_mark_if(drive, choice_not_worth_it, block != SCARP_NONE);
    return scarp_victim_least(drive, p, &least, 1) ? least : SCARP_NONE;
}

uint32_t scarp_victim_random_full(ScarpDrive *drive, uint32_t p)
{
    uint32_t blocks = drive->desc.blocks_per_plane;

    if (!scarp_plane_full_blocks(drive, p)) {
        return SCARP_NONE;
    }
    /* Most blocks are full when a drive needs GC, so few tries are needed. */
    for (;;) {
        uint32_t b = p * blocks +
                     scarp_policy_random_below(drive, blocks);

        if (scarp_block_is_full(drive, b)) {
            return b;
        }
    }
}
