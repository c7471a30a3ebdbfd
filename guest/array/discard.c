/*
 * Discards: whole pages leave the cache, and each drive is told which of its
 * bytes are of no use. One range of the array is one range on each drive.
 *
 * Discards are rare, so they run one at a time, in their order. A page stays in
 * the cache if it is being read or written, or is in the high-priority queue.
 * Its write may reach the drive before or after the discard; both are right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void array_discard_submit(Array *a, ArrayRequest *request)
{
    request->next = NULL;
    if (a->discard_first) {
        a->discard_last->next = request;
    } else {
        a->discard_first = request;
    }
    a->discard_last = request;
}

static void forget(Array *a, uint32_t page)
{
    uint32_t set = set_of_page(a, page);

    if (!(a->flags[page] & (PAGE_READING | PAGE_HIGH | PAGE_WRITING))) {
        array_page_forget(a, page);
        array_set_run(a, set);
    }
}

/*
 * Forgets the pages first to end - 1. Searches the cache or the range,
 * whichever has fewer pages.
 */
static void forget_range(Array *a, uint64_t first, uint64_t end)
{
    if (end - first > a->n_cached) {
        for (uint32_t i = 0; i < a->n_cached; i++) {
            if (a->numbers[i] >= first && a->numbers[i] < end) {
                forget(a, i);
            }
        }
        return;
    }
    for (uint64_t number = first; number < end; number++) {
        uint32_t page = array_find(a, array_set_of(a, number), number);

        if (page != NONE) {
            forget(a, page);
        }
    }
}

static void end_first(Array *a)
{
    ArrayRequest *r = a->discard_first;

    a->discard_first = r->next;
    array_request_end(a, r);
}

static void start(Array *a, ArrayRequest *r)
{
    uint64_t page_bytes = a->config.page_bytes;
    uint64_t first = (r->offset_bytes + page_bytes - 1) / page_bytes;
    uint64_t end = (r->offset_bytes + r->length_bytes) / page_bytes;

    if (first < end) {
        forget_range(a, first, end);
    }
    for (uint32_t i = 0; first < end && i < a->config.n_drives; i++) {
        uint64_t begin = array_map_before(a, first, i);
        uint64_t pages = array_map_before(a, end, i) - begin;
        Drive *d = &a->drives[i];

        if (pages) {
            d->discard_at = a->config.data_offset_bytes + begin * page_bytes;
            d->discard_bytes = pages * page_bytes;
            a->discards_owed++;
            array_drive_kick(a, i);
        }
    }
    if (!a->discards_owed) {
        end_first(a);
    }
}

void array_discard_run(Array *a)
{
    while (a->discard_first && !a->discards_owed) {
        start(a, a->discard_first);
    }
}

void array_drive_discarded(Array *a, uint32_t drive, int error)
{
    if (error) {
        a->discard_first->error = error;
    } else {
        a->drives[drive].unflushed = true;
    }
    if (!--a->discards_owed) {
        end_first(a);
    }
}
