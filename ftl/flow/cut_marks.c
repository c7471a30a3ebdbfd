/*
 * Rare states that a power cut can meet, marked in checked builds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

#ifdef SCARP_CHECKED
static void mark_plane(const ScarpDrive *drive, uint32_t p)
{
    const ScarpGcJob *job = scarp_gc_job(drive, p);
    bool erases = scarp_gc_erases(job);

    if (scarp_map_can(drive, MAP_MERGES)) {
        scarp_map_mark_cut(drive, p, erases);
        return;
    }
    scarp_mark_if(drive, cut_fold, scarp_gc_folds(job));
    scarp_mark_if(drive, cut_premigration, scarp_gc_is_ahead(job));
    scarp_mark_if(drive, cut_translation_copies,
                  scarp_gc_is_translation(drive, job) && !erases);
    scarp_mark_if(drive, cut_translation_erase,
                  scarp_gc_is_translation(drive, job) && erases);
    scarp_mark_if(drive, cut_data_copies,
                  !scarp_gc_is_translation(drive, job) && !erases);
    scarp_mark_if(drive, cut_data_erase,
                  !scarp_gc_is_translation(drive, job) && erases);
}

void scarp_flow_mark_cut(const ScarpDrive *drive)
{
    ScarpUnderWay what;

    scarp_under_way(drive, &what);
    scarp_mark_if(drive, cut_program, what.programs[SCARP_ORIGIN_HOST]);
    scarp_mark_if(drive, cut_copy, what.programs[SCARP_ORIGIN_GC]);
    scarp_mark_if(drive, cut_translation_program,
                  what.programs[SCARP_ORIGIN_MAP]);
    scarp_mark_if(drive, cut_parity_program,
                  what.programs[SCARP_ORIGIN_PARITY]);
    scarp_mark_if(drive, cut_erase, what.erases);
    scarp_mark_if(drive, cut_suspended, what.suspended);
    scarp_mark_if(drive, cut_flush, what.flushes);
    scarp_mark_if(drive, cut_unrecorded, what.unrecorded_units);
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        scarp_mark_if(drive, cut_awaiting_pair, scarp_nand_unpaired(drive, p));
        if (scarp_gc_runs(drive, p)) {
            mark_plane(drive, p);
        }
    }
    scarp_map_mark_cut_checkpoint(drive);
    scarp_recovery_mark_cut(drive);
}
#endif
