/*
 * Dirty pages, from the change that makes a page dirty to the end of the I/O
 * that writes it.
 *
 * Dirty pages that no write carries yet are in their drive's dirty list, in the
 * order of epochs. So the pages that a flush waits for are at the heads of
 * these lists.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

/* ---- The lists --------------------------------------------------------- */

/*
 * Returns the link to the page that follows `page` in the dirty list; page
 * NONE: the link to the first page.
 */
static uint32_t *link_after(Array *a, Drive *d, uint32_t page)
{
    return page == NONE ? &d->dirty_first : &a->pages[page].next;
}

/*
 * Returns the link to the page that precedes `page` in the dirty list; page
 * NONE: the link to the last page.
 */
static uint32_t *link_before(Array *a, Drive *d, uint32_t page)
{
    return page == NONE ? &d->dirty_last : &a->pages[page].prev;
}

static void list_add(Array *a, uint32_t page)
{
    Page *p = &a->pages[page];
    Drive *d = &a->drives[p->drive];
    uint32_t before = d->dirty_last;

    /* the search is short, unless the page's write of old data failed */
    while (before != NONE && a->pages[before].epoch > p->epoch) {
        before = a->pages[before].prev;
    }
    p->prev = before;
    p->next = *link_after(a, d, before);
    *link_after(a, d, before) = page;
    *link_before(a, d, p->next) = page;
}

static void list_remove(Array *a, uint32_t page)
{
    Page *p = &a->pages[page];
    Drive *d = &a->drives[p->drive];

    *link_after(a, d, p->prev) = p->next;
    *link_before(a, d, p->next) = p->prev;
}

/* ---- Marks ------------------------------------------------------------- */

/*
 * Sets a buffer's mark. Another process reads the marks if this one was killed,
 * so the buffer's contents must be stored before its mark. The application
 * hears of its write later: array_submit() and array_io_done() report ended
 * requests last.
 */
static void mark(Array *a, uint32_t buffer, uint64_t value)
{
    if (a->config.marks) {
        __atomic_store_n(&a->config.marks[buffer], value, __ATOMIC_RELEASE);
    }
}

/* ---- Becoming dirty ---------------------------------------------------- */

/* True when an I/O under way writes the buffer. */
static bool is_sent(const Array *a, const Page *p, uint32_t buffer)
{
    return p->io && page_io(a, p)->buffer == buffer;
}

uint32_t array_page_unshare(Array *a, uint32_t page, bool whole)
{
    Page *p = &a->pages[page];
    uint32_t old = p->buffer;
    bool sent = is_sent(a, p, old);
    bool marked = a->config.marks && a->config.marks[old];

    if (!sent && !marked) {
        return old;
    }
    /* spares suffice for each slot's I/O and one change */
    p->buffer = a->spares[--a->n_spares];
    if (a->config.memory && !whole) {
        array_copy(array_buffer(a, p->buffer), array_buffer(a, old),
                   a->config.page_bytes);
    }
    a->stats.copied += sent;
    return old;
}

void array_page_dirtied(Array *a, uint32_t page, uint32_t old)
{
    Page *p = &a->pages[page];

    if (a->flags[page] & PAGE_FAILED) {
        /*
         * the application wrote the page again: its write is tried again, too
         */
        a->flags[page] &= ~PAGE_FAILED;
        p->tries = 0;
    }
    mark(a, p->buffer, a->numbers[page] + 1);
    if (old != p->buffer) {
        mark(a, old, 0);
        if (!is_sent(a, p, old)) {
            a->spares[a->n_spares++] = old;
        }
    }
    if (!(a->flags[page] & PAGE_DIRTY)) {
        a->flags[page] |= PAGE_DIRTY;
        p->epoch = a->epoch;
        a->open++;
        if (!(a->flags[page] & PAGE_WRITING)) {
            a->sets[set_of_page(a, page)].unclean++;
            list_add(a, page);
        }
    }
    array_flusher_consider(a, set_of_page(a, page));
}

void array_page_forget(Array *a, uint32_t page)
{
    Page *p = &a->pages[page];

    if (a->flags[page] & PAGE_DIRTY) {
        list_remove(a, page);
        array_epoch_paid(a, p->epoch);
        a->sets[set_of_page(a, page)].unclean--;
    }
    mark(a, p->buffer, 0);
    p->flush = NONE; /* a flush request still queued is stale now */
    p->tries = 0;
    a->hits[page] = 0;
    a->flags[page] = 0;
    a->numbers[page] = NO_NUMBER;
}

/* ---- Writing back ------------------------------------------------------ */

void array_page_write_soon(Array *a, uint32_t page)
{
    list_remove(a, page);
    array_drive_queue_high(a, page);
}

void array_page_writing(Array *a, uint32_t page, ArrayIo *io)
{
    Page *p = &a->pages[page];

    if (page_listed(a, page)) {
        list_remove(a, page);
    }
    a->flags[page] &= ~(PAGE_DIRTY | PAGE_HIGH | PAGE_ASKED);
    a->flags[page] |= PAGE_WRITING;
    p->flush = NONE; /* a flush request still queued is stale now */
    p->io = io->slot + 1;
    io->epoch = p->epoch;
    io->buffer = p->buffer;
}

/*
 * Called when the I/O that wrote the page's data of `epoch` has failed: that
 * data is unwritten again, beside data that has changed since.
 */
static void write_failed(Array *a, uint32_t page, uint64_t epoch)
{
    Page *p = &a->pages[page];

    if (a->flags[page] & PAGE_DIRTY) {
        /* the page counts for the older epoch only */
        array_epoch_paid(a, p->epoch);
    }
    a->flags[page] |= PAGE_DIRTY;
    p->epoch = epoch;
    if (p->tries++ < a->config.retries) {
        list_add(a, page);
        array_page_write_soon(a, page);
        return;
    }
    /*
     * Flushes that wait for the page fail; later flushes try its write again.
     */
    a->stats.failed++;
    p->tries = 0;
    a->flags[page] |= PAGE_FAILED;
    array_barrier_fail(a, epoch);
    array_epoch_paid(a, epoch);
    p->epoch = a->epoch;
    a->open++;
    list_add(a, page);
}

void array_write_done(Array *a, ArrayIo *io, int error)
{
    uint32_t page = io->page;
    Page *p = &a->pages[page];

    p->io = 0;
    a->flags[page] &= ~PAGE_WRITING;
    if (io->buffer != p->buffer) {
        a->spares[a->n_spares++] = io->buffer;
    }
    if (error) {
        a->stats.write_errors++;
        write_failed(a, page, io->epoch);
    } else {
        a->stats.written++;
        a->stats.written_low += io->low;
        a->drives[p->drive].unflushed = true;
        p->tries = 0;
        a->flags[page] &= ~PAGE_FAILED;
        array_epoch_paid(a, io->epoch);
        if (a->flags[page] & PAGE_DIRTY) {
            list_add(a, page);
            array_flusher_consider(a, set_of_page(a, page));
        } else {
            a->sets[set_of_page(a, page)].unclean--;
            mark(a, p->buffer, 0);
        }
    }
    if (io->low) {
        array_flusher_ended(a);
    }
    array_set_run(a, set_of_page(a, page));
}
