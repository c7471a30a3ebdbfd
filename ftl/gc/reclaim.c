/*
 * For redistributed pacing (hios-isca14 section 5.1): finds out whether a write
 * needs a collection or merge that has not begun.
 *
 * There are two cases. Free-block reclaiming: the write's plane is short of
 * free blocks. Logical-block reclaiming, with mappings that choose the page of
 * a write: the block for the write has too few pages left, and no further block
 * can be opened.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * True when the plane's job goes on by itself: it does not wait for the
 * permission to erase, or a round was opened that brings this permission.
 */
static bool is_under_way(const ScarpDrive *drive, uint32_t plane)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);

    return job->running && (!scarp_gc_awaits_erase(drive, job) ||
                            scarp_gc_next_round(drive, plane));
}

bool scarp_gc_has_round(const ScarpDrive *drive, uint32_t plane)
{
    uint32_t erases;

    return scarp_gc_runs(drive, plane) &&
           (scarp_gc_round_left(drive, plane, &erases) || erases);
}

/*
 * True when the plane has a block worth collecting. While a job runs, the round
 * begins only after that job's erase. Otherwise the round begins at once, so no
 * program in the victim may be under way.
 */
static bool has_victim(const ScarpDrive *drive, uint32_t plane)
{
    uint32_t victim;

    return scarp_victim_least(drive, plane, &victim, 1) &&
           (scarp_gc_runs(drive, plane) || scarp_block_settled(drive, victim));
}

/*
 * Implements scarp_gc_reclaim() for mappings that let a unit lie in any page.
 */
static ScarpReclaim of_plane(const ScarpDrive *drive,
                             const ScarpGcWrite *write)
{
    uint32_t plane = write->plane;

    if (!is_under_way(drive, plane) && scarp_gc_due(drive, plane) &&
        has_victim(drive, plane)) {
        return RECLAIM_DUE;
    }
    return scarp_gc_has_round(drive, plane) &&
                   !scarp_page_possible(drive, plane, SCARP_ORIGIN_HOST,
                                        write->stream)
               ? RECLAIM_WAITS : RECLAIM_NOTHING;
}

static bool has_room(const ScarpDrive *drive, const ScarpGcWrite *write)
{
    return scarp_map_has_room(drive, write->plane, write->lpn, write->n,
                              write->ahead, write->n_ahead);
}

uint32_t scarp_gc_write_lpn(const ScarpDrive *drive, const ScarpGcWrite *write)
{
    return !scarp_map_can(drive, MAP_MERGES) || has_room(drive, write)
               ? SCARP_NONE : write->lpn;
}

/*
 * Implements scarp_gc_reclaim() for mappings that choose the page of a write.
 */
static ScarpReclaim of_block(const ScarpDrive *drive,
                             const ScarpGcWrite *write)
{
    uint32_t plane = write->plane, copies, erases;
    bool room = has_room(drive, write);
    ScarpReclaim without = room ? RECLAIM_NOTHING : RECLAIM_WAITS;

    if (is_under_way(drive, plane)) {
        return scarp_gc_makes_room(drive, plane, write->lpn) ? RECLAIM_NOTHING
                                                             : without;
    }
    if (room && !scarp_gc_due(drive, plane)) {
        return RECLAIM_NOTHING;
    }
    /*
     * A merge may be impossible at the moment, because programs are still under
     * way in the blocks that it would merge.
     */
    if (!scarp_gc_runs(drive, plane) &&
        !scarp_merge_plan(drive, plane, room ? SCARP_NONE : write->lpn, &copies,
                          &erases)) {
        return without;
    }
    scarp_mark_if(drive, write_needs_merge, !room);
    return room ? RECLAIM_DUE : RECLAIM_NEEDED;
}

ScarpReclaim scarp_gc_reclaim(const ScarpDrive *drive,
                              const ScarpGcWrite *write)
{
    return scarp_map_can(drive, MAP_MERGES) ? of_block(drive, write)
                                            : of_plane(drive, write);
}

int64_t scarp_gc_reclaim_ns(const ScarpDrive *drive, const ScarpGcWrite *write)
{
    const ScarpGcJob *job = scarp_gc_job(drive, write->plane);
    uint32_t copies = 0, erases = 0;

    if (!scarp_map_can(drive, MAP_MERGES)) {
        return scarp_gc_cost_ns(drive, write->plane);
    }
    if (!scarp_merge_plan(drive, write->plane, scarp_gc_write_lpn(drive, write),
                          &copies, &erases) && job->running) {
        erases = scarp_gc_merge_erases_left(drive, job);
    }
    return copies * scarp_gc_segment_ns(drive) +
           erases * scarp_gc_erase_ns(drive);
}
