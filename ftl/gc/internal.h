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

/* Tells observers that a victim was collected, or a merge done. */
void scarp_gc_report(ScarpDrive *drive, const ScarpGcJob *job);
/*
 * Returns how many erases the merge has left that the pacing has not granted.
 */
static inline uint32_t scarp_gc_merge_erases_left(const ScarpDrive *drive,
                                                  const ScarpGcJob *job)
{
    return scarp_merge_erases_left(scarp_merge_of(drive, job->plane)) -
           job->erases;
}

/*
 * True when all units have moved, and the job waits until the pacing grants the
 * erase of its victim, or the next erase of a merge.
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

/* Takes the job's next steps, as many as its window and its grants allow. */
void scarp_gc_advance(ScarpDrive *drive, ScarpGcJob *job);
/* Takes one of the job's moves_left: a page begins to move. */
void scarp_gc_count_move(ScarpDrive *drive, ScarpGcJob *job);

/*
 * gc/job.c: begin a job of any kind, end it, and erase job->victim. The caller
 * of scarp_gc_run() has set origin, plane and victim.
 */
void scarp_gc_run(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_finish(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_erase(ScarpDrive *drive, ScarpGcJob *job);

/* gc/merge.c: True when a merge is due in the plane. */
bool scarp_gc_merge_due(const ScarpDrive *drive, uint32_t plane);
/*
 * Starts a merge that makes room for a program that waits in the plane. If none
 * waits, starts one for lpn, or, with SCARP_NONE, any that frees a block.
 * Returns false if the mapping has no merge to offer.
 */
bool scarp_gc_merge_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                          ScarpOrigin origin);
bool scarp_gc_merge_now(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
void scarp_gc_merge_advance(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_merge_ended(ScarpDrive *drive, ScarpGcJob *job,
                          ScarpFlashCmd *cmd);
int64_t scarp_gc_merge_left_ns(const ScarpDrive *drive, const ScarpGcJob *job);

/*
 * gc/reclaim.c: returns the lpn for which a merge has to make room before the
 * write, or SCARP_NONE if none has to.
 */
uint32_t scarp_gc_write_lpn(const ScarpDrive *drive,
                            const ScarpGcWrite *write);
/*
 * gc/rounds.c: true when a round was opened that follows the erase which the
 * plane's job waits for.
 */
bool scarp_gc_next_round(const ScarpDrive *drive, uint32_t plane);
/*
 * True when the plane's round is for lpn, and has enough grants to make room
 * for it.
 */
bool scarp_gc_makes_room(const ScarpDrive *drive, uint32_t plane,
                         uint32_t lpn);
/*
 * Returns how many pages of the plane's round are still to be granted, at most.
 * Sets *erases to the erases that come before these pages.
 */
uint32_t scarp_gc_round_left(const ScarpDrive *drive, uint32_t plane,
                             uint32_t *erases);

/*
 * gc/room.c: true when the mapping has room for the entries that a collection
 * of the victim changes.
 */
bool scarp_gc_has_room(ScarpDrive *drive, uint32_t plane, uint32_t victim);
/*
 * gc/trigger.c: returns the oldest program, of the host or of translation
 * units, that gets its page by the plane's collection, or NULL.
 */
const ScarpFlashCmd *scarp_gc_in_need(const ScarpDrive *drive, uint32_t plane);
/*
 * gc/trigger.c: returns the plane's next program of the host if it has no page,
 * else NULL.
 */
const ScarpFlashCmd *scarp_gc_waits_for_page(const ScarpDrive *drive,
                                             uint32_t plane);

/*
 * gc/staging.c: puts a unit that was read into the packer of the plane that it
 * moves to.
 */
void scarp_gc_stage(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy);
/* Programs the job's units that still wait in packers until a page is full. */
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
