/*
 * Die scheduler: reads before programs, oldest first in a class; where GC
 * stands is the pacing policy's choice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

ScarpTx *scarp_sched_dequeue(ScarpDrive *drive, TxQueue *queue, ScarpTx **link)
{
    ScarpTx *tx = *link;
    ScarpDie *die = &drive->die[scarp_plane_die(drive, tx->plane)];
    ScarpPlane *plane = &drive->plane[tx->plane];

    *link = tx->next;
    if (!*link) {
        queue->tail = link;
    }
    *(queue == &plane->reads      ? &die->n_reads
      : queue == &plane->programs ? &die->n_programs
                                  : &die->n_gc) -= 1;
    tx->next = NULL;
    return tx;
}

typedef struct {
    uint32_t first, last; /* planes of the die */
} Planes;

static Planes planes_of(const ScarpDrive *drive, uint32_t die)
{
    uint32_t n = drive->d.planes_per_die;

    return (Planes) { die * n, die * n + n };
}

static bool allowed(PickFilter filter, const ScarpTx *tx)
{
    return filter == PICK_ANY ||
           (filter == PICK_READ ? tx->kind == TX_READ
                                : tx->kind == TX_PROGRAM);
}

static ScarpTx *pick_read(ScarpDrive *drive, uint32_t die)
{
    Planes planes = planes_of(drive, die);

    while (drive->die[die].n_reads) {
        TxQueue *best = NULL;
        ScarpTx *tx;

        for (uint32_t p = planes.first; p < planes.last; p++) {
            TxQueue *queue = &drive->plane[p].reads;

            if (queue->head && (!best || queue->head->seq < best->head->seq)) {
                best = queue;
            }
        }
        tx = scarp_sched_dequeue(drive, best, &best->head);
        scarp_tx_account(drive, tx);
        /* False: its page moved or vanished while it waited. */
        if (scarp_read_start(drive, tx)) {
            return tx;
        }
    }
    return NULL;
}

static ScarpTx *pick_program(ScarpDrive *drive, uint32_t die)
{
    Planes planes = planes_of(drive, die);
    TxQueue *best = NULL;
    ScarpTx *tx;

    for (uint32_t p = planes.first; p < planes.last; p++) {
        TxQueue *queue = &drive->plane[p].programs;

        if (queue->head && (!best || queue->head->seq < best->head->seq) &&
            scarp_alloc_possible(drive, p, SCARP_ORIGIN_HOST,
                                 queue->head->units->stream)) {
            best = queue;
        }
    }
    if (!best) {
        return NULL;
    }
    tx = scarp_sched_dequeue(drive, best, &best->head);
    scarp_tx_account(drive, tx);
    tx->aligned = drive->scheme.merge->aligned &&
                  drive->scheme.merge->aligned(drive, tx);
    tx->ppn = scarp_alloc_for(drive, tx);
    return tx;
}

static ScarpTx *pick_gc(ScarpDrive *drive, uint32_t die, PickFilter filter)
{
    Planes planes = planes_of(drive, die);
    TxQueue *best = NULL;

    for (uint32_t p = planes.first; p < planes.last; p++) {
        TxQueue *queue = &drive->plane[p].gc_queue;

        if (queue->head && (!best || queue->head->seq < best->head->seq) &&
            ((queue->head->kind != TX_PROGRAM &&
              queue->head->kind != TX_COPYBACK) ||
             scarp_alloc_possible(drive, p, SCARP_ORIGIN_GC, 0))) {
            best = queue;
        }
    }
    if (!best || !allowed(filter, best->head)) {
        return NULL;
    }
    return scarp_sched_dequeue(drive, best, &best->head);
}

ScarpTx *scarp_sched_pick(ScarpDrive *drive, uint32_t index, PickFilter filter)
{
    ScarpDie *die = &drive->die[index];
    ScarpTurn turn;
    ScarpTx *tx;

    if (die->suspended) {
        return pick_read(drive, index);
    }
    if (filter == PICK_ANY) {
        drive->scheme.pacing->check(drive, index);
    }
    turn = die->gc_jobs || die->n_gc ? drive->scheme.pacing->turn(drive, index)
                                     : TURN_HOST;
    if (turn == TURN_HELD && !die->gc_jobs) {
        turn = TURN_GC; /* another die's collection programs here */
    }
    if (turn != TURN_HOST && die->n_gc) {
        tx = pick_gc(drive, index, filter);
        if (tx || filter != PICK_ANY) {
            return tx;
        }
    }
    if (turn == TURN_HELD) {
        return NULL;
    }
    if (die->n_reads) {
        if (filter == PICK_PROGRAM) {
            return NULL; /* its turn comes first */
        }
        tx = pick_read(drive, index);
        if (tx) {
            return tx;
        }
    }
    if (die->n_programs && filter != PICK_READ) {
        tx = pick_program(drive, index);
        if (tx) {
            return tx;
        }
    }
    if (die->n_gc && turn == TURN_HOST) {
        return pick_gc(drive, index, filter);
    }
    if (filter == PICK_ANY && !die->gc_jobs) {
        drive->scheme.ahead->idle(drive, index);
    }
    return NULL;
}
