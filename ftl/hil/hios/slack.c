/*
 * HIOS: slack (hios-isca14 §4.1, equation 1), from the work that dies have now.
 *
 *     slack = deadline - now - (GC + pending + own time)
 *
 * GC is the time for which collections may run on the command's die, according
 * to scarp_gc_granted_ns(). Pending is the other work that the die already has:
 * the running command, commands that wait there (programs do not delay a read),
 * and programs whose data is on its way. Each flash command is assumed to take
 * as long as on the slowest page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios/hios.h"

static int64_t pending_ns(const ScarpDrive *drive, const Hios *hios,
                          uint32_t die, bool reads)
{
    int64_t ns = scarp_nand_busy_ns(drive, die, hios->program_ns) +
                 scarp_nand_queued(drive, die, QUEUE_READS) * hios->read_ns +
                 scarp_gc_granted_ns(drive, die);

    if (reads) {
        return ns;
    }
    return ns + hios->die[die].coming_ns +
           scarp_nand_queued(drive, die, QUEUE_PROGRAMS) * hios->program_ns;
}

/* Returns the time that a command takes on one of its dies. */
static int64_t own_on_ns(const HiosRecord *record, const HiosPart *part)
{
    return record->link_ns + part->n * record->flash_ns;
}

/*
 * Returns how long a command waits for one of its dies, plus the time that it
 * takes there.
 */
static int64_t needed_on_ns(const ScarpDrive *drive, const Hios *hios,
                            const HiosRecord *record, const HiosPart *part)
{
    return own_on_ns(record, part) +
           pending_ns(drive, hios, part->die,
                      record->cmd->op == SCARP_OP_READ);
}

/* Returns the time until the command has ended on all of its dies. */
static int64_t needed_ns(const ScarpDrive *drive, const Hios *hios,
                         const HiosRecord *record)
{
    int64_t ns = record->own_ns;

    for (uint32_t i = 0; i < record->n_parts; i++) {
        ns = MAX(ns, needed_on_ns(drive, hios, record, &record->part[i]));
    }
    return ns;
}

int64_t hios_slack_ns(const ScarpDrive *drive, const Hios *hios,
                      const HiosRecord *record)
{
    return record->deadline_ns - scarp_time_ns(drive) -
           needed_ns(drive, hios, record);
}

/* ---- Room for other work ------------------------------------------------ */

typedef struct {
    const ScarpDrive *drive;
    Hios *hios;
    const ScarpGcRound *open; /* rounds for whose dies the room is computed */
    uint32_t n;
    uint64_t dies; /* a bit for each asked die, modulo 64 */
    int64_t now_ns;
    /*
     * Time that is kept for unknown delays: the channel may be busy with other
     * commands, and later reads go before programs.
     */
    int64_t margin_ns;
    bool serial;
} Rooms;

static HiosDie *asked(const Rooms *rooms, uint32_t k)
{
    return &rooms->hios->die[scarp_plane_die(rooms->drive,
                                             rooms->open[k].plane)];
}

/*
 * Sets room_ns of each asked die to the time that the first command leaves for
 * segments there, less the margin. On a die that the command uses, this is the
 * time until its deadline, less the time for the die's present work and the
 * command. On another die, and with `serial` on every die, it is the command's
 * slack, but at most the time until its deadline less the die's present work.
 */
static void begin(Rooms *rooms, const HiosRecord *first, int64_t slack_ns)
{
    int64_t left_ns = first->deadline_ns - rooms->now_ns - rooms->margin_ns;

    for (uint32_t k = 0; k < rooms->n; k++) {
        uint32_t number = scarp_plane_die(rooms->drive, rooms->open[k].plane);
        HiosDie *die = &rooms->hios->die[number];

        scarp_mark_if(rooms->drive, two_rounds_on_die, die->asked);
        if (!die->asked) {
            die->plane = rooms->open[k].plane;
        }
        die->asked = true;
        die->begin_ns = pending_ns(rooms->drive, rooms->hios, number, false);
        die->before_ns = die->begin_ns + (rooms->serial ? first->own_ns : 0);
        die->room_ns = MIN(slack_ns - rooms->margin_ns,
                           left_ns - die->begin_ns);
    }
    for (uint32_t i = 0; i < first->n_parts && !rooms->serial; i++) {
        const HiosPart *part = &first->part[i];
        HiosDie *die = &rooms->hios->die[part->die];

        if (die->asked) {
            die->before_ns += own_on_ns(first, part);
            die->room_ns = left_ns - MAX(die->begin_ns,
                                         needed_on_ns(rooms->drive, rooms->hios,
                                                      first, part));
        }
    }
}

/*
 * Limits the die's room so that a command, which needs own_ns there, meets its
 * deadline. If the command waits in the queue, the commands before it take
 * their time first.
 */
static void leave_for(const Rooms *rooms, HiosDie *die,
                      const HiosRecord *record, int64_t own_ns)
{
    int64_t left_ns = record->deadline_ns - rooms->now_ns;

    scarp_mark_if(rooms->drive, late_left_out, left_ns < 0);
    die->before_ns += record->flying ? 0 : own_ns;
    /* A command that has missed its deadline already sets no limit. */
    if (left_ns >= 0) {
        die->room_ns = MIN(die->room_ns, left_ns - rooms->margin_ns -
                                             (record->flying
                                                  ? die->begin_ns
                                                  : die->before_ns));
    }
}

static void leave(const Rooms *rooms, const HiosRecord *record)
{
    if (rooms->serial) {
        for (uint32_t k = 0; k < rooms->n && record->own_ns; k++) {
            HiosDie *die = asked(rooms, k);

            /* A die counts once, even if several of its planes have a round. */
            if (die->asked && die->plane == rooms->open[k].plane) {
                leave_for(rooms, die, record, record->own_ns);
            }
        }
        return;
    }
    if (!(record->dies & rooms->dies)) {
        return;
    }
    for (uint32_t i = 0; i < record->n_parts; i++) {
        const HiosPart *part = &record->part[i];
        HiosDie *die = &rooms->hios->die[part->die];

        if (die->asked) {
            leave_for(rooms, die, record, own_on_ns(record, part));
        }
    }
}

/*
 * Leaves time for the commands in the device, at each die whose room_ns is
 * computed.
 */
static void leave_flying(const Rooms *rooms)
{
    const Hios *hios = rooms->hios;

    for (uint32_t k = 0; k < rooms->n; k++) {
        HiosDie *die = asked(rooms, k);
        uint32_t number = die->flying;

        if (!die->asked || die->plane != rooms->open[k].plane) {
            continue;
        }
        for (; number != SCARP_NONE; number = hios_part(hios, number)->after) {
            leave_for(rooms, die, &hios->record[number / HIOS_PARTS], 0);
        }
    }
}

/*
 * Drops dies that have room for neither a segment nor an erase, so that no
 * command is considered for them.
 */
static void drop(Rooms *rooms)
{
    int64_t least_ns = MIN(scarp_gc_segment_ns(rooms->drive),
                           scarp_gc_erase_ns(rooms->drive));

    for (uint32_t k = 0; k < rooms->n; k++) {
        HiosDie *die = asked(rooms, k);

        die->asked = die->room_ns >= least_ns;
        if (die->asked) {
            rooms->dies |=
                1ull << scarp_plane_die(rooms->drive, rooms->open[k].plane) % 64;
        }
    }
}

void hios_rooms(const ScarpDrive *drive, Hios *hios, uint32_t i,
                int64_t slack_ns, const ScarpGcRound *open, uint32_t n)
{
    Rooms rooms = { .drive = drive, .hios = hios, .open = open, .n = n,
                    .now_ns = scarp_time_ns(drive) };

    rooms.margin_ns =
        (int64_t)drive->scheme.param[AXIS_HIL][HIOS_MARGIN_US] * 1000;
    rooms.serial = hios_is_set(drive, HIOS_SERIAL);
    begin(&rooms, hios_waiting(hios, i), slack_ns);
    drop(&rooms);
    for (uint32_t j = 0; j < hios->n_waiting && rooms.dies; j++) {
        if (j != i) {
            leave(&rooms, hios_waiting(hios, j));
        }
    }
    for (uint32_t j = 0; j < hios->n_flying && rooms.serial && rooms.dies;
         j++) {
        leave(&rooms, &hios->record[hios->flying[j]]);
    }
    if (!rooms.serial) {
        leave_flying(&rooms);
    }
    for (uint32_t k = 0; k < n; k++) {
        asked(&rooms, k)->asked = false;
    }
}
