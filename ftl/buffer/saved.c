/*
 * When power fails, stored energy (controller.plp_bytes) saves the buffered
 * units whose bytes are all known. When power is back, these units are put into
 * the buffer as if the host wrote them again, in the same order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

void scarp_buffer_burnt(const ScarpUnit *unit)
{
    ((ScarpDirty *)unit)->burnt = true;
}

uint32_t scarp_buffer_units(const ScarpDrive *drive)
{
    return drive->buffer.used;
}

uint32_t scarp_buffer_unrecorded_units(const ScarpDrive *drive)
{
    return drive->buffer.unrecorded
               ? g_hash_table_size(drive->buffer.unrecorded) : 0;
}

uint32_t scarp_buffer_flushes(const ScarpDrive *drive)
{
    uint32_t n = 0;

    for (const ScarpCmd *cmd = scarp_cmd_first(&drive->buffer.flushes); cmd;
         cmd = cmd->next) {
        n++;
    }
    return n;
}

typedef struct {
    uint64_t when;
    const ScarpDirty *dirty; /* NULL: the item is a deallocation */
    uint32_t lpn;
} Item;

static int by_when(const void *a, const void *b)
{
    uint64_t when_a = ((const Item *)a)->when;
    uint64_t when_b = ((const Item *)b)->when;

    return (when_a > when_b) - (when_a < when_b);
}

/*
 * True for a unit with the newest data of its LPN, all of whose bytes are
 * known. A partly written unit is not saved, because its command has not
 * completed. Records of deallocations are not saved, because
 * scarp_buffer_restore() makes them anew.
 */
static bool is_saved(const ScarpDrive *drive, const ScarpDirty *dirty)
{
    return !dirty->burnt && !dirty->superseded &&
           !scarp_unit_is_partial(&dirty->unit) &&
           scarp_unit_lpn(&dirty->unit) < drive->geo.logical_units;
}

void scarp_buffer_save(ScarpDrive *drive)
{
    g_autoptr(GArray) items = g_array_new(false, false, sizeof(Item));
    GHashTableIter iter;
    gpointer lpn, when;

    for (const ScarpDirty *dirty = drive->buffer.oldest; dirty;
         dirty = dirty->newer) {
        Item item = { .when = scarp_unit_seq(&dirty->unit), .dirty = dirty };

        if (is_saved(drive, dirty)) {
            g_array_append_val(items, item);
        }
    }
    if (drive->buffer.unrecorded) {
        g_hash_table_iter_init(&iter, drive->buffer.unrecorded);
        while (g_hash_table_iter_next(&iter, &lpn, &when)) {
            Item item = { .when = (uint64_t)(uintptr_t)when,
                          .lpn = GPOINTER_TO_UINT(lpn) };

            g_array_append_val(items, item);
        }
    }
    g_array_sort(items, by_when);
    for (guint i = 0; i < items->len; i++) {
        const Item *item = &g_array_index(items, Item, i);

        if (item->dirty) {
            const ScarpUnit *unit = &item->dirty->unit;

            drive->stats.saved_units++;
            scarp_media_save_unit(drive, scarp_unit_lpn(unit),
                                  scarp_unit_stream(unit),
                                  scarp_unit_data(unit));
        } else {
            scarp_media_save_deallocation(drive, item->lpn, item->when);
        }
    }
}

/*
 * Repeats a deallocation after a power cut, unless the host wrote the unit
 * again later. Saved items are restored in the order in which the host gave
 * them, so a copy in the buffer is older than the deallocation. A copy on flash
 * may be newer, as its version tells.
 */
static void restore_deallocation(ScarpDrive *drive, ScarpCmd *cmd,
                                 const ScarpSavedUnit *unit)
{
    uint32_t ppn = scarp_map_lookup(drive, unit->lpn);

    if (scarp_buffer_find(drive, unit->lpn) ||
        (ppn != SCARP_NONE &&
         scarp_media_version(drive, ppn) < unit->deallocated)) {
        scarp_buffer_deallocate_run(drive, cmd, unit->lpn, 1);
    }
}

void scarp_buffer_restore(ScarpDrive *drive)
{
    ScarpCmd cmd = { .op = SCARP_OP_WRITE };

    for (uint32_t i = 0; i < scarp_media_saved_units(drive); i++) {
        const ScarpSavedUnit *unit = scarp_media_saved_unit(drive, i);
        ScarpPiece piece = { .lpn = unit->lpn, .stream = unit->stream,
                             .bytes = drive->geo.unit_bytes,
                             .from = unit->data };

        /*
         * No command waits for the unit: its write completed before the power
         * cut.
         */
        if (unit->deallocated) {
            restore_deallocation(drive, &cmd, unit);
        } else {
            scarp_buffer_put(drive, &cmd, &piece);
        }
    }
}
