/*
 * Flush commands. Each completes when all earlier writes are on flash.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

/*
 * Implements lie.flush_queued_only, a deliberate fault: flushes wait only for
 * units in pages under construction, and for units of which the drive does not
 * have all bytes yet. Flushes do not wait for programs that are queued or under
 * way.
 */
static void await_packed_alone(ScarpDrive *drive)
{
    for (ScarpDirty *dirty = drive->buffer.oldest; dirty;
         dirty = dirty->newer) {
        dirty->not_awaited |= !scarp_unit_is_packing(&dirty->unit) &&
                              !scarp_unit_is_partial(&dirty->unit);
    }
}

void scarp_buffer_flush(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->order = scarp_next_seq(drive);
    scarp_mark_if(drive, flush_waits, drive->buffer.oldest);
    scarp_mark_if(drive, flush_met_collection,
                  drive->buffer.oldest && !scarp_gc_at_rest(drive));
    scarp_mark_if(drive, flush_met_full_merge,
                  drive->buffer.oldest &&
                  scarp_gc_merges(drive, SCARP_MERGE_FULL));
    scarp_mark_if(drive, flush_met_waiting_write,
                  scarp_cmd_first(&drive->buffer.waiting));
    scarp_cmd_push(&drive->buffer.flushes, cmd);
    if (drive->desc.flush_ignored) {
        cmd->order = 0;
        return;
    }
    if (drive->desc.flush_queued_only) {
        await_packed_alone(drive);
    }
    scarp_dirty_drain(drive, cmd->order);
}

/* Returns the oldest buffered unit that flushes wait for, or NULL. */
static const ScarpDirty *oldest_waited(const ScarpDrive *drive)
{
    const ScarpDirty *dirty = drive->buffer.oldest;

    while (dirty && dirty->not_awaited) {
        dirty = dirty->newer;
    }
    return dirty;
}

ScarpCmd *scarp_buffer_next_flushed(ScarpDrive *drive)
{
    ScarpCmd *flush = scarp_cmd_first(&drive->buffer.flushes);
    const ScarpDirty *oldest;

    if (!flush) {
        return NULL;
    }
    oldest = oldest_waited(drive);
    if (oldest && scarp_unit_seq(&oldest->unit) < flush->order) {
        return NULL;
    }
    scarp_cmd_pop(&drive->buffer.flushes);
    scarp_cause_until_now(drive, flush, SCARP_CAUSE_ORDER);
    return flush;
}
