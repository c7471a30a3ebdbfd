/*
 * Redistributed pacing (hios-isca14 §5.2, algorithm 2): a collection, or a
 * merge, moves pages and erases only as the host queue's policy grants it. This
 * pacing comes with hios-1 and hios-2. gc/rounds.c keeps the grants.
 *
 * While no command waits, nothing is granted, and no collection goes on. Three
 * kinds of jobs run to their end without grants (counted in gc_forced_runs):
 * the collection of a plane with one free block left, a collection of
 * translation units when they have no block left, and a merge that a program in
 * the device waits for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/rounds.h"

#define LAST_FREE_BLOCK 1

static void release(ScarpDrive *drive, ScarpGcJob *job)
{
    if (scarp_round_is_paced(job)) {
        scarp_mark(drive, round_forced);
        drive->stats.gc_forced_runs++;
        scarp_gc_allow(drive, job, UINT32_MAX);
    }
}

/*
 * Collects the plane without grants if it has one free block left, or if
 * programs of translation units wait for a collection of their blocks.
 * Otherwise returns false. A job that was begun in a command's slack goes on
 * without grants, too, as possibly no later command has slack for its erase.
 */
static bool collect(ScarpDrive *drive, uint32_t plane)
{
    if (scarp_plane_spare_blocks(drive, plane) > LAST_FREE_BLOCK &&
        !scarp_translation_short(drive, plane)) {
        return false;
    }
    if (scarp_gc_runs(drive, plane) ||
        scarp_gc_start(drive, plane, SCARP_ORIGIN_GC)) {
        release(drive, scarp_gc_job(drive, plane));
    }
    return true;
}

/* True when the job is at a granted step, or may begin one. */
static bool has_grant(const ScarpDrive *drive, const ScarpGcJob *job)
{
    return job->erasing || job->erases || job->pages_out ||
           (job->moves_left && scarp_merge_copies_left(drive, job->plane));
}

/*
 * Makes room for the program that waits in the plane, if a program waits there.
 * The begin of a merge may give the program its page at once. The merge's
 * copies are then granted later. If the program still waits, the merge does the
 * work that was granted, and after that goes on to its end without grants.
 */
static void make_room(ScarpDrive *drive, uint32_t plane)
{
    ScarpGcJob *job = scarp_gc_job(drive, plane);

    if (!scarp_map_is_stuck(drive, plane) ||
        (!job->running && (!scarp_round_start(drive, plane, SCARP_NONE) ||
                           !scarp_map_is_stuck(drive, plane)))) {
        return;
    }
    if (!has_grant(drive, job)) {
        scarp_mark_if(drive, round_forced_by_program,
                      scarp_round_is_paced(job));
        release(drive, job);
    }
}

static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    uint32_t end = first + drive->desc.planes_per_die;
    bool low = false;

    if (scarp_map_can(drive, MAP_MERGES)) {
        for (uint32_t p = first; p < end; p++) {
            make_room(drive, p);
        }
    } else if (scarp_blocks_opened(drive, die)) {
        for (uint32_t p = first; p < end; p++) {
            low |= collect(drive, p);
        }
        if (!low) {
            scarp_blocks_clear_opened(drive, die);
        }
    }
}

/*
 * A granted command goes before the host's commands, because the slack that it
 * was granted from runs out.
 */
static ScarpTurn turn(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_queued(drive, die, QUEUE_GC) ? TURN_GC : TURN_HOST;
}

/*
 * An idle die collects nothing: grants come from the slack of waiting commands,
 * and no command waits.
 */
static bool may_collect(const ScarpDrive *drive G_GNUC_UNUSED,
                        uint32_t die G_GNUC_UNUSED)
{
    return false;
}

const ScarpPacingOps scarp_pacing_redistributed = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "redistributed",
        .help = "collections move pages in the slack of commands",
        .source = "hios-isca14 section 5.2, algorithm 2",
        .state_size = sizeof(ScarpRounds),
        .init = scarp_rounds_init,
        .clear = scarp_rounds_clear,
    },
    .check = check,
    .turn = turn,
    .gc_start = scarp_round_began,
    .gc_done = scarp_round_ended,
    .gc_moves = scarp_round_moves,
    .may_collect = may_collect,
};
