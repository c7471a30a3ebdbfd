/*
 * HIOS: neutral activities (hios-isca14 §5.3, algorithm 3), while no collection
 * has work to be redistributed.
 *
 * Empty channel first: the next command is the oldest command whose dies have
 * no other command of the host in the device, or that must go now to meet its
 * deadline. Without such a command, the oldest of all is next.
 *
 * Page-based aggregation: waiting writes to the page of the dispatched write go
 * with that write, in its slot, and one program carries them all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios/hios.h"

uint32_t hios_empty_channel_first(const ScarpDrive *drive, const Hios *hios)
{
    int64_t now_ns = scarp_time_ns(drive);

    for (uint32_t i = 0; i < hios->n_waiting; i++) {
        const HiosRecord *record = hios_waiting(hios, i);

        if (!(record->dies & hios->busy) || now_ns >= hios_latest_ns(record)) {
            scarp_mark_if(drive, idle_die_first, i);
            return i;
        }
    }
    scarp_mark(drive, all_dies_busy);
    return 0; /* popVictim() of algorithm 3: the oldest */
}

/* ---- Aggregation -------------------------------------------------------- */

/* True for a write of whole units that lie in one page. */
static bool is_part(const ScarpDrive *drive, const ScarpCmd *cmd)
{
    return cmd->op == SCARP_OP_WRITE && cmd->length_bytes &&
           !((cmd->offset_bytes | cmd->length_bytes) &
             (drive->geo.unit_bytes - 1)) &&
           hios_first_lpn(drive, cmd) >> drive->geo.page_shift ==
               hios_last_lpn(drive, cmd) >> drive->geo.page_shift;
}

/*
 * True when `other` lies in the page of the units `first` to `last`, directly
 * before or behind these units. A write that overlaps these units does not
 * count, because one program cannot carry a unit twice.
 */
static bool is_adjacent(const ScarpDrive *drive, uint32_t first, uint32_t last,
                        const ScarpCmd *other)
{
    return hios_first_lpn(drive, other) >> drive->geo.page_shift ==
               first >> drive->geo.page_shift &&
           (last + 1 == hios_first_lpn(drive, other) ||
            hios_last_lpn(drive, other) + 1 == first);
}

/* Adds cmd's units to the range that is programmed together. */
static void extend(const ScarpDrive *drive, Hios *hios, const ScarpCmd *cmd,
                   bool joined)
{
    uint32_t first = hios_first_lpn(drive, cmd);
    uint32_t last = hios_last_lpn(drive, cmd);

    hios->first_lpn = joined ? MIN(hios->first_lpn, first) : first;
    hios->last_lpn = joined ? MAX(hios->last_lpn, last) : last;
}

void hios_aggregate(ScarpDrive *drive, Hios *hios, uint32_t i, bool joined)
{
    ScarpCmd *cmd = hios_waiting(hios, i)->cmd;

    /* A write buffer makes full pages anyway. */
    if (drive->geo.units_per_page == 1 || drive->desc.buffer_bytes ||
        !is_part(drive, cmd)) {
        return;
    }
    extend(drive, hios, cmd, joined);
    for (uint32_t j = 0; j < hios->n_waiting; j++) {
        const ScarpCmd *other = hios_waiting(hios, j)->cmd;

        if (j != i && is_part(drive, other) &&
            hios_stream(drive, other) == hios_stream(drive, cmd) &&
            is_adjacent(drive, hios->first_lpn, hios->last_lpn, other)) {
            scarp_mark(drive, joined_write);
            scarp_mark_if(drive, joined_chain, joined);
            hios->joins = hios->waiting[j];
            cmd->joined = true;
            drive->stats.aggregated_writes++;
            return;
        }
    }
}

uint32_t hios_take_joined(Hios *hios)
{
    uint32_t i = 0;

    while (hios->waiting[i] != hios->joins) {
        i++;
    }
    hios->joins = SCARP_NONE;
    return i;
}
