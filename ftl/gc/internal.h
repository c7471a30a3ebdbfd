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

/* gc/staging.c: a unit that was read goes to the packer of its place */
void scarp_gc_stage(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy);
/* What of job waits for company goes now. */
void scarp_gc_close_packers(ScarpDrive *drive, ScarpGcJob *job);

#endif /* SCARP_GC_INTERNAL_H */
