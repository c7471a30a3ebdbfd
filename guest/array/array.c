/*
 * Serves the application's requests: divides each one into parts, one for each
 * page of the array, hands the parts to the page cache, and returns the request
 * when all parts are served.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making an array --------------------------------------------------- */

#define PARTS_A_DRIVE 1024

static bool allocate(Array *a)
{
    uint64_t drives = a->config.n_drives, slots = a->config.slots;

    a->numbers = malloc(a->n_cached * sizeof(*a->numbers));
    a->flags = calloc(a->n_cached, sizeof(*a->flags));
    a->hits = calloc(a->n_cached, sizeof(*a->hits));
    a->pages = calloc(a->n_cached, sizeof(*a->pages));
    a->sets = calloc(a->n_sets, sizeof(*a->sets));
    a->spares = calloc(array_buffers(&a->config) - a->n_cached,
                       sizeof(*a->spares));
    a->drives = calloc(drives, sizeof(*a->drives));
    a->kicks = calloc(drives, sizeof(*a->kicks));
    a->entries = calloc(a->flushes_max, sizeof(*a->entries));
    a->parts = calloc(a->n_parts, sizeof(*a->parts));
    if (!a->numbers || !a->flags || !a->hits || !a->pages || !a->sets ||
        !a->spares || !a->drives || !a->kicks || !a->entries || !a->parts) {
        return false;
    }
    for (uint32_t i = 0; i < drives; i++) {
        a->drives[i].slot_stack = calloc(slots, sizeof(uint32_t));
        a->drives[i].ios = calloc(slots, sizeof(ArrayIo));
        if (!a->drives[i].slot_stack || !a->drives[i].ios) {
            return false;
        }
    }
    return true;
}

static void make_drive(Array *a, uint32_t drive)
{
    Drive *d = &a->drives[drive];
    uint32_t slots = a->config.slots;

    d->high_first = d->low_first = d->dirty_first = d->dirty_last = NONE;
    d->free_slots = slots;
    for (uint32_t i = 0; i < slots; i++) {
        d->slot_stack[i] = slots - 1 - i; /* the stack's top is slot 0 */
        d->ios[i].drive = drive;
        d->ios[i].slot = i;
    }
}

Array *array_new(const ArrayConfig *config, const ArrayOps *ops, void *opaque,
                 char *error)
{
    Array *a;

    if (!array_config_check(config, error)) {
        return NULL;
    }
    a = calloc(1, sizeof(*a));
    if (!a) {
        snprintf(error, ARRAY_ERROR_BYTES, "no memory for the array");
        return NULL;
    }
    a->config = *config;
    a->config.drive_bytes = NULL;
    a->ops = *ops;
    a->opaque = opaque;
    a->stripe_pages = config->stripe_bytes / config->page_bytes;
    a->n_pages = (config->drive_bytes[0] - config->data_offset_bytes) /
                 config->page_bytes * config->n_drives;
    a->n_cached = array_cached_pages(config);
    a->n_sets = a->n_cached / config->set_pages;
    a->flushes_max = config->max_flushes * config->n_drives;
    a->n_parts = PARTS_A_DRIVE * config->n_drives;
    a->epoch = 1;
    a->fifo_first = NONE;
    if (!allocate(a)) {
        array_free(a);
        snprintf(error, ARRAY_ERROR_BYTES, "cache_bytes: no memory for it");
        return NULL;
    }
    for (uint32_t i = 0; i < a->n_cached; i++) {
        a->numbers[i] = NO_NUMBER;
        a->pages[i].buffer = i;
        a->pages[i].flush = NONE;
    }
    for (uint32_t i = 0; i < a->n_sets; i++) {
        a->sets[i].hand = set_first(a, i);
        a->sets[i].waiting_first = a->sets[i].waiting_last = NONE;
    }
    for (uint32_t i = 0; i < config->n_drives; i++) {
        make_drive(a, i);
    }
    for (uint32_t i = a->n_cached; i < array_buffers(config); i++) {
        a->spares[a->n_spares++] = i;
    }
    for (uint32_t i = 0; i < a->flushes_max; i++) {
        a->entries[i].next = i + 1 < a->flushes_max ? i + 1 : NONE;
    }
    for (uint32_t i = 0; i < a->n_parts; i++) {
        a->parts[i].next = i + 1 < a->n_parts ? i + 1 : NONE;
    }
    return a;
}

void array_free(Array *a)
{
    if (!a) {
        return;
    }
    for (uint32_t i = 0; a->drives && i < a->config.n_drives; i++) {
        free(a->drives[i].slot_stack);
        free(a->drives[i].ios);
    }
    free(a->numbers);
    free(a->flags);
    free(a->hits);
    free(a->pages);
    free(a->sets);
    free(a->spares);
    free(a->drives);
    free(a->kicks);
    free(a->entries);
    free(a->parts);
    free(a);
}

uint64_t array_bytes(const Array *a)
{
    return a->n_pages * a->config.page_bytes;
}

/* ---- Requests ---------------------------------------------------------- */

static void append(ArrayRequest **first, ArrayRequest **last, ArrayRequest *r)
{
    r->next = NULL;
    *(*first ? &(*last)->next : first) = r;
    *last = r;
}

void array_request_end(Array *a, ArrayRequest *request)
{
    append(&a->done_first, &a->done_last, request);
}

/*
 * Called when the cache has served all pages of a request. A write with FUA
 * then goes on as a flush.
 */
static void request_served(Array *a, ArrayRequest *r)
{
    if (r->op == ARRAY_OP_WRITE && r->fua && !r->error) {
        array_barrier_submit(a, r);
    } else {
        array_request_end(a, r);
    }
}

void array_part_end(Array *a, uint32_t part, int error)
{
    ArrayRequest *r = a->parts[part].request;

    a->parts[part].next = a->part_free;
    a->part_free = part;
    if (error) {
        r->error = error;
    }
    if (!--r->parts) {
        request_served(a, r);
    }
}

/*
 * Hands the parts of a request to the cache. A part that has to wait needs a
 * Part record. If none is free, returns false, and the rest of the request
 * waits in the backlog.
 */
static bool request_run(Array *a, ArrayRequest *r)
{
    while (r->cursor < r->length_bytes) {
        uint64_t at = r->offset_bytes + r->cursor;
        Part part = {
            .request = r,
            .number = at / a->config.page_bytes,
            .at = r->cursor,
            .from = at % a->config.page_bytes,
        };
        uint64_t left = r->length_bytes - r->cursor;
        uint64_t room = a->config.page_bytes - part.from;

        if (a->part_free == NONE) {
            return false;
        }
        part.length = left < room ? left : room;
        r->cursor += part.length;
        if (!array_part_run(a, &part, true)) {
            uint32_t index = a->part_free;

            a->part_free = a->parts[index].next;
            a->parts[index] = part;
            r->parts++;
            array_part_wait(a, index);
        }
    }
    if (!--r->parts) {
        request_served(a, r);
    }
    return true;
}

/* ---- The order of events ----------------------------------------------- */

static void backlog_run(Array *a)
{
    while (a->backlog_first && a->part_free != NONE) {
        ArrayRequest *r = a->backlog_first, *next = r->next;

        if (!request_run(a, r)) {
            return;
        }
        a->backlog_first = next;
    }
}

static void settle(Array *a)
{
    do {
        while (a->n_kicks) {
            uint32_t drive = a->kicks[--a->n_kicks];

            a->drives[drive].kicked = false;
            array_drive_run(a, drive);
        }
        array_flusher_run(a);
        array_barrier_run(a);
        array_discard_run(a);
        backlog_run(a);
    } while (a->n_kicks);
    while (a->done_first) {
        ArrayRequest *r = a->done_first;

        a->done_first = r->next;
        a->outstanding--;
        a->ops.done(a->opaque, r);
    }
    a->inside = false;
}

static void enter(Array *a)
{
    assert(!a->inside); /* ArrayOps' functions must not call the array */
    a->inside = true;
}

void array_submit(Array *a, ArrayRequest *r)
{
    enter(a);
    a->outstanding++;
    r->error = 0;
    r->cursor = 0;
    r->parts = 1;
    if (r->op == ARRAY_OP_FLUSH) {
        array_barrier_submit(a, r);
    } else if (r->offset_bytes > array_bytes(a) ||
               r->length_bytes > array_bytes(a) - r->offset_bytes) {
        r->error = EINVAL;
        array_request_end(a, r);
    } else if (r->op == ARRAY_OP_DISCARD) {
        array_discard_submit(a, r);
    } else if (a->backlog_first || !request_run(a, r)) {
        append(&a->backlog_first, &a->backlog_last, r);
    }
    settle(a);
}

void array_io_done(Array *a, ArrayIo *io, int error)
{
    Drive *d = &a->drives[io->drive];

    if (io->page != NONE) {
        __builtin_prefetch(&a->pages[io->page]);
        set_fetch(a, set_of_page(a, io->page));
    }
    enter(a);
    d->slot_stack[d->free_slots++] = io->slot;
    array_drive_kick(a, io->drive);
    switch (io->op) {
    case ARRAY_IO_READ:
        array_read_done(a, io->page, error);
        break;
    case ARRAY_IO_WRITE:
        array_write_done(a, io, error);
        break;
    case ARRAY_IO_FLUSH:
        array_drive_flushed(a, io->drive, error);
        break;
    case ARRAY_IO_DISCARD:
        array_drive_discarded(a, io->drive, error);
        break;
    }
    settle(a);
}

/* ---- Statistics -------------------------------------------------------- */

const ArrayStats *array_stats(const Array *a)
{
    return &a->stats;
}

void array_stats_reset(Array *a)
{
    memset(&a->stats, 0, sizeof(a->stats));
}

uint64_t array_pending_flushes(const Array *a)
{
    return a->flushes_pending;
}

uint64_t array_dirty_pages(const Array *a)
{
    uint64_t pages = 0;

    for (uint32_t i = 0; i < a->n_sets; i++) {
        pages += a->sets[i].unclean;
    }
    return pages;
}

uint64_t array_failed_pages(const Array *a)
{
    uint64_t pages = 0;

    for (uint32_t i = 0; i < a->n_cached; i++) {
        pages += !!(a->flags[i] & PAGE_FAILED);
    }
    return pages;
}
