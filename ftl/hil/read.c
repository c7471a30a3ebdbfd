/*
 * Host reads: from the write buffer, from flash, or of nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

/* The part of cmd that lies in unit lpn; data NULL: zeroes. */
static void copy_out(const ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                     const void *data)
{
    uint64_t start = (uint64_t)lpn * drive->unit_bytes;
    uint64_t from = MAX(start, cmd->offset_bytes);
    uint64_t to = MIN(start + drive->unit_bytes,
                      cmd->offset_bytes + cmd->length_bytes);
    char *out = cmd->data;

    if (!out) {
        return;
    }
    if (data) {
        memcpy(out + (from - cmd->offset_bytes),
               (const char *)data + (from - start), to - from);
    } else {
        memset(out + (from - cmd->offset_bytes), 0, to - from);
    }
}

static uint32_t bytes_in_unit(const ScarpDrive *drive, const ScarpCmd *cmd,
                              uint32_t lpn)
{
    uint64_t start = (uint64_t)lpn * drive->unit_bytes;

    return MIN(start + drive->unit_bytes,
               cmd->offset_bytes + cmd->length_bytes) -
           MAX(start, cmd->offset_bytes);
}

static ScarpTx *read_new(ScarpDrive *drive, uint32_t lpn)
{
    ScarpTx *tx = scarp_tx_new(drive, TX_READ, SCARP_ORIGIN_HOST);

    tx->lpn = lpn;
    tx->ppn = drive->l2p[lpn];
    tx->plane = scarp_ppn_plane(drive, tx->ppn);
    tx->n_units = 1;
    return tx;
}

/* For the host: parity may serve it without its die. */
static void enqueue(ScarpDrive *drive, ScarpTx *tx)
{
    if (!drive->scheme.redundancy->serve ||
        !drive->scheme.redundancy->serve(drive, tx)) {
        scarp_tx_enqueue(drive, tx);
    }
}

void scarp_read_for_rmw(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpTx *tx = read_new(drive, unit->lpn);

    tx->rmw = unit;
    tx->bytes = drive->unit_bytes;
    enqueue(drive, tx);
}

void scarp_read_for_stripe(ScarpDrive *drive, struct ScarpStripe *stripe,
                           uint32_t lpn, uint32_t bytes)
{
    ScarpTx *tx = read_new(drive, lpn);

    tx->stripe = stripe;
    tx->bytes = bytes;
    scarp_tx_enqueue(drive, tx);
}

/* Units that lie one after the other, in one page, are one flash read. */
static bool extend(const ScarpDrive *drive, const ScarpTx *tx, uint32_t ppn)
{
    return tx && ppn == tx->ppn + tx->n_units && ppn & (drive->units_per_page - 1);
}

void scarp_read_split(ScarpDrive *drive, ScarpCmd *cmd)
{
    uint32_t first = scarp_bytes_lpn(drive, cmd->offset_bytes);
    uint32_t last = scarp_bytes_lpn(drive, cmd->offset_bytes +
                                               cmd->length_bytes - 1);
    ScarpTx *tx = NULL;

    for (uint32_t lpn = first; cmd->length_bytes && lpn <= last; lpn++) {
        const ScarpUnit *unit = scarp_buffer_find(drive, lpn);
        uint32_t ppn = drive->l2p[lpn];

        if (unit && !unit->rmw) {
            drive->stats.buffer_read_units++;
            copy_out(drive, cmd, lpn, unit->data);
        } else if (ppn == SCARP_NONE) {
            drive->stats.unmapped_read_units++;
            copy_out(drive, cmd, lpn, NULL);
        } else if (extend(drive, tx, ppn) && tx->lpn + tx->n_units == lpn) {
            tx->n_units++;
            tx->bytes += bytes_in_unit(drive, cmd, lpn);
        } else {
            if (tx) {
                enqueue(drive, tx);
            }
            tx = read_new(drive, lpn);
            tx->cmd = cmd;
            tx->bytes = bytes_in_unit(drive, cmd, lpn);
            cmd->units_left++;
        }
    }
    if (tx) {
        enqueue(drive, tx);
    }
}

static void end_for_cmd(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpCmd *cmd = tx->cmd;

    /* The explanation of a command is that of the part that ended last. */
    if (cmd->units_left == 1) {
        scarp_tx_explain(tx, cmd);
        cmd->mark_ns = drive->now_ns;
    }
    scarp_tx_free(drive, tx);
    scarp_cmd_put(drive, cmd);
}

static void end_for_rmw(ScarpDrive *drive, ScarpTx *tx)
{
    void *base = tx->sensed;

    scarp_buffer_ready(drive, tx->rmw, base);
    scarp_store_release(drive, base);
    scarp_tx_free(drive, tx);
    scarp_buffer_admit(drive);
}

/*
 * What the cells hold is sensed when the command starts: GC and newer writes
 * may move it before the data has crossed the channel.
 */
static void sense(ScarpDrive *drive, ScarpTx *tx, uint32_t lpn,
                  const void *data)
{
    if (tx->cmd) {
        copy_out(drive, tx->cmd, lpn, data);
    } else if (data) {
        tx->sensed = scarp_store_new(drive);
        memcpy(tx->sensed, data, drive->unit_bytes);
    }
}

static void end(ScarpDrive *drive, ScarpTx *tx)
{
    if (tx->cmd) {
        end_for_cmd(drive, tx);
    } else if (tx->rmw) {
        end_for_rmw(drive, tx);
    } else {
        scarp_parity_read_done(drive, tx);
    }
}

void scarp_read_serve(ScarpDrive *drive, ScarpTx *tx, const void *data)
{
    sense(drive, tx, tx->lpn, data);
    end(drive, tx);
}

/* One unit of a read whose page changed while it waited. */
void scarp_read_again(ScarpDrive *drive, ScarpTx *tx)
{
    const ScarpUnit *unit = tx->cmd ? scarp_buffer_find(drive, tx->lpn) : NULL;
    uint32_t ppn = drive->l2p[tx->lpn];

    if (unit && !unit->rmw) {
        drive->stats.buffer_read_units++;
        scarp_read_serve(drive, tx, unit->data);
    } else if (ppn != SCARP_NONE) {
        tx->ppn = ppn;
        tx->plane = scarp_ppn_plane(drive, ppn);
        scarp_tx_enqueue(drive, tx);
    } else {
        drive->stats.unmapped_read_units += !tx->stripe;
        scarp_read_serve(drive, tx, NULL);
    }
}

static void split_again(ScarpDrive *drive, ScarpTx *tx)
{
    for (uint32_t i = 0; i + 1 < tx->n_units; i++) {
        ScarpTx *part = scarp_tx_new(drive, TX_READ, SCARP_ORIGIN_HOST);
        uint64_t seq = part->seq;

        *part = *tx;
        part->seq = seq;
        part->next = part->mate = NULL;
        part->lpn = tx->lpn + i;
        part->n_units = 1;
        part->bytes = bytes_in_unit(drive, tx->cmd, part->lpn);
        tx->cmd->units_left++;
        scarp_read_again(drive, part);
    }
    tx->lpn += tx->n_units - 1;
    tx->n_units = 1;
    if (tx->cmd) {
        tx->bytes = bytes_in_unit(drive, tx->cmd, tx->lpn);
    }
    scarp_read_again(drive, tx);
}

bool scarp_read_start(ScarpDrive *drive, ScarpTx *tx)
{
    for (uint32_t i = 0; i < tx->n_units; i++) {
        if (drive->l2p[tx->lpn + i] != tx->ppn + i) {
            split_again(drive, tx);
            return false;
        }
    }
    /* Compared when the data has crossed; the table is far away by then. */
    __builtin_prefetch(&drive->p2l[tx->ppn]);
    for (uint32_t i = 0; i < tx->n_units; i++) {
        sense(drive, tx, tx->lpn + i,
              drive->store_data ? scarp_store_get(drive, tx->ppn + i) : NULL);
    }
    return true;
}

void scarp_read_done(ScarpDrive *drive, ScarpTx *tx)
{
    if (!tx->stripe) {
        drive->stats.host_page_reads++;
    } else if (scarp_parity_parent(tx)) {
        drive->stats.reconstruction_page_reads++;
    } else {
        drive->stats.parity_page_reads++;
    }
    /* The block is not erased before: an erase waits for its die. */
    for (uint32_t i = 0; i < tx->n_units; i++) {
        scarp_check_oob(drive, tx->ppn + i, tx->lpn + i);
    }
    end(drive, tx);
}
