/*
 * Deallocations whose record is not on flash yet, where power may fail.
 *
 * A deallocated unit keeps its place until its record is on flash, and reads
 * are told that it is unmapped. Otherwise its block could be erased first. If
 * power failed then, before the record is on flash, an older copy of the unit
 * would come back: neither its last contents nor zeroes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

static uint64_t when_of(const ScarpDrive *drive, uint32_t lpn)
{
    return (uint64_t)(uintptr_t)g_hash_table_lookup(drive->buffer.unrecorded,
                                                    GUINT_TO_POINTER(lpn));
}

bool scarp_unrecorded_has(const ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    return when_of(drive, lpn) > scarp_media_version(drive, ppn);
}

void scarp_unrecorded_add(ScarpDrive *drive, uint32_t lpn, uint64_t when)
{
    if (!drive->buffer.unrecorded) {
        drive->buffer.unrecorded = g_hash_table_new(NULL, NULL);
    }
    g_hash_table_insert(drive->buffer.unrecorded, GUINT_TO_POINTER(lpn),
                        (gpointer)(uintptr_t)when);
}

uint64_t scarp_recorded_version(const ScarpDrive *drive, uint32_t lpn)
{
    const uint64_t *when;
    uint32_t record;

    if (!scarp_buffer_records(drive) || lpn >= drive->geo.logical_units) {
        return 0;
    }
    record = scarp_map_lookup(drive, drive->geo.logical_units +
                                         lpn / drive->geo.record_lpns);
    when = record == SCARP_NONE ? NULL : scarp_contents_get(drive, record);
    return when ? GUINT64_FROM_LE(when[lpn % drive->geo.record_lpns]) : 0;
}

void scarp_record_written(ScarpDrive *drive, uint32_t record_lpn,
                          const uint64_t *when)
{
    uint32_t n = drive->geo.record_lpns;
    uint32_t first = (record_lpn - drive->geo.logical_units) * n;
    uint32_t end = MIN(first + n, drive->geo.logical_units);

    for (uint32_t lpn = first; when && lpn < end; lpn++) {
        uint64_t said = GUINT64_FROM_LE(when[lpn - first]);
        uint32_t ppn = scarp_map_lookup(drive, lpn);

        if (ppn != SCARP_NONE && scarp_media_version(drive, ppn) < said) {
            scarp_map_deallocate(drive, lpn);
        }
        /*
         * If lpn was deallocated again later, that still waits for its own
         * record.
         */
        if (drive->buffer.unrecorded && when_of(drive, lpn) <= said) {
            g_hash_table_remove(drive->buffer.unrecorded,
                                GUINT_TO_POINTER(lpn));
        }
    }
}
