/*
 * What the sources of gc share.
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

/* Tells observers of a victim that was collected. */
void scarp_gc_report(ScarpDrive *drive, const ScarpGcJob *job);
/* All of the victim has moved, and it was not granted its erase. */
static inline bool scarp_gc_awaits_erase(const ScarpDrive *drive,
                                         const ScarpGcJob *job)
{
    return job->running && job->erase_later && !job->erasing &&
           !job->pages_out && !job->units_out &&
           !scarp_block_valid(drive, job->victim);
}

/* Takes the next steps that the job may take. */
void scarp_gc_advance(ScarpDrive *drive, ScarpGcJob *job);

/* gc/job.c: of every kind of job; origin, plane and victim are set */
void scarp_gc_run(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_finish(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_erase(ScarpDrive *drive, ScarpGcJob *job);

/* gc/merge.c: the same of merges */
bool scarp_gc_merge_due(const ScarpDrive *drive, uint32_t plane);
bool scarp_gc_merge_start(ScarpDrive *drive, uint32_t plane,
                          ScarpOrigin origin);
bool scarp_gc_merge_now(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
void scarp_gc_merge_advance(ScarpDrive *drive, ScarpGcJob *job);
void scarp_gc_merge_ended(ScarpDrive *drive, ScarpGcJob *job,
                          ScarpFlashCmd *cmd);
int64_t scarp_gc_merge_left_ns(const ScarpDrive *drive, const ScarpGcJob *job);

/* gc/staging.c: a unit that was read goes to the packer of its place */
void scarp_gc_stage(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy);
/* What of job waits for company goes now. */
void scarp_gc_close_packers(ScarpDrive *drive, ScarpGcJob *job);

#endif /* SCARP_GC_INTERNAL_H */
