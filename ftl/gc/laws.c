/*
 * Invariants of gc. Checked builds prove them by counting anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

/* Returns how many programs of gc in the plane's queue have a page reserved. */
static uint32_t count_programs(const ScarpDrive *drive, uint32_t p)
{
    uint32_t n = 0;

    for (const ScarpFlashCmd *cmd = scarp_nand_head(drive, p, QUEUE_GC); cmd;
         cmd = scarp_flash_next(cmd)) {
        n += scarp_flash_promised(cmd);
    }
    return n;
}

/*
 * Checks that a fold of a static block has a page reserved for each page of the
 * block before its first flash command starts: the proof in core/spare.c relies
 * on that.
 */
static bool fold_has_pages(const ScarpDrive *drive, uint32_t p, GError **error)
{
    const ScarpGcJob *job = &drive->gc.plane[p].job;

    return !drive->gc.fold || !job->running || job->begun || !job->fold ||
           scarp_media_mode(drive, job->victim) != MODE_STATIC ||
           job->fold_pages >= drive->geo.slc_pages ||
           scarp_law_differs(error, "pages reserved for a fold in plane", p,
                             job->fold_pages, drive->geo.slc_pages);
}

bool scarp_gc_laws(const ScarpDrive *drive, uint32_t p, GError **error)
{
    const ScarpGcPlane *plane = &drive->gc.plane[p];
    uint32_t promised = scarp_plane_promised_pages(drive, p);
    uint32_t found = plane->promised + plane->job.promised +
                     plane->job.fold_pages +
                     count_programs(drive, p);

    if (!fold_has_pages(drive, p, error)) {
        return false;
    }
    if (promised != found) {
        return scarp_law_differs(error, "promised pages of plane", p, promised,
                                 found);
    }
    /*
     * The plane must have a page left for each reservation, however much the
     * host wrote.
     */
    return promised <= scarp_plane_collection_pages(drive, p) ||
           scarp_law_differs(error, "pages to keep promises of plane", p,
                             scarp_plane_collection_pages(drive, p), promised);
}
