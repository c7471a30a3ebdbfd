/*
 * HIOS: records of commands, with their deadlines, their dies, and the time
 * needed there.
 *
 * A record is made when the policy first sees its command, by the mapping and
 * the write allocation of that moment. The record is not updated later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios/hios.h"
#include "policies.h"

#include <string.h>

/* How many pages on their way to one plane are considered at most. */
#define AHEAD 256

/* ---- The work of a command ----------------------------------------------- */

static void add_flash(const ScarpDrive *drive, HiosRecord *record,
                      uint32_t plane)
{
    uint32_t die = scarp_plane_die(drive, plane), i = 0;

    while (i < record->n_parts && record->part[i].die != die) {
        i++;
    }
    if (i == HIOS_PARTS) {
        record->part[die % HIOS_PARTS].n++;
        return;
    }
    if (i == record->n_parts) {
        record->part[record->n_parts++] = (HiosPart) { .die = die };
        record->dies |= 1ull << die % 64;
    }
    record->part[i].n++;
}

static void add_reads(const ScarpDrive *drive, HiosRecord *record)
{
    uint32_t last = hios_last_lpn(drive, record->cmd), before = SCARP_NONE;

    for (uint32_t lpn = hios_first_lpn(drive, record->cmd); lpn <= last;
         lpn++) {
        uint32_t ppn = scarp_map_lookup(drive, lpn);

        if (scarp_pack_find(drive, lpn) || ppn == SCARP_NONE) {
            before = SCARP_NONE;
            continue;
        }
        if (before == SCARP_NONE ||
            before >> drive->geo.page_shift != ppn >> drive->geo.page_shift) {
            add_flash(drive, record, scarp_ppn_plane(drive, ppn));
        }
        before = ppn;
    }
}

static void add_programs(ScarpDrive *drive, HiosRecord *record)
{
    uint32_t last = hios_last_lpn(drive, record->cmd);
    uint16_t stream = hios_stream(drive, record->cmd);

    for (uint32_t lpn = hios_first_lpn(drive, record->cmd); lpn <= last;
         lpn = hios_next_page(drive, lpn)) {
        add_flash(drive, record,
                  drive->scheme.alloc->plane(drive, lpn, stream));
    }
}

static void describe(ScarpDrive *drive, const Hios *hios, HiosRecord *record,
                     ScarpCmd *cmd)
{
    int64_t default_ns =
        drive->scheme.param[AXIS_HIL][HIOS_DEADLINE_US] * 1000;
    uint32_t most = 0;

    memset(record, 0, offsetof(HiosRecord, part));
    record->cmd = cmd;
    record->deadline_ns = cmd->deadline_ns != SCARP_TIME_NEVER
                              ? cmd->deadline_ns : cmd->submit_ns + default_ns;
    if (!cmd->length_bytes || cmd->op > SCARP_OP_WRITE) {
        return;
    }
    record->link_ns = scarp_hil_link_ns(drive, cmd->length_bytes);
    if (cmd->op == SCARP_OP_READ) {
        record->flash_ns = hios->read_ns;
        add_reads(drive, record);
    } else if (!drive->desc.buffer_bytes || cmd->fua) {
        record->flash_ns = hios->program_ns;
        add_programs(drive, record);
    }
    for (uint32_t i = 0; i < record->n_parts; i++) {
        most = MAX(most, record->part[i].n);
    }
    record->own_ns = record->link_ns + most * record->flash_ns;
}

/* ---- Records ------------------------------------------------------------ */

void hios_see(ScarpDrive *drive, Hios *hios, const ScarpCmdQueue *waiting)
{
    while (hios->n_waiting < drive->desc.queue) {
        ScarpCmd *cmd =
            hios->n_waiting ? hios_waiting(hios, hios->n_waiting - 1)->cmd->next
                            : scarp_cmd_first(waiting);
        uint32_t number;

        if (!cmd) {
            return;
        }
        number = hios->spare[--hios->n_spare];
        cmd->record = number;
        describe(drive, hios, &hios->record[number], cmd);
        hios->waiting[hios->n_waiting++] = number;
    }
}

/* Puts a part of a command at the head of its die's list. */
static void link_part(Hios *hios, uint32_t number)
{
    HiosPart *part = hios_part(hios, number);
    uint32_t *head = &hios->die[part->die].flying;

    part->before = SCARP_NONE;
    part->after = *head;
    if (*head != SCARP_NONE) {
        hios_part(hios, *head)->before = number;
    }
    *head = number;
}

static void unlink_part(Hios *hios, const HiosPart *part)
{
    if (part->before == SCARP_NONE) {
        hios->die[part->die].flying = part->after;
    } else {
        hios_part(hios, part->before)->after = part->after;
    }
    if (part->after != SCARP_NONE) {
        hios_part(hios, part->after)->before = part->before;
    }
}

/*
 * Adds the command's parts to the lists and counts of commands in the device at
 * its dies (`change` is 1), or removes them (`change` is -1).
 */
static void count_at_dies(Hios *hios, const HiosRecord *record, int change)
{
    uint32_t first = (record - hios->record) * HIOS_PARTS;

    for (uint32_t i = 0; i < record->n_parts; i++) {
        uint32_t bit = record->part[i].die % 64;

        if (change > 0) {
            link_part(hios, first + i);
        } else {
            unlink_part(hios, &record->part[i]);
        }
        hios->at_die[bit] += change;
        hios->busy = hios->at_die[bit] ? hios->busy | 1ull << bit
                                       : hios->busy & ~(1ull << bit);
    }
}

static void count_coming(Hios *hios, HiosRecord *record, bool coming)
{
    record->coming = coming;
    for (uint32_t i = 0; i < record->n_parts; i++) {
        int64_t ns = record->part[i].n * record->flash_ns;

        hios->die[record->part[i].die].coming_ns += coming ? ns : -ns;
    }
}

ScarpCmd *hios_dispatch(ScarpDrive *drive, Hios *hios, ScarpCmdQueue *waiting,
                        uint32_t i)
{
    uint32_t number = hios->waiting[i];
    HiosRecord *record = &hios->record[number];

    scarp_cmd_take_after(waiting, i ? hios_waiting(hios, i - 1)->cmd : NULL);
    hios->n_waiting--;
    memmove(&hios->waiting[i], &hios->waiting[i + 1],
            (hios->n_waiting - i) * sizeof(*hios->waiting));
    if (hios->n_flying >= drive->desc.queue) {
        scarp_mark(drive, beyond_queue);
    }
    record->flying = true;
    record->at = hios->n_flying;
    hios->flying[hios->n_flying++] = number;
    count_at_dies(hios, record, 1);
    if (hios_is_write(record)) {
        count_coming(hios, record, true);
    }
    return record->cmd;
}

/*
 * Returns the record of a command in the device, or NULL if another policy
 * dispatched it.
 */
static HiosRecord *flying(const Hios *hios, const ScarpCmd *cmd)
{
    HiosRecord *record;

    if (cmd->record >= hios->n_records) {
        return NULL;
    }
    record = &hios->record[cmd->record];
    return record->flying && record->cmd == cmd ? record : NULL;
}

void hios_data_in(ScarpDrive *drive, const ScarpCmd *cmd)
{
    Hios *hios = hios_of(drive);
    HiosRecord *record = flying(hios, cmd);

    if (record) {
        count_coming(hios, record, false);
    }
}

void hios_ended(ScarpDrive *drive, const ScarpCmd *cmd)
{
    Hios *hios = hios_of(drive);
    HiosRecord *record = flying(hios, cmd);
    uint32_t last;

    if (cmd->deadline_ns == SCARP_TIME_NEVER) {
        /* The command named no deadline, so the policy's deadline_us counts. */
        scarp_stat_deadline(
            drive, cmd, cmd->submit_ns +
                (int64_t)drive->scheme.param[AXIS_HIL][HIOS_DEADLINE_US] *
                    1000);
    }
    scarp_mark_if(drive, not_its_dispatch, !record);
    if (!record) {
        return;
    }
    count_at_dies(hios, record, -1);
    record->flying = false;
    last = hios->flying[--hios->n_flying];
    hios->flying[record->at] = last;
    hios->record[last].at = record->at;
    hios->spare[hios->n_spare++] = cmd->record;
}

/* ---- The start and the end ---------------------------------------------- */

bool hios_init(ScarpDrive *drive, ScarpScheme *scheme,
               GError **error G_GNUC_UNUSED)
{
    Hios *hios = scheme->state[AXIS_HIL];
    uint32_t queue = drive->desc.queue;
    /* Writes that join the write in the last slot take no slot. */
    uint32_t flying = drive->desc.slots + drive->geo.units_per_page - 1;

    hios->neutral = scheme->hil == &scarp_hil_hios_2;
    hios->joins = SCARP_NONE;
    for (uint32_t page = 0; page < drive->desc.pages_per_block; page++) {
        hios->read_ns = MAX(hios->read_ns, scarp_nand_read_ns(drive, page));
        hios->program_ns = MAX(hios->program_ns,
                               scarp_nand_program_ns(drive, page));
    }
    hios->read_ns += (int64_t)drive->desc.command_ns +
                     scarp_nand_page_transfer_ns(drive);
    hios->program_ns += (int64_t)drive->desc.command_ns +
                        scarp_nand_page_transfer_ns(drive);
    hios->neutral_ns = (int64_t)drive->desc.pages_per_block *
                       hios->program_ns / queue;
    hios->n_records = hios->n_spare = queue + flying;
    hios->record = g_new0(HiosRecord, hios->n_records);
    hios->waiting = g_new(uint32_t, queue);
    hios->flying = g_new(uint32_t, flying);
    hios->spare = g_new(uint32_t, hios->n_records);
    for (uint32_t i = 0; i < hios->n_records; i++) {
        hios->spare[i] = hios->n_records - 1 - i;
    }
    hios->die = g_new0(HiosDie, drive->geo.n_dies);
    for (uint32_t i = 0; i < drive->geo.n_dies; i++) {
        hios->die[i].flying = SCARP_NONE;
    }
    hios->n_ahead = AHEAD;
    hios->ahead = g_new(uint32_t, hios->n_ahead);
    return true;
}

void hios_clear(ScarpDrive *drive G_GNUC_UNUSED, void *state)
{
    Hios *hios = state;

    g_free(hios->record);
    g_free(hios->waiting);
    g_free(hios->flying);
    g_free(hios->spare);
    g_free(hios->die);
    g_free(hios->ahead);
}
