/*
 * The check of every invariant of the array, and whether it is at rest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a message into why; its value is false, for the caller to return. */
#define FAIL(why, ...) \
    (snprintf(why, ARRAY_ERROR_BYTES, __VA_ARGS__), false)

static bool check_page(const Array *a, uint32_t set, uint32_t i, char *why)
{
    const Page *p = &a->pages[i];
    uint64_t number = a->numbers[i];
    uint8_t flags = a->flags[i], unclean = PAGE_DIRTY | PAGE_WRITING;

    if (number == NO_NUMBER) {
        return flags || p->flush != NONE ?
                   FAIL(why, "page %" PRIu32 ": empty, but in use", i) : true;
    }
    if (number >= a->n_pages || array_set_of(a, number) != set ||
        array_find(a, set, number) != i) {
        return FAIL(why, "page %" PRIu32 ": number %" PRIu64
                    " twice or in a foreign set", i, number);
    }
    if (!(flags & PAGE_VALID) == !(flags & PAGE_READING) ||
        (flags & PAGE_READING && flags & (unclean | PAGE_FAILED)) ||
        (flags & PAGE_HIGH && flags & PAGE_WRITING) ||
        (flags & PAGE_FAILED && !(flags & unclean)) ||
        (flags & PAGE_HIGH && !(flags & (PAGE_READING | PAGE_DIRTY))) ||
        !(flags & PAGE_WRITING) != !p->io ||
        !(flags & PAGE_ASKED) != (p->flush == NONE)) {
        return FAIL(why, "page %" PRIu32 ": flags %x", i, flags);
    }
    if (p->flush != NONE && (a->entries[p->flush].page != i ||
                             a->entries[p->flush].number != number ||
                             !(flags & PAGE_DIRTY))) {
        return FAIL(why, "page %" PRIu32 ": a foreign flush request", i);
    }
    return true;
}

static bool check_set(const Array *a, uint32_t set, char *why)
{
    const Set *s = &a->sets[set];
    uint32_t first = set_first(a, set), unclean = 0;
    bool moves = false;

    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        uint8_t flags = a->flags[i];

        if (!check_page(a, set, i, why)) {
            return false;
        }
        unclean += !!(flags & (PAGE_DIRTY | PAGE_WRITING));
        moves |= flags & (PAGE_READING | PAGE_HIGH | PAGE_WRITING);
    }
    if (unclean != s->unclean || s->hand < first ||
        s->hand >= first + a->config.set_pages) {
        return FAIL(why, "set %" PRIu32 ": %" PRIu32 " unclean pages, not %"
                    PRIu32 ", or its hand is outside", set, unclean,
                    s->unclean);
    }
    for (uint32_t i = s->waiting_first; i != NONE; i = a->parts[i].next) {
        uint32_t page = array_find(a, set, a->parts[i].number);

        /*
         * A waiting part needs an I/O of its set that is under way. With
         * clean_first its page must be absent, too. Without clean_first another
         * part may have overtaken it and fetched the page; the end of the set's
         * next I/O then serves the waiting part.
         */
        if ((page != NONE && a->flags[page] & PAGE_VALID &&
             a->config.clean_first) || !moves) {
            return FAIL(why, "set %" PRIu32 ": a part waits for nothing", set);
        }
    }
    return true;
}

static bool check_queues(const Array *a, uint32_t drive, uint64_t *low,
                         uint32_t *high, uint32_t *listed, char *why)
{
    const Drive *d = &a->drives[drive];
    uint32_t length = 0;
    uint64_t epoch = 0;

    for (uint32_t i = d->high_first; i != NONE; i = a->pages[i].next) {
        length++;
        if (!(a->flags[i] & PAGE_HIGH) || a->pages[i].drive != drive) {
            return FAIL(why, "drive %" PRIu32 ": a foreign page waits", drive);
        }
    }
    *high += length;
    for (uint32_t i = d->low_first; i != NONE; i = a->entries[i].next) {
        (*low)++;
    }
    for (uint32_t i = d->dirty_first; i != NONE; i = a->pages[i].next) {
        const Page *p = &a->pages[i];

        (*listed)++;
        if (!page_listed(a, i) || p->drive != drive || p->epoch < epoch) {
            return FAIL(why, "drive %" PRIu32 ": dirty pages in a wrong order",
                        drive);
        }
        epoch = p->epoch;
    }
    if (length != d->high_length) {
        return FAIL(why, "drive %" PRIu32 ": the queue's length", drive);
    }
    if ((d->free_slots && (d->high_first != NONE || d->flush_wanted ||
                           d->discard_bytes)) ||
        (d->free_slots > a->config.reserved_slots && d->low_first != NONE)) {
        return FAIL(why, "drive %" PRIu32 ": idle beside work", drive);
    }
    return true;
}

/*
 * Returns the mark that a buffer of the page should have: the page's number
 * plus 1 while the data in the buffer is on no drive, else 0.
 */
static uint64_t mark_of(const Array *a, uint32_t page, uint32_t buffer)
{
    const Page *p = &a->pages[page];
    bool unclean = a->flags[page] & (PAGE_DIRTY | PAGE_WRITING);

    return unclean && p->buffer == buffer ? a->numbers[page] + 1 : 0;
}

static bool check_marks(const Array *a, char *why)
{
    uint64_t marked = 0;

    for (uint32_t i = 0; a->config.marks && i < array_buffers(&a->config); i++) {
        marked += a->config.marks[i] != 0;
    }
    for (uint32_t i = 0; a->config.marks && i < a->n_cached; i++) {
        uint32_t buffer = a->pages[i].buffer;

        if (a->config.marks[buffer] != mark_of(a, i, buffer)) {
            return FAIL(why, "page %" PRIu32 ": a wrong mark", i);
        }
        marked -= a->config.marks[buffer] != 0;
    }
    return marked ? FAIL(why, "a mark of no page") : true;
}

/*
 * Checks that each buffer has one owner. Adds the number of low-priority I/Os
 * that are under way to *low.
 */
static bool check_buffers(const Array *a, uint64_t *low, char *why)
{
    uint32_t n = array_buffers(&a->config);
    uint8_t *owners = calloc(n, 1);
    bool good = owners != NULL;

    for (uint32_t i = 0; good && i < a->n_cached; i++) {
        const Page *p = &a->pages[i];

        owners[p->buffer]++;
        if (p->io) {
            const ArrayIo *io = page_io(a, p);

            owners[io->buffer] += io->buffer != p->buffer;
            *low += io->low;
            good &= io->page == i;
        }
    }
    for (uint32_t i = 0; good && i < a->n_spares; i++) {
        owners[a->spares[i]]++;
    }
    for (uint32_t i = 0; good && i < n; i++) {
        good = owners[i] == 1;
    }
    free(owners);
    return good ? true : FAIL(why, "a buffer without an owner, or with two");
}

static uint64_t owed_to(const Array *a, uint64_t epoch)
{
    uint64_t owed = 0;

    for (uint32_t i = 0; i < a->n_cached; i++) {
        const Page *p = &a->pages[i];

        owed += a->flags[i] & PAGE_DIRTY && p->epoch == epoch;
        owed += p->io && page_io(a, p)->epoch == epoch;
    }
    return owed;
}

bool array_check(const Array *a, char *why)
{
    uint64_t low = 0, owed = 0, sum = a->open;
    uint32_t high = 0, listed = 0, in_fifo = 0, fifo = 0;

    for (uint32_t i = 0; i < a->n_sets; i++) {
        in_fifo += a->sets[i].in_fifo;
        if (!check_set(a, i, why)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < a->config.n_drives; i++) {
        if (!check_queues(a, i, &low, &high, &listed, why)) {
            return false;
        }
    }
    if (!check_marks(a, why) || !check_buffers(a, &low, why)) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_cached; i++) {
        const Page *p = &a->pages[i];

        high -= !!(a->flags[i] & PAGE_HIGH);
        listed -= page_listed(a, i);
        owed += !!(a->flags[i] & PAGE_DIRTY) + !!p->io;
    }
    for (uint32_t i = a->fifo_first; i != NONE; i = a->sets[i].fifo_next) {
        fifo++;
    }
    if (high || listed || fifo != in_fifo || low != a->flushes_pending ||
        low > a->flushes_max) {
        return FAIL(why, "a queue and its members differ");
    }
    for (const ArrayRequest *r = a->barrier_first; r; r = r->next) {
        sum += r->owed;
        if (r->owed != owed_to(a, r->epoch)) {
            return FAIL(why, "epoch %" PRIu64 " is owed %" PRIu64 ", not %"
                        PRIu64, r->epoch, owed_to(a, r->epoch), r->owed);
        }
    }
    return owed == sum ? true : FAIL(why, "%" PRIu64 " debts, not %" PRIu64,
                                     owed, sum);
}

bool array_quiet(const Array *a, char *why)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < a->config.n_drives; i++) {
        used += a->config.slots - a->drives[i].free_slots;
    }
    if (!a->outstanding && !used && !a->flushes_pending) {
        return true;
    }
    return FAIL(why, "outstanding: %" PRIu64 " requests, %" PRIu32
                " I/O on drives, %" PRIu64 " flush requests", a->outstanding,
                used, a->flushes_pending);
}
