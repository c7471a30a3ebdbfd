/*
 * Barriers (section 3.4): a flush ends when all acknowledged data is on the
 * drives, and the drives have flushed their own caches.
 *
 * A flush closes an epoch; data that is written later belongs to the next one.
 * Each dirty page has the epoch of its oldest unwritten data. A flush counts
 * the dirty pages of its epoch, and waits until the count is 0. Flushes end in
 * their order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#include <errno.h>

void array_barrier_submit(Array *a, ArrayRequest *request)
{
    request->epoch = a->epoch++;
    request->owed = a->open;
    request->next = NULL;
    a->open = 0;
    if (a->barrier_first) {
        a->barrier_last->next = request;
    } else {
        a->barrier_first = request;
    }
    a->barrier_last = request;
    for (uint32_t i = 0; i < a->config.n_drives; i++) {
        array_drive_kick(a, i);
    }
}

void array_epoch_paid(Array *a, uint64_t epoch)
{
    for (ArrayRequest *r = a->barrier_first; r; r = r->next) {
        if (r->epoch == epoch) {
            r->owed--;
            return;
        }
    }
    a->open--;
}

void array_barrier_fail(Array *a, uint64_t epoch)
{
    for (ArrayRequest *r = a->barrier_first; r; r = r->next) {
        if (r->epoch >= epoch) {
            r->error = EIO;
        }
    }
}

uint64_t array_barrier_epoch(const Array *a)
{
    return a->barrier_first ? a->barrier_last->epoch : 0;
}

/*
 * Called when all drives have flushed their caches: ends the flush requests in
 * front of the queue, up to a->settling.
 */
static void settled(Array *a)
{
    ArrayRequest *last = a->settling, *r;
    bool lost = false;

    for (uint32_t i = 0; i < a->config.n_drives; i++) {
        lost |= a->drives[i].lost;
    }
    a->settling = NULL;
    do {
        r = a->barrier_first;
        a->barrier_first = r->next;
        if (lost) {
            r->error = EIO;
        }
        array_request_end(a, r);
    } while (r != last);
}

void array_barrier_run(Array *a)
{
    while (!a->settling) {
        for (ArrayRequest *r = a->barrier_first; r && !r->owed; r = r->next) {
            a->settling = r;
        }
        if (!a->settling) {
            return;
        }
        for (uint32_t i = 0; i < a->config.n_drives; i++) {
            Drive *d = &a->drives[i];

            if (d->unflushed) {
                d->flush_wanted = true;
                d->flush_tries = 0;
                a->drives_owed++;
                array_drive_kick(a, i);
            }
        }
        if (!a->drives_owed) {
            settled(a);
        }
    }
}

void array_drive_flushed(Array *a, uint32_t drive, int error)
{
    Drive *d = &a->drives[drive];

    if (error) {
        d->unflushed = true;
        if (d->flush_tries++ < a->config.retries) {
            d->flush_wanted = true;
            array_drive_kick(a, drive);
            return;
        }
        /*
         * The drive's flush has failed for good, so the data that it has
         * acknowledged may be lost.
         */
        d->lost = true;
    }
    if (!--a->drives_owed) {
        settled(a);
    }
}
