/*
 * Choosing a victim: the policy's, unless wear is too uneven.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

#define WEAR_LOOKS 8
#define WEAR_SHARE 4 /* all but one in so many may be for wear */

/*
 * Static wear levelling: of the block that was filled longest ago and some at
 * random, the least erased goes first, if it is erased far less often than the
 * policy's choice.  The oldest alone would not do: cold data in a worn block
 * stays at the head, and fresher blocks behind it wait.
 *
 * Not always, by lot: such a collection may free nothing, and what it moves may
 * cost more erases (ftl.mapping=demand).  The host, which waits for free blocks,
 * would wait until wear is even, or for ever.
 */
static uint32_t for_wear(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    uint32_t least = scarp_plane_oldest_full(drive, p);

    scarp_mark_if(drive, levelling_without_room,
                  drive->desc.wear_spread_erases &&
                  scarp_plane_free_blocks(drive, p) < 2);
    if (!drive->desc.wear_spread_erases ||
        scarp_plane_spare_blocks(drive, p) < 2) {
        return SCARP_NONE;
    }
    for (int i = 0; i < WEAR_LOOKS; i++) {
        uint32_t b = scarp_victim_random_full(drive, p);

        if (scarp_media_erases(drive, b) < scarp_media_erases(drive, least)) {
            least = b;
        }
    }
    if (scarp_media_erases(drive, least) + drive->desc.wear_spread_erases >=
        scarp_media_erases(drive, victim)) {
        return SCARP_NONE;
    }
    return scarp_policy_random_below(drive, WEAR_SHARE) ? least : SCARP_NONE;
}

static uint32_t choose(ScarpDrive *drive, uint32_t p, bool *levelling)
{
    uint32_t victim, worn;

    *levelling = false;
    if (scarp_translation_due(drive, p)) {
        scarp_mark(drive, translation_victim);
        return scarp_translation_victim(drive, p);
    }
    victim = drive->scheme.victim->choose(drive, p);
    if (victim == SCARP_NONE) {
        return SCARP_NONE;
    }
    worn = for_wear(drive, p, victim);
    if (worn == SCARP_NONE) {
        return victim;
    }
    *levelling = true;
    return worn;
}

/*
 * A block is full as soon as its last page is given out.  Until the program of
 * that has ended, nobody knows what the block will hold.
 */
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t p, bool *levelling)
{
    uint32_t victim = choose(drive, p, levelling);

    if (victim != SCARP_NONE && !scarp_block_settled(drive, victim)) {
        scarp_mark(drive, victim_unsettled);
        return SCARP_NONE;
    }
    return victim;
}

/* Whether collecting it yields at least a page. */
static bool worth(const ScarpDrive *drive, uint32_t valid)
{
    return valid + drive->geo.units_per_page <= drive->geo.units_per_block;
}

uint32_t scarp_victim_least(const ScarpDrive *drive, uint32_t p,
                            uint32_t *candidates, uint32_t max)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w <= drive->geo.units_per_block / 64; w++) {
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
    for (uint32_t w = 0; w <= drive->geo.units_per_block / 64; w++) {
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

/* What a policy may not choose, greedy decides: progress is never at risk. */
uint32_t scarp_victim_or_least(const ScarpDrive *drive, uint32_t p,
                               uint32_t block)
{
    uint32_t least;

    if (block != SCARP_NONE &&
        worth(drive, scarp_block_valid(drive, block))) {
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
    /* Most blocks of a drive that needs GC are full: few tries. */
    for (;;) {
        uint32_t b = p * blocks +
                     scarp_policy_random_below(drive, blocks);

        if (scarp_block_is_full(drive, b)) {
            return b;
        }
    }
}
