/*
 * Host data on its way to flash: the write buffer, packing of units into
 * pages, and the order that flush relies on.
 *
 * Without a write buffer (controller.buffer_bytes=0) the path is the same,
 * but a write ends when it is programmed, and its pages are closed at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

ScarpUnit *scarp_buffer_find(const ScarpDrive *drive, uint32_t lpn)
{
    ScarpUnit *unit;

    if (!drive->dirty_head) {
        return NULL; /* what is only read spares the cache the table */
    }
    unit = drive->hash[lpn & drive->hash_mask];
    while (unit && unit->lpn != lpn) {
        unit = unit->hash_next;
    }
    return unit;
}

static void hash_insert(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpUnit **head = &drive->hash[unit->lpn & drive->hash_mask];

    unit->hash_next = *head;
    *head = unit;
}

static void hash_remove(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpUnit **link = &drive->hash[unit->lpn & drive->hash_mask];

    while (*link != unit) {
        link = &(*link)->hash_next;
    }
    *link = unit->hash_next;
}

static void dirty_append(ScarpDrive *drive, ScarpUnit *unit)
{
    unit->older = drive->dirty_tail;
    *(unit->older ? &unit->older->newer : &drive->dirty_head) = unit;
    drive->dirty_tail = unit;
}

static void dirty_remove(ScarpDrive *drive, ScarpUnit *unit)
{
    *(unit->older ? &unit->older->newer : &drive->dirty_head) = unit->newer;
    *(unit->newer ? &unit->newer->older : &drive->dirty_tail) = unit->older;
}

/* The unit is on flash, or nobody needs it any more. */
static void unit_release(ScarpDrive *drive, ScarpUnit *unit)
{
    dirty_remove(drive, unit);
    drive->buffer_used--;
    if (unit->plane != SCARP_NONE) {
        drive->plane[unit->plane].programs_units--;
    }
    scarp_unit_free(drive, unit);
}

/* ---- Packing ---------------------------------------------------------- */

static ScarpPacker *packer_of(ScarpDrive *drive, const ScarpUnit *unit)
{
    uint32_t p = drive->scheme.alloc->early ? unit->plane : drive->n_planes;

    return &drive->packer[p * (uint32_t)drive->d.streams + unit->stream];
}

/* The packer's units become a page that waits for its die. */
static void emit(ScarpDrive *drive, ScarpPacker *packer)
{
    ScarpTx *tx = scarp_tx_new(drive, TX_PROGRAM, SCARP_ORIGIN_HOST);

    tx->units = packer->head;
    tx->n_units = packer->n;
    tx->bytes = drive->d.page_bytes;
    tx->plane = tx->units->plane;
    drive->buffer_packing -= packer->n;
    packer->n = 0;
    packer->head = NULL;
    if (tx->plane == SCARP_NONE) {
        tx->plane = drive->scheme.alloc->plane(drive, SCARP_NONE,
                                               tx->units->stream);
        for (ScarpUnit *unit = tx->units; unit; unit = unit->next) {
            unit->plane = tx->plane;
        }
        drive->plane[tx->plane].programs_units += tx->n_units;
    }
    for (ScarpUnit *unit = tx->units; unit; unit = unit->next) {
        unit->packing = false;
    }
    drive->stats.padded_units += drive->units_per_page - tx->n_units;
    scarp_tx_enqueue(drive, tx);
}

static void pack(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpPacker *packer = packer_of(drive, unit);

    unit->packing = true;
    scarp_packer_push(packer, unit);
    drive->buffer_packing++;
    if (packer->n == drive->units_per_page) {
        emit(drive, packer);
    }
}

static void unpack(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpPacker *packer = packer_of(drive, unit);
    ScarpUnit **link = &packer->head;

    while (*link != unit) {
        link = &(*link)->next;
    }
    *link = unit->next;
    packer->n--;
    if (!*link) {
        packer->tail = link;
    }
    drive->buffer_packing--;
    unit->packing = false;
}

static bool is_late(const ScarpDrive *drive, const ScarpUnit *unit)
{
    return unit->cmd || (drive->flushes.head &&
                         drive->flushes.tail->order > unit->seq);
}

void scarp_buffer_drain(ScarpDrive *drive, uint64_t seq)
{
    ScarpUnit *unit = drive->dirty_head;

    while (unit && unit->seq < seq) {
        if (unit->packing) {
            emit(drive, packer_of(drive, unit));
        }
        unit = unit->newer;
    }
}

/* A writer waits: at least half of the buffer must be on its way. */
static void drain_half(ScarpDrive *drive)
{
    ScarpUnit *unit = drive->dirty_head;

    while (unit && drive->buffer_packing * 2 > drive->buffer_units) {
        if (unit->packing) {
            emit(drive, packer_of(drive, unit));
        }
        unit = unit->newer;
    }
}

/* ---- Units ------------------------------------------------------------ */

static void supersede(ScarpDrive *drive, ScarpUnit *unit)
{
    unit->superseded = true;
    hash_remove(drive, unit);
    if (unit->packing && !unit->cmd) {
        unpack(drive, unit);
        drive->stats.buffer_coalesced_units++;
        scarp_store_release(drive, unit->data);
        unit_release(drive, unit);
    }
}

void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn)
{
    ScarpUnit *unit = scarp_buffer_find(drive, lpn);
    bool mapped = drive->l2p[lpn] != SCARP_NONE || unit;

    drive->stats.deallocated_units += mapped;
    if (unit) {
        supersede(drive, unit);
    }
    scarp_map_unmap(drive, lpn);
    if (drive->parity && mapped) {
        scarp_parity_changed(drive, lpn, NULL);
    }
}

/* What the host did not write of the unit comes from base, NULL: zeroes. */
static void merge(ScarpDrive *drive, ScarpUnit *unit, const void *base)
{
    uint32_t end = unit->first_byte + unit->bytes;
    char *data = unit->data;

    if (base) {
        memcpy(data, base, unit->first_byte);
        memcpy(data + end, (const char *)base + end, drive->unit_bytes - end);
    } else {
        memset(data, 0, unit->first_byte);
        memset(data + end, 0, drive->unit_bytes - end);
    }
}

/* Buffered: a write of a part of a unit ends when the buffer has all of it. */
static void read_ended(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpCmd *cmd = unit->cmd;

    if (!unit->until_ready) {
        return;
    }
    unit->cmd = NULL;
    if (cmd->units_left == 1) {
        cmd->cause_ns[SCARP_CAUSE_BUFFER_FULL] +=
            unit->created_ns - cmd->mark_ns;
        cmd->cause_ns[SCARP_CAUSE_RMW] += unit->rmw_ns;
        cmd->mark_ns = drive->now_ns;
    }
    scarp_cmd_put(drive, cmd);
}

void scarp_buffer_ready(ScarpDrive *drive, ScarpUnit *unit, const void *base)
{
    ScarpUnit *dependent = unit->dependent;
    bool waited = unit->rmw;

    if (unit->data) {
        merge(drive, unit, base);
    }
    unit->rmw = false;
    unit->dependent = NULL;
    if (waited) {
        unit->rmw_ns = drive->now_ns - unit->created_ns;
        read_ended(drive, unit);
    }
    if (dependent) {
        scarp_buffer_ready(drive, dependent, unit->data);
    }
    if (unit->superseded && !is_late(drive, unit)) {
        drive->stats.buffer_coalesced_units++;
        scarp_store_release(drive, unit->data);
        unit_release(drive, unit);
        return;
    }
    if (drive->parity && !unit->superseded) {
        scarp_parity_changed(drive, unit->lpn, unit->data);
    }
    pack(drive, unit);
    if (waited && unit->packing && is_late(drive, unit)) {
        emit(drive, packer_of(drive, unit));
    }
}

static void fill(ScarpUnit *unit, uint32_t first_byte,
                 uint32_t bytes, const char *from)
{
    if (!unit->data) {
        return;
    }
    if (from) {
        memcpy((char *)unit->data + first_byte, from, bytes);
    } else {
        memset((char *)unit->data + first_byte, 0, bytes);
    }
}

static void take_cmd(ScarpUnit *unit, ScarpCmd *cmd)
{
    unit->cmd = cmd;
    cmd->units_left++;
}

static void write_unit(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                       uint32_t first_byte, uint32_t bytes, const char *from)
{
    ScarpUnit *older = scarp_buffer_find(drive, lpn);
    bool through = !drive->buffer_units || cmd->fua;
    /* What has no blocks of its own goes with what names no stream. */
    uint16_t stream = cmd->stream < drive->d.streams ? cmd->stream : 0;
    ScarpUnit *unit;

    drive->stats.host_written_units++;
    if (drive->scheme.place->host_write) {
        drive->scheme.place->host_write(drive, lpn);
    }
    if (older && older->packing && !older->cmd && !through &&
        older->stream == stream) {
        drive->stats.buffer_coalesced_units++;
        fill(older, first_byte, bytes, from);
        return;
    }
    unit = scarp_unit_new(drive, lpn);
    unit->seq = drive->next_seq++;
    scarp_block_expect(drive, drive->l2p[lpn]); /* it will be superseded */
    unit->cmd_seq = cmd->seq;
    unit->stream = stream;
    unit->created_ns = drive->now_ns;
    unit->first_byte = first_byte;
    unit->bytes = bytes;
    unit->plane = SCARP_NONE;
    if (through) {
        take_cmd(unit, cmd);
    }
    if (drive->scheme.alloc->early) {
        unit->plane = drive->scheme.alloc->plane(drive, lpn, stream);
        drive->plane[unit->plane].programs_units++;
    }
    if (drive->store_data) {
        unit->data = scarp_store_new(drive);
        fill(unit, first_byte, bytes, from);
    }
    dirty_append(drive, unit);
    drive->buffer_used++;
    if (bytes == drive->unit_bytes) {
        if (older) {
            supersede(drive, older);
        }
        hash_insert(drive, unit);
        scarp_buffer_ready(drive, unit, NULL);
        return;
    }
    unit->rmw = older ? older->rmw : drive->l2p[lpn] != SCARP_NONE;
    if (unit->rmw && !through) {
        unit->until_ready = true;
        take_cmd(unit, cmd);
    }
    if (!older) {
        hash_insert(drive, unit);
        if (unit->rmw) {
            drive->stats.rmw_reads++;
            scarp_read_for_rmw(drive, unit);
        } else {
            scarp_buffer_ready(drive, unit, NULL);
        }
        return;
    }
    if (unit->rmw) {
        older->dependent = unit;
    } else if (unit->data) {
        merge(drive, unit, older->data);
        unit->first_byte = 0;
        unit->bytes = drive->unit_bytes;
    }
    supersede(drive, older);
    hash_insert(drive, unit);
    if (!unit->rmw) {
        scarp_buffer_ready(drive, unit, NULL);
    }
}

/* ---- Commands --------------------------------------------------------- */

/* Units of cmd that still wait for company go now. */
static void close_packers(ScarpDrive *drive, const ScarpCmd *cmd)
{
    uint32_t first = scarp_bytes_lpn(drive, cmd->offset_bytes);
    uint32_t last = scarp_bytes_lpn(drive, cmd->offset_bytes +
                                               cmd->length_bytes - 1);

    for (uint32_t lpn = first; lpn <= last; lpn++) {
        ScarpUnit *unit = scarp_buffer_find(drive, lpn);

        if (unit && unit->packing && unit->cmd) {
            emit(drive, packer_of(drive, unit));
        }
    }
}

/* False: no room for the next unit. */
static bool write_units(ScarpDrive *drive, ScarpCmd *cmd)
{
    const char *data = cmd->op == SCARP_OP_WRITE ? cmd->data : NULL;

    while (cmd->next_byte < cmd->length_bytes) {
        uint64_t at = cmd->offset_bytes + cmd->next_byte;
        uint32_t lpn = scarp_bytes_lpn(drive, at);
        uint32_t first_byte = at & (drive->unit_bytes - 1);
        uint32_t bytes = MIN(drive->unit_bytes - first_byte,
                             cmd->length_bytes - cmd->next_byte);
        bool whole = bytes == drive->unit_bytes;

        if (cmd->op == SCARP_OP_WRITE_ZEROES && whole) {
            scarp_buffer_deallocate(drive, lpn);
        } else if (drive->buffer_units &&
                   drive->buffer_used >= drive->buffer_units) {
            return false;
        } else if (drive->parity && scarp_parity_full(drive, lpn)) {
            return false;
        } else {
            write_unit(drive, cmd, lpn, first_byte, bytes,
                       data ? data + cmd->next_byte : NULL);
        }
        cmd->next_byte += bytes;
    }
    if (cmd->length_bytes && (!drive->buffer_units || cmd->fua) &&
        drive->units_per_page > 1) {
        close_packers(drive, cmd);
    }
    return true;
}

static void written(ScarpDrive *drive, ScarpCmd *cmd)
{
    if (cmd->units_left == 1) {
        cmd->cause_ns[SCARP_CAUSE_BUFFER_FULL] += drive->now_ns - cmd->mark_ns;
        cmd->mark_ns = drive->now_ns;
    }
    scarp_cmd_put(drive, cmd);
}

void scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd)
{
    cmd->next_byte = 0;
    if (!drive->buffer_wait.head && write_units(drive, cmd)) {
        written(drive, cmd);
        return;
    }
    scarp_cmd_push(&drive->buffer_wait, cmd);
    drain_half(drive);
}

/* There is room: let in who waits. */
void scarp_buffer_admit(ScarpDrive *drive)
{
    while (drive->buffer_wait.head &&
           write_units(drive, drive->buffer_wait.head)) {
        written(drive, scarp_cmd_pop(&drive->buffer_wait));
    }
    if (drive->buffer_wait.head) {
        drain_half(drive);
    }
}

/* The explanation of a command is that of the unit that ended last. */
static void explain(ScarpDrive *drive, ScarpCmd *cmd, const ScarpUnit *unit,
                    const ScarpTx *tx)
{
    int64_t sum = unit->rmw_ns + scarp_tx_explain(tx, cmd);

    cmd->cause_ns[SCARP_CAUSE_BUFFER_FULL] += unit->created_ns - cmd->mark_ns;
    cmd->cause_ns[SCARP_CAUSE_RMW] += unit->rmw_ns;
    /* Between: it waited for other units to fill its page. */
    cmd->cause_ns[SCARP_CAUSE_ORDER] += drive->now_ns - unit->created_ns - sum;
    cmd->mark_ns = drive->now_ns;
}

void scarp_buffer_tx_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpUnit *unit = tx->units;
    uint32_t ppn = tx->ppn;

    if (tx->stripe) {
        scarp_parity_programmed(drive, tx);
        return;
    }
    drive->stats.host_page_programs++;
    scarp_block(drive, scarp_ppn_block(drive, ppn))->programmed++;
    while (unit) {
        ScarpUnit *next = unit->next;
        ScarpCmd *cmd = unit->cmd;

        scarp_map_set_version(drive, ppn, unit->seq);
        if (unit->superseded) {
            drive->p2l[ppn] = unit->lpn;
            scarp_store_release(drive, unit->data);
        } else {
            hash_remove(drive, unit);
            scarp_map_commit(drive, unit->lpn, ppn);
            scarp_store_put(drive, ppn, unit->data);
        }
        if (cmd) {
            if (cmd->units_left == 1) {
                explain(drive, cmd, unit, tx);
            }
            unit_release(drive, unit);
            scarp_cmd_put(drive, cmd);
        } else {
            unit_release(drive, unit);
        }
        unit = next;
        ppn++;
    }
    scarp_tx_free(drive, tx);
    scarp_flushes_done(drive);
    scarp_buffer_admit(drive);
}
