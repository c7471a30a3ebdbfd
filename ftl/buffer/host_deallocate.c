/*
 * Deallocations by the host, which unmap units. With ftl.recovery=2 the drive
 * also writes a record of each deallocation, so that it outlasts a power cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

#ifdef SCARP_CHECKED
/*
 * For test coverage: true when lpn's page is in a block that garbage collection
 * is emptying.
 */
static bool in_victim(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    return ppn != SCARP_NONE && scarp_block_state(
        drive, scarp_ppn_block(drive, ppn)) == BLOCK_VICTIM;
}
#endif

ScarpPieceFate scarp_buffer_fate(const ScarpDrive *drive, const ScarpCmd *cmd,
                                 uint32_t bytes)
{
    bool whole = bytes == drive->geo.unit_bytes;
    bool records = scarp_buffer_records(drive);

    /*
     * scarp_drive_deallocates() is false if power may fail and no records are
     * written. Without a record, data older than the last write could come back
     * after a power cut, so such a drive unmaps no unit.
     */
    if (whole && scarp_drive_deallocates(drive)) {
        return records ? PIECE_RECORDED : PIECE_DEALLOCATED;
    }
    /*
     * A deallocation that covers only a part of a unit does nothing, as NVMe
     * allows. A write of zeroes must write that part.
     */
    return cmd->op == SCARP_OP_DEALLOCATE ? PIECE_KEPT : PIECE_WRITTEN;
}

bool scarp_buffer_deallocates_at_once(const ScarpDrive *drive,
                                      const ScarpCmd *cmd)
{
    return cmd->op == SCARP_OP_DEALLOCATE && !scarp_buffer_records(drive) &&
           (!scarp_has_parity(drive) || !scarp_drive_deallocates(drive));
}

void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn)
{
    ScarpDirty *dirty = scarp_buffer_find(drive, lpn);
    bool mapped = scarp_buffer_is_mapped(drive, lpn) || dirty;

    drive->stats.deallocated_units += mapped;
    scarp_mark_if(drive, deallocated_in_victim, in_victim(drive, lpn));
    scarp_mark_if(drive, deallocated_in_packer,
                  dirty && scarp_unit_is_packing(&dirty->unit));
    scarp_mark_if(drive, deallocated_in_flight,
                  dirty && !scarp_unit_is_packing(&dirty->unit) &&
                  !scarp_unit_is_partial(&dirty->unit));
    if (dirty) {
        scarp_dirty_supersede(drive, dirty);
    }
    if (!scarp_media_keeps(drive)) {
        scarp_map_deallocate(drive, lpn);
    } else if (mapped) {
        scarp_unrecorded_add(drive, lpn, scarp_seq_count(drive));
    }
    if (scarp_has_parity(drive) && mapped) {
        scarp_parity_changed(drive, lpn, NULL);
    }
}

void scarp_buffer_deallocate_run(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                                 uint32_t n)
{
    uint32_t at = lpn % drive->geo.record_lpns;
    uint32_t first = UINT32_MAX, end = 0;
    ScarpPiece piece = { .lpn = drive->geo.logical_units +
                           lpn / drive->geo.record_lpns };
    uint64_t when;

    for (uint32_t i = 0; i < n; i++) {
        if (scarp_buffer_is_mapped(drive, lpn + i) ||
            scarp_buffer_find(drive, lpn + i)) {
            scarp_buffer_deallocate(drive, lpn + i);
            first = MIN(first, i);
            end = i + 1;
        }
    }
    if (!end) {
        if (!scarp_buffer_goes_through(drive, cmd) ||
            !scarp_buffer_find(drive, piece.lpn)) {
            return; /* the command need not wait for a record */
        }
        scarp_mark(drive, record_on_its_way);
        /*
         * The n units are deallocated already, but their record is still in
         * the buffer. The command may complete only when the record is on
         * flash. So the command writes it once more, and waits for that write.
         */
        first = 0;
        end = n;
    }
    when = scarp_next_seq(drive);
    for (uint32_t i = first; i < end; i++) {
        drive->buffer.record[i] = GUINT64_TO_LE(when);
    }
    drive->stats.record_writes++;
    piece.first_byte = (at + first) * sizeof(uint64_t);
    piece.bytes = (end - first) * sizeof(uint64_t);
    piece.from = (const char *)&drive->buffer.record[first];
    scarp_buffer_put(drive, cmd, &piece);
}

uint32_t scarp_buffer_run_bytes(const ScarpDrive *drive, const ScarpCmd *cmd,
                                uint32_t lpn)
{
    uint64_t left = (cmd->length_bytes - cmd->next_byte) >>
                    drive->geo.unit_shift;

    return MIN(left, drive->geo.record_lpns - lpn % drive->geo.record_lpns) <<
           drive->geo.unit_shift;
}
