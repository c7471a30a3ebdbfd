/*
 * Chooses a victim block: the victim policy's choice, or a little-worn block if
 * wear is too uneven.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

#define WEAR_LOOKS 8
#define WEAR_SHARE 4 /* one choice in WEAR_SHARE follows the victim policy */

/*
 * Static wear levelling: returns a block with far fewer erases than `victim`,
 * the policy's choice, or SCARP_NONE. Candidates are the block that was filled
 * longest ago and some random blocks. The oldest block alone would not do: if
 * it is worn and has cold data, it stays the oldest, and the less worn blocks
 * behind it are never looked at.
 *
 * A random draw leaves some choices to the policy. Without the draw, commands
 * that wait for the end of collections could wait for ever: a collection for
 * wear may free nothing, and its copies may make further collections due
 * (ftl.mapping=demand).
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

        if (scarp_victim_erases(drive, b) <
            scarp_victim_erases(drive, least)) {
            least = b;
        }
    }
    if (scarp_victim_erases(drive, least) + drive->desc.wear_spread_erases >=
        scarp_victim_erases(drive, victim)) {
        return SCARP_NONE;
    }
    if (scarp_blocks_in_units(drive) &&
        scarp_victim_valid(drive, least) + drive->geo.gain_units >
            drive->geo.victim_units + 1) {
        return SCARP_NONE; /* its copies could need more than a reclaim unit */
    }
    return scarp_policy_random_below(drive, WEAR_SHARE) ? least : SCARP_NONE;
}

static uint32_t choose(ScarpDrive *drive, uint32_t p, bool *levelling)
{
    uint32_t victim, fresher, fold = SCARP_NONE;
    bool first = false;

    *levelling = false;
    if (scarp_translation_due(drive, p)) {
        scarp_mark(drive, translation_victim);
        return scarp_translation_victim(drive, p);
    }
    if (drive->gc.fold) {
        fold = scarp_fold_choose(drive, p, &first);
        if (first && fold != SCARP_NONE) {
            scarp_mark(drive, fold_for_write);
            return fold;
        }
    }
    victim = drive->scheme.victim->choose(drive, p);
    /*
     * The fold's block or the policy's victim: either collection frees a block,
     * so the block with fewer units to copy is taken.
     */
    scarp_mark_if(drive, fold_not_worth_it,
                  fold != SCARP_NONE && victim != SCARP_NONE &&
                  scarp_block_valid(drive, fold) >
                      scarp_block_valid(drive, victim));
    if (fold != SCARP_NONE &&
        (victim == SCARP_NONE || scarp_block_valid(drive, fold) <=
                                     scarp_block_valid(drive, victim))) {
        scarp_mark(drive, fold_for_free_blocks);
        return fold;
    }
    if (victim == SCARP_NONE) {
        return SCARP_NONE;
    }
    fresher = for_wear(drive, p, victim);
    if (fresher == SCARP_NONE) {
        return victim;
    }
    *levelling = true;
    return fresher;
}

static bool settled(const ScarpDrive *drive, uint32_t victim)
{
    return scarp_blocks_in_units(drive) ? scarp_ru_settled(drive, victim)
                                        : scarp_block_settled(drive, victim);
}

/*
 * A block is full as soon as its last page is given to a program. Its valid
 * bits are complete only when that program has ended, so until then the block
 * must not be collected.
 */
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t p, bool *levelling)
{
    uint32_t victim = choose(drive, p, levelling);

    if (victim != SCARP_NONE && !settled(drive, victim)) {
        scarp_mark(drive, victim_unsettled);
        return SCARP_NONE;
    }
    return victim;
}
