/*
 * Functions that the sources of gc share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_INTERNAL_H
#define SCARP_GC_INTERNAL_H

#include "gc/ops.h"

static inline ScarpCopy *scarp_copy_of(ScarpUnit *unit)
{
    return (ScarpCopy *)unit;
}

/*
 * Lists the PPNs of the valid units among n units from `first` on, at most 64
 * in one block, and returns how many these are. Adds the pages to be read for
 * them to *reads. *last_page: the page of the last valid unit before, or
 * UINT32_MAX.
 */
static inline uint32_t scarp_gc_list_valid(const ScarpDrive *drive,
                                           uint32_t first, uint32_t n,
                                           uint32_t *ppns, uint32_t *last_page,
                                           uint32_t *reads)
{
    uint64_t valid = scarp_valid_bits(drive, first, n);
    uint32_t found = 0;

    for (; valid; valid &= valid - 1) {
        uint32_t ppn = first + __builtin_ctzll(valid);

        ppns[found++] = ppn;
        *reads += ppn >> drive->geo.page_shift != *last_page;
        *last_page = ppn >> drive->geo.page_shift;
    }
    return found;
}

/*
 * Reports to observers, such as a log, that a collection or a merge has ended.
 */
void scarp_gc_report(ScarpDrive *drive, const ScarpGcJob *job);
/* Returns the origin that observers are told for the job. */
static inline ScarpOrigin scarp_gc_origin(const ScarpGcJob *job)
{
    return job->fold ? SCARP_ORIGIN_FOLD : job->origin;
}
/*
 * Returns how many of the merge's remaining erases the pacing policy has not
 * permitted yet.
 */
static inline uint32_t scarp_gc_merge_erases_left(const ScarpDrive *drive,
                                                  const ScarpGcJob *job)
{
    return scarp_merge_erases_left(scarp_merge_of(drive, job->plane)) -
           job->erases;
}

/*
 * True when the job has copied all units, and waits until the pacing policy
 * permits its next erase.
 */
static inline bool scarp_gc_awaits_erase(const ScarpDrive *drive,
                                         const ScarpGcJob *job)
{
    if (!job->running || !job->erase_later) {
        return false;
    }
    return job->merge ? scarp_merge_is_copied(scarp_merge_of(drive, job->plane))
                            && scarp_gc_merge_erases_left(drive, job)
                      : !job->erasing && !job->pages_out && !job->units_out &&
                            !scarp_block_valid(drive, job->victim);
}

/*
 * Takes the job's next steps, as many as both the window of pages and the
 * permissions of the pacing policy allow.
 */
void scarp_gc_advance(ScarpDrive *drive, ScarpGcJob *job);
/* Called when a page of the job begins to move: subtracts 1 from moves_left. */
void scarp_gc_count_move(ScarpDrive *drive, ScarpGcJob *job);

/*
 * gc/job.c: scarp_gc_run() begins a job of any kind. The caller has set the
 * job's `origin`, `plane` and `victim`. scarp_gc_finish() ends the job.
 * scarp_gc_erase() erases its victim.
 */
void scarp_gc_run(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_finish(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_erase(ScarpDrive *drive, ScarpGcJob *job);

/* gc/merge.c: True when a merge is due in the plane. */
bool scarp_gc_merge_due(const ScarpDrive *drive, uint32_t plane);
/*
 * Starts a merge that makes room for the first program that waits in the plane.
 * If no program waits, the merge is for `lpn`, or, if `lpn` is SCARP_NONE, for
 * a free block. Returns false if the mapping finds no merge.
 */
bool scarp_gc_merge_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                          ScarpOrigin origin);
bool scarp_gc_merge_now(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
void scarp_gc_merge_advance(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_merge_ended(ScarpDrive *drive, ScarpGcJob *job,
                          ScarpFlashCmd *cmd);
int64_t scarp_gc_merge_left_ns(const ScarpDrive *drive, const ScarpGcJob *job);

/*
 * gc/reclaim.c: returns the LPN for which a merge has to make room before the
 * write, or SCARP_NONE if the write has room.
 */
uint32_t scarp_gc_write_lpn(const ScarpDrive *drive,
                            const ScarpGcWrite *write);
/*
 * gc/rounds.c: true when a round was opened that begins after the erase of the
 * plane's running job. A round is the collection of one victim, or one merge,
 * in granted pieces.
 */
bool scarp_gc_next_round(const ScarpDrive *drive, uint32_t plane);
/*
 * True when the plane's round is for `lpn`, and has enough grants to make room
 * for it.
 */
bool scarp_gc_makes_room(const ScarpDrive *drive, uint32_t plane,
                         uint32_t lpn);
/*
 * Returns an upper bound of the pages in the plane's round that still need a
 * grant. Sets *erases to the number of erases that come before these pages.
 */
uint32_t scarp_gc_round_left(const ScarpDrive *drive, uint32_t plane,
                             uint32_t *erases);

/*
 * gc/room.c: true when the controller's RAM has room for the mapping entries
 * that a collection of the victim changes (ftl.mapping=demand).
 */
bool scarp_gc_has_room(ScarpDrive *drive, uint32_t plane, uint32_t victim);
/*
 * gc/trigger.c: returns the plane's oldest program, of host data or of
 * translation units, that gets no page before the plane has collected; or NULL.
 */
const ScarpFlashCmd *scarp_gc_in_need(const ScarpDrive *drive, uint32_t plane);
/*
 * gc/trigger.c: returns the first host program in the plane's queue if no page
 * is left for it, else NULL.
 */
const ScarpFlashCmd *scarp_gc_waits_for_page(const ScarpDrive *drive,
                                             uint32_t plane);

/*
 * gc/job.c: begins the job that collects the block, which was taken out of the
 * lists of full blocks.
 */
void scarp_gc_start_taken(ScarpDrive *drive, uint32_t plane, uint32_t victim,
                          ScarpOrigin origin, bool levelling);

/* ---- Reclaim units of several planes: gc/ru_collect.c, gc/ru_staging.c --- */

/*
 * Do for the group of this plane what scarp_gc_start() and
 * scarp_gc_collect_now() do for a plane.
 */
bool scarp_gc_start_unit(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin);
bool scarp_gc_collect_unit_now(ScarpDrive *drive, uint32_t plane);
/*
 * Do what scarp_gc_stage() and scarp_gc_close_packers() do, for a drive with
 * reclaim units of several planes.
 */
void scarp_gc_stage_in_group(ScarpDrive *drive, ScarpGcJob *job,
                             ScarpCopy *copy);
void scarp_gc_close_in_group(ScarpDrive *drive, const ScarpGcJob *job);

/* ---- Folds: gc/fold.c --------------------------------------------------- */

void scarp_fold_init(ScarpDrive *drive);
void scarp_fold_clear(ScarpDrive *drive);
/*
 * Returns the full SLC block that a collection of the plane would fold, or
 * SCARP_NONE. *first is set if that fold goes before any other collection,
 * because a write waits for room in the SLC cache.
 */
uint32_t scarp_fold_choose(const ScarpDrive *drive, uint32_t plane,
                           bool *first);
/*
 * Called when a job begins, when a program of the job takes a page of `plane`,
 * and when the job ends. If the victim is a static SLC block, the first
 * function reserves pages for its copies. The second gives back one reserved
 * page, the third the rest.
 */
void scarp_fold_begins(ScarpDrive *drive, ScarpGcJob *job);
void scarp_fold_took_page(ScarpDrive *drive, ScarpGcJob *job, uint32_t plane);
void scarp_fold_ends(ScarpDrive *drive, ScarpGcJob *job);
/*
 * Called when the plane's collection has begun. If the collection is a fold,
 * other planes of the die may fold at the same time (slc.fold_planes).
 */
void scarp_fold_beside(ScarpDrive *drive, uint32_t plane);
/*
 * gc/job.c, gc/instant.c: collect the block `victim`, which the caller has
 * chosen. The second function takes no time.
 */
void scarp_gc_start_victim(ScarpDrive *drive, uint32_t plane, uint32_t victim);
void scarp_gc_collect_victim(ScarpDrive *drive, uint32_t plane,
                             uint32_t victim);

/*
 * gc/staging.c: adds a unit that was read to the packer (the page under
 * construction) of the plane that the unit moves to.
 */
void scarp_gc_stage(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy);
/*
 * Programs the pages under construction that have units of the job, even if
 * they are not full.
 */
void scarp_gc_close_packers(ScarpDrive *drive, ScarpGcJob *job);

/*
 * Returns the stream of the units that cmd programs: SCARP_MAP_STREAM for
 * translation units, which have blocks of their own.
 */
static inline uint16_t scarp_gc_stream_of(const ScarpFlashCmd *cmd)
{
    const ScarpUnit *units = scarp_flash_units(cmd);

    return units ? scarp_unit_stream(units) : 0;
}

#endif /* SCARP_GC_INTERNAL_H */
