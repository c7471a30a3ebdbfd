/*
 * Pools of transactions and units, and of nothing else: they grow to what was
 * in flight at once and are freed with the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#define CHUNK 256

ScarpTx *scarp_tx_new(ScarpDrive *drive, TxKind kind, ScarpOrigin origin)
{
    ScarpTx *tx = drive->free_tx;

    if (!tx) {
        ScarpTx *chunk = scarp_table_new(CHUNK * sizeof(ScarpTx));

        g_assert(chunk);
        memset(chunk, 0, CHUNK * sizeof(ScarpTx));
        g_ptr_array_add(drive->tx_chunks, chunk);
        for (int i = 0; i < CHUNK; i++) {
            chunk[i].next = drive->free_tx;
            drive->free_tx = &chunk[i];
        }
        tx = drive->free_tx;
    }
    drive->free_tx = tx->next;
    scarp_clear(tx, offsetof(ScarpTx, waited_ns));
    if (origin == SCARP_ORIGIN_HOST) {
        /* Nobody asks what GC's commands waited for. */
        scarp_clear(tx->waited_ns, sizeof(tx->waited_ns));
    }
    tx->kind = kind;
    tx->origin = origin;
    tx->seq = drive->next_seq++;
    return tx;
}

void scarp_tx_free(ScarpDrive *drive, ScarpTx *tx)
{
    tx->next = drive->free_tx;
    drive->free_tx = tx;
}

ScarpUnit *scarp_unit_new(ScarpDrive *drive, uint32_t lpn)
{
    ScarpUnit *unit = drive->free_unit;

    if (!unit) {
        ScarpUnit *chunk = g_new0(ScarpUnit, CHUNK);

        g_ptr_array_add(drive->chunks, chunk);
        for (int i = 0; i < CHUNK; i++) {
            chunk[i].next = drive->free_unit;
            drive->free_unit = &chunk[i];
        }
        unit = drive->free_unit;
    }
    drive->free_unit = unit->next;
    scarp_clear(unit, sizeof(*unit));
    unit->lpn = lpn;
    return unit;
}

void scarp_unit_free(ScarpDrive *drive, ScarpUnit *unit)
{
    unit->next = drive->free_unit;
    drive->free_unit = unit;
}
