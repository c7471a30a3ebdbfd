/*
 * Ends of programs of host data. The forward map then names the new page, and
 * the simulator keeps the unit's contents with that page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

void scarp_buffer_program_ended(ScarpDrive *drive, const ScarpFlashCmd *program)
{
    drive->stats.host_page_programs++;
    if (scarp_blocks_cached(drive)) {
        uint32_t block = scarp_ppn_block(drive, scarp_flash_ppn(program));

        *(scarp_media_mode(drive, block) == MODE_REAL
              ? &drive->slc_stats.direct_page_programs
              : &drive->slc_stats.slc_page_programs) += 1;
    }
}

/*
 * For drives whose power may fail. True when the unit just programmed is newer
 * than its LPN's mapped copy, and newer than its LPN's last recorded
 * deallocation. The unit is then mapped even if the buffer has still newer
 * data. If the unit stayed unmapped, its page could be erased, and a power cut
 * would bring back data that is older still.
 */
static bool __attribute__((noinline)) is_newest(const ScarpDrive *drive,
                                                const ScarpUnit *unit)
{
    uint32_t lpn = scarp_unit_lpn(unit), last = scarp_map_lookup(drive, lpn);

    return (last == SCARP_NONE ||
            scarp_media_version(drive, last) < scarp_unit_seq(unit)) &&
           scarp_recorded_version(drive, lpn) < scarp_unit_seq(unit);
}

static void __attribute__((noinline)) records_written(ScarpDrive *drive,
                                                      uint32_t lpn,
                                                      uint32_t ppn)
{
    scarp_record_written(drive, lpn, scarp_contents_get(drive, ppn));
}

bool scarp_buffer_commit_next(ScarpDrive *drive, ScarpFlashCmd *program,
                              ScarpCmd **cmd)
{
    ScarpUnit *unit = scarp_flash_units(program);
    uint32_t ppn = scarp_flash_ppn(program);
    ScarpDirty *dirty = scarp_dirty_of(unit);
    bool keeps = scarp_media_keeps(drive), newest;
    uint32_t lpn;

    if (!unit) {
        return false;
    }
    lpn = scarp_unit_lpn(unit);
    newest = !dirty->superseded;
    scarp_flash_set_units(program, scarp_unit_next(unit),
                          scarp_flash_n_units(program) - 1);
    scarp_flash_set_ppn(program, ppn + 1);
    scarp_media_set_version(drive, ppn, scarp_unit_seq(unit));
    scarp_mark_if(drive, stale_unit_programmed, dirty->superseded);
    scarp_mark_if(drive, overwritten_in_victim,
                  !keeps && !dirty->superseded &&
                  scarp_map_is_mapped(drive, lpn) &&
                  scarp_block_state(drive, scarp_ppn_block(drive,
                      scarp_map_lookup(drive, lpn))) == BLOCK_VICTIM);
    if (newest) {
        scarp_pack_unindex(drive, unit);
    }
    if (keeps) {
        newest = is_newest(drive, unit);
    }
    if (newest) {
        scarp_map_commit(drive, lpn, ppn);
    } else {
        scarp_media_set_lpn(drive, ppn, lpn);
    }
    if (newest || keeps) {
        scarp_contents_put(drive, ppn, scarp_unit_data(unit));
    } else {
        scarp_contents_release(drive, scarp_unit_data(unit));
    }
    if (keeps && lpn >= drive->geo.logical_units) {
        records_written(drive, lpn, ppn);
    }
    if (!scarp_unit_next(unit)) {
        /*
         * The page counts as programmed only after its last unit was committed.
         * Otherwise garbage collection could take the block in between, as no
         * program would seem to be under way in it.
         */
        scarp_media_pages_programmed(drive, ppn, 1);
    }
    *cmd = dirty->cmd;
    if (*cmd && (*cmd)->units_left == 1) {
        /*
         * This is the last unit that the command waited for, so the times of
         * this unit explain the command's latency.
         */
        scarp_cause_program(drive, *cmd, dirty->created_ns, dirty->mapping_ns,
                            dirty->rmw_ns, scarp_flash_account(program));
    }
    scarp_dirty_release(drive, dirty);
    return true;
}
