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

/* Tells observers that a victim was collected. */
void scarp_gc_report(ScarpDrive *drive, const ScarpGcJob *job);
/*
 * Number of blocks that a merge has copied, and whose erases were not granted.
 */
static inline uint32_t scarp_gc_merge_erases_left(const ScarpDrive *drive,
                                                  const ScarpGcJob *job)
{
    return scarp_merge_erases_left(scarp_merge_of(drive, job->plane)) -
           job->erases;
}

/*
 * True when all units have moved, and the erase of the victim, or one of a
 * merge, is next.
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

/* Takes the next steps that the job may take. */
void scarp_gc_advance(ScarpDrive *drive, ScarpGcJob *job);

/*
 * gc/job.c: for every kind of job; the caller has set origin, plane and victim.
 */
void scarp_gc_run(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_finish(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_erase(ScarpDrive *drive, ScarpGcJob *job);

/* gc/merge.c: the same for merges. */
bool scarp_gc_merge_due(const ScarpDrive *drive, uint32_t plane);
/*
 * Starts a merge for the program that waits, if one does; else for lpn, or
 * SCARP_NONE.
 */
bool scarp_gc_merge_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                          ScarpOrigin origin);
bool scarp_gc_merge_now(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
void scarp_gc_merge_advance(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_merge_ended(ScarpDrive *drive, ScarpGcJob *job,
                          ScarpFlashCmd *cmd);
int64_t scarp_gc_merge_left_ns(const ScarpDrive *drive, const ScarpGcJob *job);

/* gc/reclaim.c: the lpn that a merge for the write serves, or SCARP_NONE. */
uint32_t scarp_gc_write_lpn(const ScarpDrive *drive,
                            const ScarpGcWrite *write);
/* gc/rounds.c: true when a round follows the erase that is awaited. */
bool scarp_gc_next_round(const ScarpDrive *drive, uint32_t plane);
/* True when the grants of the round for lpn suffice to make room for lpn. */
bool scarp_gc_makes_room(const ScarpDrive *drive, uint32_t plane,
                         uint32_t lpn);
/*
 * Returns the pages that the round has yet to be granted, at most; *erases:
 * erases that come before them.
 */
uint32_t scarp_gc_round_left(const ScarpDrive *drive, uint32_t plane,
                             uint32_t *erases);

/*
 * gc/room.c: true when the mapping has room for the changes of a collection of
 * the victim.
 */
bool scarp_gc_has_room(ScarpDrive *drive, uint32_t plane, uint32_t victim);
/*
 * gc/trigger.c: returns the program that waits longest for the plane's
 * collection.
 */
const ScarpFlashCmd *scarp_gc_in_need(const ScarpDrive *drive, uint32_t plane);
/*
 * gc/trigger.c: returns a program of the host that has no page there, or NULL.
 */
const ScarpFlashCmd *scarp_gc_waits_for_page(const ScarpDrive *drive,
                                             uint32_t plane);

/*
 * gc/staging.c: puts a unit that was read into the packer of its destination.
 */
void scarp_gc_stage(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy);
/* Programs job's units that wait for their pages to be full. */
void scarp_gc_close_packers(ScarpDrive *drive, ScarpGcJob *job);

/*
 * Stream of the units that cmd programs: translation units have blocks of their
 * own.
 */
static inline uint16_t scarp_gc_stream_of(const ScarpFlashCmd *cmd)
{
    const ScarpUnit *units = scarp_flash_units(cmd);

    return units ? scarp_unit_stream(units) : 0;
}

#endif /* SCARP_GC_INTERNAL_H */
