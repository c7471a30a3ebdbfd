/*
 * Writes of a part of a unit. The other bytes are read from flash, taken from a
 * buffered unit, or zero. The drive joins these bytes with the host's bytes
 * before it programs the unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

void scarp_dirty_complete(const ScarpDrive *drive, ScarpDirty *dirty,
                       const void *base)
{
    uint32_t end = dirty->first_byte + dirty->bytes;
    uint32_t rest = drive->geo.unit_bytes - end;
    char *data = scarp_unit_data(&dirty->unit);

    if (base) {
        memcpy(data, base, dirty->first_byte);
        memcpy(data + end, (const char *)base + end, rest);
    } else {
        memset(data, 0, dirty->first_byte);
        memset(data + end, 0, rest);
    }
}

static bool leads_to(const ScarpDirty *dirty, const ScarpDirty *last)
{
    while (dirty && dirty != last) {
        dirty = dirty->dependent;
    }
    return dirty;
}

void scarp_buffer_lay_over(const ScarpDrive *drive, const ScarpUnit *unit,
                           char *base)
{
    for (const ScarpDirty *dirty = drive->buffer.oldest; dirty;
         dirty = dirty->newer) {
        if (leads_to(dirty, (const ScarpDirty *)unit)) {
            memcpy(base + dirty->first_byte,
                   (const char *)scarp_unit_data(&dirty->unit) +
                       dirty->first_byte, dirty->bytes);
        }
    }
}

/*
 * Returns the command that waited until all bytes of the unit were known, or
 * NULL. Only a command that completes in the write buffer, and wrote a part of
 * the unit, waits for these bytes.
 */
static ScarpCmd *end_until_ready(ScarpDrive *drive, ScarpDirty *dirty)
{
    ScarpCmd *cmd = dirty->cmd;

    if (!dirty->until_ready) {
        return NULL;
    }
    dirty->cmd = NULL;
    if (cmd->units_left == 1) {
        scarp_cause_rmw(drive, cmd, dirty->created_ns, dirty->mapping_ns,
                        dirty->rmw_ns);
    }
    return cmd;
}

ScarpCmd *scarp_buffer_fill(ScarpDrive *drive, ScarpUnit *unit,
                            const void *base, ScarpUnit **dependent)
{
    ScarpDirty *dirty = scarp_dirty_of(unit);

    if (scarp_unit_data(unit)) {
        scarp_dirty_complete(drive, dirty, base);
    }
    scarp_unit_set_partial(unit, false);
    *dependent = dirty->dependent ? &dirty->dependent->unit : NULL;
    dirty->dependent = NULL;
    dirty->rmw_ns = scarp_time_ns(drive) - dirty->created_ns -
                    dirty->mapping_ns;
    return end_until_ready(drive, dirty);
}

/*
 * Frees a unit that became stale before it was added to a page under
 * construction. No command or flush waits for the unit.
 */
static void drop(ScarpDrive *drive, ScarpDirty *dirty)
{
    scarp_mark(drive, stale_before_known);
    drive->stats.buffer_coalesced_units++;
    scarp_contents_release(drive, scarp_unit_data(&dirty->unit));
    scarp_dirty_release(drive, dirty);
}

void scarp_dirty_reserve_place(ScarpDrive *drive, ScarpDirty *dirty)
{
    if (scarp_has_parity(drive)) {
        scarp_parity_part_begins(drive, scarp_unit_lpn(&dirty->unit));
        dirty->has_place = true;
    }
}

void scarp_dirty_release_place(ScarpDrive *drive, ScarpDirty *dirty)
{
    if (dirty->has_place) {
        scarp_parity_part_ends(drive, scarp_unit_lpn(&dirty->unit));
        dirty->has_place = false;
    }
}

void scarp_dirty_settle(ScarpDrive *drive, ScarpDirty *dirty)
{
    ScarpUnit *unit = &dirty->unit;

    if (!scarp_dirty_pin(drive, dirty)) {
        return;
    }
    if (scarp_has_parity(drive) && !dirty->superseded) {
        scarp_parity_changed(drive, scarp_unit_lpn(unit),
                             scarp_unit_data(unit));
        /* the stripe is open now, and has RAM of its own */
        scarp_dirty_release_place(drive, dirty);
    }
    scarp_dirty_pack(drive, dirty);
}

void scarp_buffer_settle(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpDirty *dirty = scarp_dirty_of(unit);

    if (dirty->superseded && !scarp_dirty_is_late(drive, dirty)) {
        drop(drive, dirty);
        return;
    }
    scarp_dirty_settle(drive, dirty);
    /*
     * A command or a flush waits for this unit. That command or flush has
     * queued programs of the pages under construction, but the unit was in none
     * of these pages then. So its page is programmed now.
     */
    if (scarp_unit_is_packing(unit) && scarp_dirty_is_late(drive, dirty)) {
        scarp_mark(drive, part_ready_late);
        scarp_dirty_emit(drive, dirty);
    }
}

bool scarp_buffer_mapped(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpDirty *dirty = scarp_dirty_of(unit);

    dirty->pinned = true;
    dirty->mapping_ns = scarp_time_ns(drive) - dirty->created_ns -
                        dirty->rmw_ns;
    if (scarp_unit_is_partial(unit)) {
        return true;
    }
    if (dirty->superseded) {
        scarp_buffer_settle(drive, unit);
    } else {
        scarp_dirty_settle(drive, dirty);
    }
    return false;
}

void scarp_buffer_close(ScarpDrive *drive, uint32_t lpn)
{
    ScarpDirty *dirty = scarp_buffer_find(drive, lpn);

    if (dirty && scarp_unit_is_packing(&dirty->unit) &&
        scarp_dirty_is_late(drive, dirty)) {
        scarp_dirty_emit(drive, dirty);
    }
}
