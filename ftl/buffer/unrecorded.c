/*
 * Deallocations without a record on flash, on drives whose power may fail.
 * Until its record is on flash, a deallocated unit stays in the forward map,
 * but reads are told that the unit is unmapped. If the unit were unmapped at
 * once, garbage collection could erase its page before the record is written.
 * If power failed after that erase, recovery would map an older copy of the
 * unit. But after a deallocation and a power cut, a read may return only the
 * unit's last data, or zeroes.
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
         * If the host has deallocated lpn again since, lpn stays in
         * `unrecorded` until the record of that later deallocation is on flash.
         */
        if (drive->buffer.unrecorded && when_of(drive, lpn) <= said) {
            g_hash_table_remove(drive->buffer.unrecorded,
                                GUINT_TO_POINTER(lpn));
        }
    }
}
