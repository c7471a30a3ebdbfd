/*
 * Creates and frees the state of gc, and has functions for all of its jobs
 * together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

bool scarp_gc_init(ScarpDrive *drive, const ScarpConfig *config G_GNUC_UNUSED,
                   GError **error G_GNUC_UNUSED)
{
    ScarpGc *gc = &drive->gc;

    scarp_pool_init(&gc->copies, sizeof(ScarpCopy));
    gc->plane = scarp_table_zeroed(drive->geo.n_planes * sizeof(ScarpGcPlane));
    gc->map_packer = g_new0(ScarpPacker, drive->geo.n_planes);
    gc->refused = SCARP_NONE;
    scarp_fold_init(drive);
    gc->die = scarp_table_zeroed(drive->geo.n_dies * sizeof(ScarpGcDie));
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        gc->plane[p].job.plane = p;
    }
    return true;
}

void scarp_gc_clear(ScarpDrive *drive)
{
    scarp_fold_clear(drive);
    scarp_table_free(drive->gc.plane);
    scarp_table_free(drive->gc.die);
    g_free(drive->gc.map_packer);
    scarp_pool_clear(&drive->gc.copies);
}

void scarp_gc_allow(ScarpDrive *drive, ScarpGcJob *job, uint32_t pages)
{
    job->moves_left = pages;
    if (pages == UINT32_MAX) { /* the job runs to its end without grants */
        job->erase_later = false;
        job->erases = 0;
    }
    scarp_gc_advance(drive, job);
}

void scarp_gc_release_all(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (scarp_gc_runs(drive, p)) {
            scarp_gc_allow(drive, scarp_gc_job(drive, p), UINT32_MAX);
        }
    }
}

void scarp_gc_release_due(ScarpDrive *drive)
{
    /*
     * Every die looks for collections anew, because the new scheme may find a
     * collection due that the old scheme did not.
     */
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        scarp_blocks_set_opened(drive, die);
    }
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        ScarpGcJob *job = scarp_gc_job(drive, p);

        if (job->running && job->origin == SCARP_ORIGIN_GC) {
            scarp_mark_if(drive, scheme_changed_in_merge, job->merge);
            scarp_mark_if(drive, scheme_changed_in_full_merge,
                          job->merge && job->kind == SCARP_MERGE_FULL);
            scarp_mark_if(drive, scheme_changed_in_collection, !job->merge);
            scarp_mark_if(drive, scheme_changed_in_erase, job->erasing);
            scarp_mark_if(drive, scheme_changed_with_staged,
                          job->units_out && !job->pages_out);
            scarp_gc_allow(drive, job, UINT32_MAX);
        }
    }
}

bool scarp_gc_at_rest(const ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (scarp_gc_runs(drive, p)) {
            return false;
        }
    }
    return true;
}

#ifdef SCARP_CHECKED
bool scarp_gc_merges(const ScarpDrive *drive, ScarpMergeKind kind)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        const ScarpGcJob *job = scarp_gc_job(drive, p);

        if (job->running && job->merge && job->kind == kind) {
            return true;
        }
    }
    return false;
}

bool scarp_gc_erases(const ScarpGcJob *job)
{
    return job->erasing;
}

bool scarp_gc_is_ahead(const ScarpGcJob *job)
{
    return job->origin == SCARP_ORIGIN_PREMIGRATE;
}

bool scarp_gc_folds(const ScarpGcJob *job)
{
    return job->fold;
}

bool scarp_gc_is_translation(const ScarpDrive *drive, const ScarpGcJob *job)
{
    return scarp_block_is_translation(drive, job->victim);
}
#endif
