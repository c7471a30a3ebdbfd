/*
 * Relocated units on their way to a page: each unit goes to the packer of the
 * plane that the placement policy names, and a full packer becomes a program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * Reserves one page of plane `p` for copies, or gives it back: `page` is the
 * new state, *promised the old state.
 *
 * The last free block of a plane is kept for the plane's own collection. Copies
 * from other planes or ahead of time could use up that block. So their pages
 * are reserved (promised): the host opens no block that a reserved page needs.
 * A page stays reserved from before its first unit is packed until its program
 * starts.
 */
static void __attribute__((noinline)) promise(ScarpDrive *drive, uint32_t p,
                                              bool *promised, bool page)
{
    if (page && !*promised) {
        /*
         * With the reserved page the plane may have one spare block left, so
         * its die has to look for collections.
         */
        scarp_blocks_set_opened(drive, scarp_plane_die(drive, p));
    }
    scarp_plane_promise(drive, p, (int)page - (int)*promised);
    *promised = page;
}

/*
 * Passes the reservation of the packer's page on to the program that the packer
 * becomes. Returns false if the page is not reserved.
 */
static bool take_promise(ScarpDrive *drive, const ScarpPacker *packer,
                         uint32_t p)
{
    ScarpGcPlane *plane = &drive->gc.plane[p];

    if (!(plane->promised | plane->job.promised) || packer != &plane->packer) {
        return false;
    }
    promise(drive, p, &plane->promised, false);
    promise(drive, p, &plane->job.promised, false);
    scarp_plane_promise(drive, p, 1);
    return true;
}

static void emit(ScarpDrive *drive, ScarpPacker *packer, uint32_t p)
{
    uint32_t n = scarp_packer_count(packer);
    ScarpUnit *first = scarp_packer_first(packer);
    ScarpFlashCmd *cmd = scarp_packer_emit(
        drive, packer, OWNER_GC,
        scarp_copy_of(first)->job->fold ? SCARP_ORIGIN_FOLD : SCARP_ORIGIN_GC);

    scarp_mark_if(drive, collected_page_padded, n < drive->geo.units_per_page);
    scarp_flash_set_subject(cmd, scarp_copy_of(first)->job);
    scarp_flash_set_target(cmd, p, 0, drive->desc.page_bytes);
    scarp_flash_set_promised(cmd, take_promise(drive, packer, p));
    for (ScarpUnit *unit = first; unit; unit = scarp_unit_next(unit)) {
        ScarpGcJob *job = scarp_copy_of(unit)->job;

        /*
         * A page may contain units of several victims, and the job of each
         * victim counts its units in this page.
         */
        job->pages_out++;
        if (job->plane != p) {
            job->away--;
            if (scarp_plane_die(drive, job->plane) !=
                scarp_plane_die(drive, p)) {
                scarp_flash_set_guest(cmd);
            }
        }
    }
    scarp_pack_gc_units(drive, p, (int)n);
    scarp_nand_enqueue(drive, cmd);
}

static inline void add(ScarpDrive *drive, ScarpPacker *packer, ScarpCopy *copy,
                       uint32_t p)
{
    if (copy->job->plane != p) {
        promise(drive, p, &drive->gc.plane[p].promised, true);
        copy->job->away++;
    }
    scarp_unit_set_plane(&copy->unit, p);
    if (scarp_packer_add(drive, packer, &copy->unit)) {
        emit(drive, packer, p);
    }
}

void scarp_gc_stage(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy)
{
    uint32_t p = job->plane;
    ScarpPacker *packer;

    if (scarp_blocks_in_units(drive)) {
        scarp_gc_stage_in_group(drive, job, copy);
        return;
    }
    if (scarp_unit_stream(&copy->unit)) {
        /*
         * Translation units stay in their plane, which keeps blocks for them.
         */
        packer = &drive->gc.map_packer[p];
    } else {
        if (drive->scheme.place->plane) {
            p = drive->scheme.place->plane(drive, job,
                                           scarp_unit_lpn(&copy->unit));
        }
        packer = &drive->gc.plane[p].packer;
    }
    add(drive, packer, copy, p);
}

/*
 * Moves the job's units from the packer of plane `p` to the packer of the job's
 * own plane.
 */
static void __attribute__((noinline)) call_back(ScarpDrive *drive,
                                                ScarpGcJob *job, uint32_t p)
{
    ScarpPacker *packer = &drive->gc.plane[p].packer;
    ScarpUnit *unit = scarp_packer_first(packer);
    bool others = false;

    while (unit) {
        ScarpUnit *next = scarp_unit_next(unit);

        if (scarp_copy_of(unit)->job == job) {
            scarp_mark(drive, staged_called_back);
            scarp_packer_remove(packer, unit);
            job->away--;
            drive->stats.gc_fallback_units++;
            add(drive, &drive->gc.plane[job->plane].packer,
                scarp_copy_of(unit), job->plane);
        } else {
            others |= scarp_copy_of(unit)->job->plane != p;
        }
        unit = next;
    }
    if (drive->gc.plane[p].promised && !others) {
        promise(drive, p, &drive->gc.plane[p].promised, false);
        /* without the reservation, the host may be able to open a block */
        scarp_nand_kick(drive, scarp_plane_die(drive, p));
    }
}

/*
 * Programs the job's units that wait for a full page, all together in the job's
 * own plane. If each plane programmed its few units in a page of its own, the
 * copies could take more pages than the victim frees.
 */
void scarp_gc_close_packers(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpPacker *own = &drive->gc.plane[job->plane].packer;
    ScarpPacker *map = &drive->gc.map_packer[job->plane];

    if (scarp_blocks_in_units(drive)) {
        scarp_gc_close_in_group(drive, job);
        return;
    }
    if (scarp_packer_count(map)) {
        emit(drive, map, job->plane); /* all its units are this job's */
        return;
    }
    /*
     * Units may be in the packer of any plane, as the placement policy may have
     * changed since they were put there.
     */
    for (uint32_t p = 0; job->away && p < drive->geo.n_planes; p++) {
        if (p != job->plane) {
            call_back(drive, job, p);
        }
    }
    for (ScarpUnit *unit = scarp_packer_first(own); unit;
         unit = scarp_unit_next(unit)) {
        if (scarp_copy_of(unit)->job == job) {
            emit(drive, own, job->plane);
            break;
        }
    }
}
