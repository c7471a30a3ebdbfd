/*
 * The host's questions about a stream's reclaim units of several planes: how
 * much room they have; and its wish that they are closed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

static bool has_units(const ScarpDrive *drive, uint16_t stream)
{
    return scarp_has_units(&drive->desc) && stream < drive->desc.streams;
}

uint64_t scarp_unit_left_bytes(const ScarpDrive *drive, uint16_t stream)
{
    uint64_t all = scarp_drive_stream_bytes(drive), pages = 0;
    uint64_t waiting = scarp_buffer_without_place(drive, stream) *
                       drive->geo.unit_bytes;

    g_assert(has_units(drive, stream));
    for (uint32_t g = 0; g < drive->geo.reclaim_groups; g++) {
        pages += scarp_ru_left(drive, g, stream);
    }
    /* data that waits may fill the units, and begin the next ones */
    return all - (all - pages * drive->desc.page_bytes + waiting) % all;
}

bool scarp_close_units(ScarpDrive *drive, uint16_t stream)
{
    uint32_t closed = 0;

    g_assert(has_units(drive, stream));
    if (scarp_recovery_runs(drive)) {
        return false; /* the power cut has closed all units */
    }
    scarp_buffer_emit_stream(drive, stream);
    for (uint32_t g = 0; g < drive->geo.reclaim_groups; g++) {
        uint32_t left = scarp_ru_left(drive, g, stream);

        if (scarp_ru_close(drive, g, stream)) {
            drive->unit_stats.closed_reclaim_units++;
            drive->unit_stats.unwritten_pages += left;
            closed++;
        }
    }
    scarp_flow_work(drive);
    return closed;
}
