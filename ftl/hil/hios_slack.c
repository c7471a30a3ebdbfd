/*
 * HIOS: slack (hios-isca14 §4.1, equation 1), from what dies have to do now.
 *
 *     slack = deadline - now - (GC + pending + own time)
 *
 * pending is what the command's die has to do already: what runs, what waits
 * there (programs do not stand before a read), what was granted to GC, and
 * programs whose data is on its way.  Each flash command counts as one of the
 * slowest page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios.h"

static int64_t pending_ns(const ScarpDrive *drive, const Hios *hios,
                          uint32_t die, bool reads)
{
    int64_t ns = scarp_nand_busy_ns(drive, die, hios->program_ns) +
                 scarp_nand_queued(drive, die, QUEUE_READS) * hios->read_ns +
                 scarp_gc_granted_ns(drive, die);

    if (reads) {
        return ns;
    }
    return ns + hios->coming_ns[die] +
           scarp_nand_queued(drive, die, QUEUE_PROGRAMS) * hios->program_ns;
}

/* What it waits for and spends on the die that it ends on last. */
static int64_t needed_ns(const ScarpDrive *drive, const Hios *hios,
                         const HiosRecord *record)
{
    bool reads = record->cmd->op == SCARP_OP_READ;
    int64_t ns = record->own_ns;

    for (uint32_t i = 0; i < record->n_parts; i++) {
        const HiosPart *part = &record->part[i];

        ns = MAX(ns, record->link_ns + part->n * record->flash_ns +
                         pending_ns(drive, hios, part->die, reads));
    }
    return ns;
}

int64_t hios_slack_ns(const ScarpDrive *drive, const Hios *hios,
                      const HiosRecord *record)
{
    return record->deadline_ns - scarp_time_ns(drive) -
           needed_ns(drive, hios, record);
}

/* How long the die can do nothing else for it; 0: it does not go there. */
static int64_t on_die_ns(const HiosRecord *record, uint32_t die, bool serial)
{
    if (serial) {
        return record->own_ns;
    }
    if (!(record->dies >> die % 64 & 1)) {
        return 0;
    }
    for (uint32_t i = 0; i < record->n_parts; i++) {
        if (record->part[i].die == die) {
            return record->link_ns + record->part[i].n * record->flash_ns;
        }
    }
    return 0;
}

/* What a command that waits leaves, if the die has need_ns to do before it. */
static int64_t left_ns(const ScarpDrive *drive, const HiosRecord *record,
                       int64_t need_ns)
{
    int64_t now_ns = scarp_time_ns(drive);

    /* What is late already is served late, and holds up nothing more. */
    return record->deadline_ns < now_ns
               ? INT64_MAX : record->deadline_ns - now_ns - need_ns;
}

int64_t hios_room_ns(const ScarpDrive *drive, const Hios *hios, uint32_t i,
                     int64_t slack_ns, uint32_t die)
{
    bool serial = drive->scheme.param[AXIS_HIL][HIOS_SERIAL];
    const HiosRecord *first = hios_waiting(hios, i);
    const int64_t begin_ns = pending_ns(drive, hios, die, false);
    int64_t before_ns = begin_ns, room_ns = slack_ns;

    /* It is the one that carries it, even if it goes elsewhere. */
    room_ns = MIN(room_ns, first->deadline_ns - scarp_time_ns(drive) -
                               before_ns);
    before_ns += on_die_ns(first, die, serial);
    for (uint32_t j = 0; j < hios->n_waiting; j++) {
        const HiosRecord *record = hios_waiting(hios, j);
        int64_t own_ns = j == i ? 0 : on_die_ns(record, die, serial);

        if (own_ns) {
            before_ns += own_ns;
            room_ns = MIN(room_ns, left_ns(drive, record, before_ns));
        }
    }
    for (uint32_t j = 0; j < hios->n_flying; j++) {
        const HiosRecord *record = &hios->record[hios->flying[j]];

        if (on_die_ns(record, die, serial)) {
            room_ns = MIN(room_ns, left_ns(drive, record, begin_ns));
        }
    }
    /*
     * The channel may be busy with other dies, and reads that come later go
     * before programs: neither is known now.
     */
    return room_ns -
           (int64_t)drive->scheme.param[AXIS_HIL][HIOS_MARGIN_US] * 1000;
}
