/*
 * A command's way through the device, from the host's link to the flash and
 * back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

void scarp_flow_flushed(ScarpDrive *drive)
{
    ScarpCmd *flush;

    while ((flush = scarp_buffer_next_flushed(drive))) {
        scarp_hil_complete(drive, flush);
        scarp_flow_dispatch(drive);
    }
}

void scarp_flow_admit(ScarpDrive *drive)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_buffer_next_admitted(drive))) {
        scarp_flow_put(drive, cmd);
    }
}

/*
 * Begins to execute cmd, which has entered the device. If cmd is a write, its
 * data must have arrived.
 */
static void carry_out(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->units_left = 1;
    switch (cmd->op) {
    case SCARP_OP_READ:
        scarp_flow_read(drive, cmd);
        scarp_flow_put(drive, cmd);
        break;
    case SCARP_OP_WRITE:
    case SCARP_OP_WRITE_ZEROES:
        if (scarp_buffer_write(drive, cmd)) {
            scarp_flow_put(drive, cmd);
        } else if (scarp_flow_pairs(drive)) {
            scarp_flow_press(drive);
        }
        break;
    case SCARP_OP_DEALLOCATE:
        if (scarp_buffer_write(drive, cmd)) {
            scarp_flow_put(drive, cmd);
            scarp_flow_flushed(drive);
            scarp_flow_admit(drive);
        } else if (scarp_flow_pairs(drive)) {
            scarp_flow_press(drive);
        }
        break;
    default:
        scarp_buffer_flush(drive, cmd);
        if (scarp_flow_pairs(drive)) {
            scarp_flow_press(drive);
        }
        scarp_flow_flushed(drive);
        break;
    }
    scarp_flow_take_served(drive);
}

void scarp_flow_dispatch(ScarpDrive *drive)
{
    ScarpCmd *cmd;

    if (scarp_recovery_runs(drive) || !scarp_hil_dispatch_begin(drive)) {
        return;
    }
    while ((cmd = scarp_hil_dispatch_next(drive))) {
        carry_out(drive, cmd);
    }
    scarp_hil_dispatch_end(drive);
}

void scarp_flow_put(ScarpDrive *drive, ScarpCmd *cmd)
{
    if (scarp_hil_put(drive, cmd)) {
        scarp_flow_dispatch(drive);
    }
}

void scarp_flow_stage_event(ScarpDrive *drive, uint32_t stage)
{
    ScarpCmd *cmd;

    if (scarp_hil_stage_event(drive, stage, &cmd) == HIL_DATA_IN) {
        carry_out(drive, cmd);
    } else {
        scarp_flow_dispatch(drive);
    }
}

/* ---- For users of the library ------------------------------------------- */

void scarp_expect(const ScarpDrive *drive, uint64_t offset_bytes)
{
    uint32_t lpn = scarp_bytes_lpn(drive, offset_bytes);

    if (lpn < drive->geo.logical_units) {
        scarp_map_expect(drive, lpn);
        scarp_pack_expect(drive, lpn);
    }
}

void scarp_submit(ScarpDrive *drive, ScarpCmd *cmd, int64_t now_ns)
{
    g_assert(now_ns >= scarp_time_ns(drive));
    g_assert(cmd->op == SCARP_OP_FLUSH ||
             cmd->offset_bytes + cmd->length_bytes <=
                 scarp_drive_logical_bytes(drive));
    if (cmd->op <= SCARP_OP_WRITE) {
        /*
         * Prefetches the entry of the mapping, which is looked up when the
         * firmware or the link has finished with cmd.
         */
        scarp_expect(drive, cmd->offset_bytes);
    }
    if (scarp_event_until(drive, now_ns)) {
        scarp_run(drive, now_ns);
    }
    scarp_time_set(drive, now_ns);
    scarp_hil_submit(drive, cmd);
}

ScarpCmd *scarp_reap(ScarpDrive *drive)
{
    return scarp_hil_reap(drive);
}

/*
 * Returns the newest data of the unit lpn; NULL: zeroes. If only a part of the
 * unit is in the buffer, the whole unit is put together in room[].
 */
static const char *peek_unit(const ScarpDrive *drive, uint32_t lpn, char *room)
{
    const ScarpUnit *unit = scarp_pack_find(drive, lpn);
    uint32_t ppn = scarp_flow_lookup(drive, lpn);
    const char *old = ppn == SCARP_NONE ? NULL
                                        : scarp_contents_get(drive, ppn);

    if (!unit) {
        return old;
    }
    if (!scarp_unit_is_partial(unit)) {
        return scarp_unit_data(unit);
    }
    if (old) {
        memcpy(room, old, drive->geo.unit_bytes);
    } else {
        memset(room, 0, drive->geo.unit_bytes);
    }
    scarp_buffer_lay_over(drive, unit, room);
    return room;
}

void scarp_peek(const ScarpDrive *drive, uint64_t offset_bytes,
                uint64_t length_bytes, void *out)
{
    uint32_t unit_bytes = drive->geo.unit_bytes;
    g_autofree char *room = g_malloc(unit_bytes);

    for (uint64_t at = offset_bytes; at < offset_bytes + length_bytes;) {
        uint32_t first = at & (unit_bytes - 1);
        uint32_t n = MIN(unit_bytes - first, offset_bytes + length_bytes - at);
        const char *data = peek_unit(drive, scarp_bytes_lpn(drive, at), room);

        if (data) {
            memcpy((char *)out + (at - offset_bytes), data + first, n);
        } else {
            memset((char *)out + (at - offset_bytes), 0, n);
        }
        at += n;
    }
}

bool scarp_is_mapped(const ScarpDrive *drive, uint64_t offset_bytes,
                     uint64_t length_bytes)
{
    uint64_t end = offset_bytes + length_bytes;

    for (uint64_t lpn = scarp_bytes_lpn(drive, offset_bytes);
         lpn * drive->geo.unit_bytes < end; lpn++) {
        if (scarp_flow_lookup(drive, lpn) == SCARP_NONE &&
            !scarp_pack_find(drive, lpn)) {
            return false;
        }
    }
    return true;
}

uint64_t scarp_mapped_run(const ScarpDrive *drive, uint64_t offset_bytes,
                          uint64_t length_bytes, uint32_t block_bytes,
                          bool *mapped)
{
    uint32_t unit_bytes = drive->geo.unit_bytes;
    uint32_t step = MAX(unit_bytes, block_bytes);
    uint32_t first = unit_bytes - (offset_bytes & (unit_bytes - 1));
    uint64_t n = MIN(length_bytes, MAX(first, block_bytes));

    *mapped = scarp_is_mapped(drive, offset_bytes, n);
    while (n < length_bytes &&
           scarp_is_mapped(drive, offset_bytes + n,
                           MIN(length_bytes - n, step)) == *mapped) {
        n += MIN(length_bytes - n, step);
    }
    return n;
}
