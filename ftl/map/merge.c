/*
 * Merges of the mappings with log blocks or update blocks: the plan for a
 * plane, and the steps of a merge. gc/merge.c calls the steps, and issues the
 * flash commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

static bool plan(const ScarpDrive *drive, uint32_t p, uint32_t lpn,
                 ScarpMerge *merge)
{
    *merge = (ScarpMerge) { .target = SCARP_NONE, .erasing = SCARP_NONE };
    return drive->map.ops->plan(drive, p, lpn, merge);
}

bool scarp_merge_begin(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    ScarpMerge merge;

    if (!plan(drive, p, lpn, &merge)) {
        return false;
    }
    scarp_mark_if(drive, switch_merge, merge.kind == SCARP_MERGE_SWITCH);
    scarp_mark_if(drive, partial_merge, merge.kind == SCARP_MERGE_PARTIAL);
    scarp_mark_if(drive, data_block_stays, merge.kind == SCARP_MERGE_ERASE &&
                  merge.target != SCARP_NONE);
    drive->map.ops->begin(drive, p, &merge);
    drive->map.merge[p] = merge;
    return true;
}

static uint32_t copies_left(const ScarpDrive *drive, const ScarpMerge *merge)
{
    return drive->map.ops->copies_left
               ? drive->map.ops->copies_left(drive, merge)
               : merge->end - merge->next;
}

uint32_t scarp_merge_copies_left(const ScarpDrive *drive, uint32_t p)
{
    return copies_left(drive, &drive->map.merge[p]);
}

bool scarp_merge_plan(const ScarpDrive *drive, uint32_t p, uint32_t lpn,
                      uint32_t *copies, uint32_t *erases)
{
    ScarpMerge merge;

    if (!plan(drive, p, lpn, &merge)) {
        return false;
    }
    *copies = copies_left(drive, &merge);
    /*
     * A plan of kind SCARP_MERGE_ERASE can have an empty dead[], because only
     * finish() adds a log block that logical blocks share. Such a plan counts
     * as one erase.
     */
    *erases = MAX(merge.n_dead, merge.kind == SCARP_MERGE_ERASE);
    return true;
}

uint32_t scarp_merge_next_copy(ScarpDrive *drive, uint32_t p)
{
    return drive->map.ops->source_page(drive, &drive->map.merge[p]);
}

uint32_t scarp_merge_offset(const ScarpDrive *drive, uint32_t p)
{
    uint32_t target = drive->map.merge[p].target;

    return target == SCARP_NONE || scarp_block_written(drive, target) ==
                                       drive->geo.units_per_block
               ? 0 : scarp_block_written(drive, target);
}

uint32_t scarp_merge_take(ScarpDrive *drive, uint32_t p)
{
    return scarp_block_next_page(
        drive, drive->map.ops->target(drive, p, &drive->map.merge[p]));
}

void scarp_merge_finish(ScarpDrive *drive, uint32_t p)
{
    ScarpMerge *merge = &drive->map.merge[p];

    if (!merge->switched) {
        merge->switched = true;
        drive->map.ops->finish(drive, p, merge);
    }
}

uint32_t scarp_merge_next_dead(ScarpDrive *drive, uint32_t p)
{
    ScarpMerge *merge = &drive->map.merge[p];

    if (merge->n_dead) {
        merge->erasing = merge->dead[--merge->n_dead];
    } else {
        merge->kind = SCARP_MERGE_NONE;
    }
    return merge->erasing;
}

void scarp_merge_erased(ScarpDrive *drive, uint32_t p)
{
    ScarpMerge *merge = &drive->map.merge[p];

    if (drive->map.ops->needs_all && drive->map.ops->needs_all(drive, p)) {
        scarp_block_erased_needed(drive, merge->erasing);
    } else {
        scarp_block_erased(drive, merge->erasing);
    }
    merge->erasing = SCARP_NONE;
}
