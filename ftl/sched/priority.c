/*
 * Die scheduler: GC before reads before programs, oldest first in a class.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static ScarpTx *dequeue(TxQueue *queue)
{
    ScarpTx *tx = queue->head;

    queue->head = tx->next;
    if (!queue->head) {
        queue->tail = &queue->head;
    }
    return tx;
}

static ScarpTx *pick_read(ScarpDrive *drive, uint32_t first, uint32_t last)
{
    for (;;) {
        TxQueue *best = NULL;
        ScarpTx *tx;

        for (uint32_t p = first; p < last; p++) {
            TxQueue *queue = &drive->plane[p].reads;

            if (queue->head && (!best || queue->head->seq < best->head->seq)) {
                best = queue;
            }
        }
        if (!best) {
            return NULL;
        }
        tx = dequeue(best);
        /* False: its page moved or vanished while it waited. */
        if (scarp_host_read_start(drive, tx)) {
            return tx;
        }
    }
}

static ScarpTx *pick_program(ScarpDrive *drive, uint32_t first, uint32_t last)
{
    TxQueue *best = NULL;
    ScarpTx *tx;

    for (uint32_t p = first; p < last; p++) {
        TxQueue *queue = &drive->plane[p].programs;

        if (queue->head && (!best || queue->head->seq < best->head->seq) &&
            scarp_alloc_possible(drive, &drive->plane[p], SCARP_ORIGIN_HOST)) {
            best = queue;
        }
    }
    if (!best) {
        return NULL;
    }
    tx = dequeue(best);
    tx->ppn = scarp_alloc_page(drive, tx->plane, SCARP_ORIGIN_HOST, tx->stream);
    return tx;
}

ScarpTx *scarp_sched_pick(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->die[index];
    uint32_t first = index * drive->d.planes_per_die;
    uint32_t last = first + drive->d.planes_per_die;
    ScarpTx *tx;

    if (die->holder == SCARP_NONE) {
        for (uint32_t p = first; p < last; p++) {
            scarp_gc_check(drive, p);
        }
    }
    if (die->holder != SCARP_NONE) {
        ScarpGc *gc = &drive->plane[die->holder].gc;

        if (!gc->ready) {
            return NULL;
        }
        gc->ready = false;
        return &gc->tx;
    }
    tx = pick_read(drive, first, last);
    return tx ? tx : pick_program(drive, first, last);
}
