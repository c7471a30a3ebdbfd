/*
 * Takes the host's writes into the buffer: splits a command into units, as far
 * as the buffer has room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

/* ---- Units -------------------------------------------------------------- */

void scarp_dirty_supersede(ScarpDrive *drive, ScarpDirty *dirty)
{
    ScarpUnit *unit = &dirty->unit;

    scarp_mark_if(drive, overwritten_in_flight,
                  !scarp_unit_is_packing(unit) &&
                  !scarp_unit_is_partial(unit));
    scarp_dirty_release_place(drive, dirty);
    dirty->superseded = true;
    scarp_pack_unindex(drive, unit);
    if (!scarp_unit_is_packing(unit)) {
        return;
    }
    if (dirty->cmd) {
        /*
         * A command waits for the stale unit. When all units of that command
         * are in the buffer, close_packers() has the newest unit of each LPN
         * programmed, and would miss this older unit. So its page is programmed
         * now.
         */
        scarp_mark(drive, forced_in_packer);
        scarp_dirty_emit(drive, dirty);
    } else {
        scarp_dirty_unpack(drive, dirty);
        drive->stats.buffer_coalesced_units++;
        scarp_contents_release(drive, scarp_unit_data(unit));
        scarp_dirty_release(drive, dirty);
    }
}

/*
 * Copies the host's bytes from `from` into the unit, or zeroes if `from` is
 * NULL.
 */
static void copy_in(ScarpUnit *unit, uint32_t first_byte, uint32_t bytes,
                    const char *from)
{
    char *data = scarp_unit_data(unit);

    if (!data) {
        return;
    }
    if (from) {
        memcpy(data + first_byte, from, bytes);
    } else {
        memset(data + first_byte, 0, bytes);
    }
}

static void take_cmd(ScarpDirty *dirty, ScarpCmd *cmd)
{
    dirty->cmd = cmd;
    cmd->units_left++;
}

void scarp_buffer_read_rest(ScarpDrive *drive, ScarpUnit *unit)
{
    uint32_t lpn = scarp_unit_lpn(unit), ppn = scarp_map_lookup(drive, lpn);
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_READ, OWNER_RMW,
                                         SCARP_ORIGIN_HOST);

    drive->stats.rmw_reads++;
    scarp_flash_set_subject(cmd, unit);
    scarp_flash_set_lpn(cmd, lpn, 1);
    scarp_flash_set_target(cmd, scarp_ppn_plane(drive, ppn), ppn,
                           drive->geo.unit_bytes);
    scarp_parity_read(drive, cmd);
}

/*
 * Buffers a write of a part of a unit. `older` is the buffered unit with the
 * newest data of the same LPN, or NULL. If cmd is not NULL, the command waits
 * until the unit's other bytes have been read.
 */
static void write_part(ScarpDrive *drive, ScarpCmd *cmd, ScarpDirty *dirty,
                       ScarpDirty *older)
{
    ScarpUnit *unit = &dirty->unit;
    bool known = older || scarp_dirty_pin(drive, dirty);
    bool partial = older ? scarp_unit_is_partial(&older->unit)
                         : !known || scarp_buffer_is_mapped(
                                         drive, scarp_unit_lpn(unit));

    scarp_unit_set_partial(unit, partial);
    if (partial) {
        /*
         * The new unit reserves RAM for its stripe's parity before
         * scarp_dirty_supersede() lets the older unit release that RAM. In the
         * other order another stripe could take it.
         */
        scarp_dirty_reserve_place(drive, dirty);
    }
    if (partial && cmd) {
        dirty->until_ready = true;
        take_cmd(dirty, cmd);
    }
    if (!older) {
        scarp_pack_index(drive, unit);
        if (partial) {
            if (known) {
                scarp_buffer_read_rest(drive, unit);
            }
            return;
        }
        if (scarp_unit_data(unit)) {
            scarp_dirty_complete(drive, dirty, NULL);
        }
    } else {
        if (partial) {
            scarp_mark(drive, part_behind_part);
            older->dependent = dirty;
        } else if (scarp_unit_data(unit)) {
            scarp_dirty_complete(drive, dirty, scarp_unit_data(&older->unit));
        }
        scarp_dirty_supersede(drive, older);
        scarp_pack_index(drive, unit);
    }
    if (!partial) {
        scarp_dirty_settle(drive, dirty);
    }
}

void scarp_buffer_put(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpPiece *piece)
{
    ScarpDirty *older = scarp_buffer_find(drive, piece->lpn), *dirty;
    bool through = scarp_buffer_goes_through(drive, cmd);
    bool is_record = piece->lpn >= drive->geo.logical_units;
    ScarpUnit *unit;

    if (older && scarp_unit_is_packing(&older->unit) && !older->cmd &&
        !through && scarp_unit_stream(&older->unit) == piece->stream) {
        scarp_mark(drive, overwritten_in_packer);
        drive->stats.buffer_coalesced_units++;
        copy_in(&older->unit, piece->first_byte, piece->bytes, piece->from);
        return;
    }
    scarp_mark_if(drive, other_stream,
                  older && scarp_unit_is_packing(&older->unit) &&
                  scarp_unit_stream(&older->unit) != piece->stream);
    dirty = scarp_dirty_new(drive, piece->lpn);
    unit = &dirty->unit;
    /*
     * When the new data is on flash, the old copy becomes invalid, and the
     * tables of blocks change. So the entries of the old copy's block are
     * prefetched into the host CPU's cache.
     */
    scarp_block_expect(drive, scarp_map_lookup(drive, piece->lpn));
    dirty->cmd_seq = cmd->seq;
    scarp_unit_set_stream(unit, piece->stream);
    dirty->first_byte = piece->first_byte;
    dirty->bytes = piece->bytes;
    if (through) {
        take_cmd(dirty, cmd);
    }
    if (drive->scheme.alloc->early) {
        scarp_unit_set_plane(
            unit, drive->scheme.alloc->plane(drive, piece->lpn, piece->stream));
        scarp_pack_host_units(drive, scarp_unit_plane(unit), 1);
    }
    if (drive->store_data || is_record) {
        scarp_unit_set_data(unit, scarp_contents_new(drive));
        copy_in(unit, piece->first_byte, piece->bytes, piece->from);
    }
    if (piece->bytes < drive->geo.unit_bytes) {
        write_part(drive, through || is_record ? NULL : cmd, dirty, older);
        return;
    }
    if (older) {
        scarp_dirty_supersede(drive, older);
    }
    scarp_pack_index(drive, unit);
    scarp_dirty_settle(drive, dirty);
}

static void write_unit(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                       uint32_t first_byte, uint32_t bytes, const char *from)
{
    ScarpPiece piece = { .lpn = lpn, .first_byte = first_byte, .bytes = bytes,
                    .from = from };

    /*
     * Writes without a stream go to stream 0, and so do writes with a stream
     * number for which the drive has no blocks.
     */
    if (cmd->stream < drive->desc.streams) {
        piece.stream = cmd->stream;
    }
    drive->stats.host_written_units++;
    if (drive->scheme.place->host_write) {
        drive->scheme.place->host_write(drive, lpn);
    }
    scarp_buffer_put(drive, cmd, &piece);
}

/* ---- Writes ------------------------------------------------------------- */

/*
 * Called for a command that waits until the units `first` to `last` are on
 * flash. Queues programs of the packers (pages under construction) that have
 * these units, even if the pages are not full.
 *
 * A unit whose mapping entry is still on flash is in no packer yet. The packer
 * that it will go to is programmed without it, because the units in there may
 * have pinned all entries of the cache. Only when those units are on flash can
 * this unit get its entry.
 */
static void close_units(ScarpDrive *drive, uint32_t first, uint32_t last)
{
    for (uint32_t lpn = first; lpn <= last; lpn++) {
        ScarpDirty *dirty = scarp_buffer_find(drive, lpn);

        if (!dirty || !dirty->cmd) {
            continue;
        }
        if (scarp_unit_is_packing(&dirty->unit)) {
            scarp_dirty_emit(drive, dirty);
        } else if (scarp_dirty_awaits_entry(drive, dirty)) {
            scarp_dirty_emit_company(drive, dirty);
        }
    }
}

/*
 * Called when all units of a command that waits for flash are in the buffer.
 * Queues programs of their pages, even if these are not full.
 */
static void close_packers(ScarpDrive *drive, const ScarpCmd *cmd)
{
    uint32_t first = scarp_bytes_lpn(drive, cmd->offset_bytes);
    uint32_t last =
        scarp_bytes_lpn(drive, cmd->offset_bytes + cmd->length_bytes - 1);
    uint32_t records = drive->geo.logical_units, per = drive->geo.record_lpns;

    if (cmd->op != SCARP_OP_DEALLOCATE) {
        close_units(drive, first, last);
    }
    if (cmd->op != SCARP_OP_WRITE && scarp_buffer_records(drive)) {
        close_units(drive, records + first / per, records + last / per);
    }
}

/*
 * True when the controller has no RAM left for the parity of lpn's stripe, so
 * that a write of lpn has to wait.
 */
static inline bool stripes_full(const ScarpDrive *drive, uint32_t lpn)
{
    return scarp_has_parity(drive) && scarp_parity_full(drive, lpn);
}

/*
 * Takes the units of cmd into the buffer, or deallocates them. Returns false if
 * a unit finds no room. The next call goes on at byte cmd->next_byte of the
 * command.
 */
static bool write_units(ScarpDrive *drive, ScarpCmd *cmd)
{
    bool writes = cmd->op == SCARP_OP_WRITE;
    const char *data = writes ? cmd->data : NULL;
    const ScarpBuffer *buffer = &drive->buffer;
    uint32_t unit_bytes = drive->geo.unit_bytes;

    while (cmd->next_byte < cmd->length_bytes) {
        uint64_t at = cmd->offset_bytes + cmd->next_byte;
        uint32_t lpn = scarp_bytes_lpn(drive, at);
        uint32_t first_byte = at & (unit_bytes - 1);
        uint32_t bytes = MIN(unit_bytes - first_byte,
                             cmd->length_bytes - cmd->next_byte);
        ScarpPieceFate fate = writes ? PIECE_WRITTEN
                                     : scarp_buffer_fate(drive, cmd, bytes);

        scarp_mark_if(drive, zeroes_split_unit,
                      cmd->op == SCARP_OP_WRITE_ZEROES && bytes < unit_bytes);
        scarp_mark_if(drive, deallocation_of_part,
                      cmd->op == SCARP_OP_DEALLOCATE && bytes < unit_bytes);
        if (fate == PIECE_DEALLOCATED && !stripes_full(drive, lpn)) {
            scarp_buffer_deallocate(drive, lpn);
        } else if (fate == PIECE_KEPT) {
            /* the unit's data and mapping stay as they are */
        } else if (buffer->room_units && buffer->used >= buffer->room_units) {
            scarp_mark(drive, buffer_full);
            scarp_mark_if(drive, fua_met_full_buffer, cmd->fua);
            scarp_mark_if(drive, fua_met_full_buffer_half_way,
                          cmd->fua && cmd->next_byte);
            scarp_mark_if(drive, deallocation_met_full_buffer,
                          cmd->op == SCARP_OP_DEALLOCATE);
            scarp_mark_if(drive, zeroes_met_full_buffer,
                          cmd->op == SCARP_OP_WRITE_ZEROES);
            return false;
        } else if (stripes_full(drive, lpn)) {
            scarp_mark(drive, parities_full);
            return false;
        } else if (fate == PIECE_RECORDED) {
            bytes = scarp_buffer_run_bytes(drive, cmd, lpn);
            scarp_buffer_deallocate_run(drive, cmd, lpn,
                                        bytes >> drive->geo.unit_shift);
        } else {
            write_unit(drive, cmd, lpn, first_byte, bytes,
                       data ? data + cmd->next_byte : NULL);
        }
        cmd->next_byte += bytes;
    }
    if (cmd->length_bytes && scarp_buffer_goes_through(drive, cmd) &&
        drive->geo.units_per_page > 1 && !cmd->joined) {
        close_packers(drive, cmd);
    }
    return true;
}

static void account(ScarpDrive *drive, ScarpCmd *cmd)
{
    if (cmd->units_left == 1) {
        scarp_cause_until_now(drive, cmd, SCARP_CAUSE_BUFFER_FULL);
    }
}

bool scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->next_byte = 0;
    if ((!scarp_cmd_first(&drive->buffer.waiting) ||
         scarp_buffer_deallocates_at_once(drive, cmd)) &&
        write_units(drive, cmd)) {
        account(drive, cmd);
        return true;
    }
    scarp_cmd_push(&drive->buffer.waiting, cmd);
    scarp_dirty_drain_half(drive);
    return false;
}

ScarpCmd *scarp_buffer_next_admitted(ScarpDrive *drive)
{
    ScarpCmd *cmd = scarp_cmd_first(&drive->buffer.waiting);

    if (!cmd) {
        return NULL;
    }
    if (!write_units(drive, cmd)) {
        scarp_dirty_drain_half(drive);
        return NULL;
    }
    scarp_cmd_pop(&drive->buffer.waiting);
    account(drive, cmd);
    return cmd;
}
