/*
 * Multi-plane commands: commands of one kind and one page offset on different
 * planes of a die run together (ONFI 4.2, multi-plane operations).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

/* How far into a queue a mate is looked for. */
#define LOOK_AHEAD 32

static bool fits(const ScarpDrive *drive, const ScarpTx *lead,
                 const ScarpTx *mate)
{
    return mate->kind == lead->kind &&
           drive->scheme.merge->may(drive, lead, mate);
}

static ScarpTx *take_read(ScarpDrive *drive, TxQueue *queue,
                          const ScarpTx *lead)
{
    uint32_t page = scarp_ppn_page(drive, lead->ppn);
    ScarpTx **link = &queue->head;

    for (int i = 0; *link && i < LOOK_AHEAD; i++) {
        ScarpTx *tx = *link;

        if (!fits(drive, lead, tx) || scarp_ppn_page(drive, tx->ppn) != page) {
            link = &tx->next;
            continue;
        }
        scarp_sched_dequeue(drive, queue, link);
        if (tx->origin != SCARP_ORIGIN_HOST) {
            scarp_gc_tx_started(drive, tx);
            return tx;
        }
        scarp_tx_account(drive, tx);
        if (scarp_read_start(drive, tx)) {
            return tx;
        }
        link = &queue->head; /* it was put elsewhere, perhaps here */
    }
    return NULL;
}

static ScarpTx *take_program(ScarpDrive *drive, TxQueue *queue,
                             const ScarpTx *lead, uint32_t p)
{
    uint32_t page = scarp_ppn_page(drive, lead->ppn);
    ScarpTx *tx = queue->head;
    uint16_t stream = tx && tx->units ? tx->units->stream : 0;

    if (!tx || !fits(drive, lead, tx) ||
        (lead->aligned
             ? stream || !scarp_aligned_possible(drive, p) ||
                   scarp_aligned_offset(drive, p) != page
             : !scarp_alloc_possible(drive, p, tx->origin, stream) ||
                   scarp_alloc_offset(drive, p, tx->origin, stream) != page)) {
        return NULL;
    }
    tx->aligned = lead->aligned;
    scarp_sched_dequeue(drive, queue, &queue->head);
    if (tx->origin != SCARP_ORIGIN_HOST) {
        scarp_gc_tx_started(drive, tx);
    } else {
        scarp_tx_account(drive, tx);
        tx->ppn = scarp_alloc_for(drive, tx);
    }
    return tx;
}

static ScarpTx *take_erase(ScarpDrive *drive, TxQueue *queue,
                           const ScarpTx *lead)
{
    ScarpTx *tx = queue->head;

    if (!tx || !fits(drive, lead, tx)) {
        return NULL;
    }
    scarp_sched_dequeue(drive, queue, &queue->head);
    scarp_gc_tx_started(drive, tx);
    return tx;
}

void scarp_sched_join(ScarpDrive *drive, uint32_t die, ScarpTx *lead)
{
    uint32_t n = drive->d.planes_per_die;
    ScarpTx **tail = &lead->mate;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        ScarpPlane *plane = &drive->plane[p];
        ScarpTx *mate = NULL;

        if (p == lead->plane) {
            continue;
        }
        switch (lead->kind) {
        case TX_READ:
            mate = take_read(drive, &plane->gc_queue, lead);
            mate = mate ? mate : take_read(drive, &plane->reads, lead);
            break;
        case TX_PROGRAM:
            mate = take_program(drive, &plane->gc_queue, lead, p);
            mate = mate ? mate : take_program(drive, &plane->programs, lead, p);
            break;
        case TX_ERASE:
            mate = take_erase(drive, &plane->gc_queue, lead);
            break;
        case TX_COPYBACK:
            break;
        }
        if (mate) {
            *tail = mate;
            tail = &mate->mate;
        }
    }
}

static bool same_side(const ScarpDrive *drive G_GNUC_UNUSED,
                      const ScarpTx *lead, const ScarpTx *mate)
{
    return (lead->origin == SCARP_ORIGIN_HOST) ==
           (mate->origin == SCARP_ORIGIN_HOST);
}

const ScarpMergeOps scarp_merge_none = {
    .policy = {
        .axis = AXIS_MERGE,
        .name = "single-plane",
        .help = "every flash command is of one plane",
        .source = "hpdc18 section 2",
    },
};

const ScarpMergeOps scarp_merge_host = {
    .policy = {
        .axis = AXIS_MERGE,
        .name = "multi-plane",
        .needs = NEEDS_PLANES,
        .help = "host commands run together, and so do GC's, not both",
        .source = "ONFI 4.2, multi-plane operations",
    },
    .may = same_side,
};
