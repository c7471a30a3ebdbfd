/*
 * The set-associative page cache (section 3.1), and the parts of requests that
 * wait for its pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#include <errno.h>

uint32_t array_set_of(const Array *a, uint64_t number)
{
    /*
     * Neighbouring pages get different sets. The high bits of the product are
     * used, because they depend on all bits of the number.
     */
    uint64_t hash = (number + 1) * 0x9e3779b97f4a7c15ull >> 32;

    return hash * a->n_sets >> 32;
}

uint32_t array_find(const Array *a, uint32_t set, uint64_t number)
{
    uint32_t first = set_first(a, set);

    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        if (a->numbers[i] == number) {
            return i;
        }
    }
    return NONE;
}

/*
 * Copies the part's bytes from the page to its request, or from the request to
 * the page. The page has contents.
 */
static void part_serve(Array *a, const Part *part, uint32_t page)
{
    const ArrayRequest *r = part->request;
    bool whole = part->length == a->config.page_bytes;
    char *data = r->data;
    uint32_t old;

    if (r->op == ARRAY_OP_READ) {
        if (a->config.memory) {
            array_copy(data + part->at,
                       (char *)array_buffer(a, a->pages[page].buffer) +
                           part->from, part->length);
        }
        return;
    }
    old = array_page_unshare(a, page, whole);
    if (a->config.memory) {
        array_copy((char *)array_buffer(a, a->pages[page].buffer) +
                       part->from, data + part->at, part->length);
    }
    array_page_dirtied(a, page, old);
}

/*
 * Takes a page of the set for page `number` of the array; its contents are
 * undefined. NONE: the set has no page that can be taken.
 */
static uint32_t page_take(Array *a, uint32_t set, uint64_t number)
{
    uint32_t page = array_victim(a, set);
    uint64_t offset;

    if (page != NONE) {
        Page *p = &a->pages[page];

        a->numbers[page] = number;
        p->drive = array_map(a, number, &offset);
        p->tries = 0;
        a->hits[page] = 0;
        a->flags[page] = 0;
    }
    return page;
}

bool array_part_run(Array *a, const Part *part, bool first)
{
    uint32_t set = array_set_of(a, part->number), page;

    set_fetch(a, set);
    page = array_find(a, set, part->number);
    if (page != NONE && a->flags[page] & PAGE_VALID) {
        if (first) {
            a->stats.hits++;
            array_hit(a, page);
        }
        part_serve(a, part, page);
        return true;
    }
    a->stats.misses += first;
    if (page != NONE) {
        return false; /* a read will bring the page's contents */
    }
    /*
     * Other parts may wait in this set. With clean_first this part overtakes
     * none of them: array_set_run() has tried them at every change of the set,
     * so they would have taken any page that can be taken. Without clean_first
     * this part may overtake a part that waits because the next page to leave
     * was dirty. The write of that page has begun since, so the next page to
     * leave may now be clean.
     */
    page = page_take(a, set, part->number);
    if (page == NONE) {
        return false;
    }
    if (part->request->op == ARRAY_OP_WRITE &&
        part->length == a->config.page_bytes) {
        a->flags[page] = PAGE_VALID;
        part_serve(a, part, page);
        return true;
    }
    /* A read, or an update of a part of the page, needs the page's contents. */
    a->flags[page] = PAGE_READING;
    array_drive_queue_high(a, page);
    return false;
}

/*
 * Called while parts of requests wait for pages that are not in this set.
 * Writes back as many dirty pages as there are such parts, so that these pages
 * can be replaced. If no page can be written or is being read, the waiting
 * parts end with EIO.
 */
static void set_make_room(Array *a, uint32_t set)
{
    uint32_t first = set_first(a, set), wanted = 0, under_way = 0;
    bool reading = false;
    Set *s = &a->sets[set];

    for (uint32_t i = s->waiting_first; i != NONE; i = a->parts[i].next) {
        wanted += array_find(a, set, a->parts[i].number) == NONE;
    }
    if (!wanted) {
        return;
    }
    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        uint8_t flags = a->flags[i];

        reading |= flags & PAGE_READING;
        under_way += !(flags & PAGE_READING) &&
                     flags & (PAGE_HIGH | PAGE_WRITING);
    }
    while (under_way < wanted) {
        uint32_t page = array_dirty_victim(a, set);

        if (page == NONE) {
            break;
        }
        a->stats.evicted_dirty++;
        array_page_write_soon(a, page);
        under_way++;
    }
    if (under_way || reading) {
        return;
    }
    /* every page's write has failed, so nothing can become free */
    for (uint32_t i = s->waiting_first; i != NONE;) {
        uint32_t next = a->parts[i].next;

        array_part_end(a, i, EIO);
        i = next;
    }
    s->waiting_first = s->waiting_last = NONE;
}

void array_part_wait(Array *a, uint32_t part)
{
    uint32_t set = array_set_of(a, a->parts[part].number);
    Set *s = &a->sets[set];

    a->stats.waited++;
    a->parts[part].next = NONE;
    if (s->waiting_first == NONE) {
        s->waiting_first = part;
    } else {
        a->parts[s->waiting_last].next = part;
    }
    s->waiting_last = part;
    set_make_room(a, set);
}

/*
 * Tries to serve all waiting parts of the set, in order of arrival. If error is
 * not 0, parts that wait for page `number` end with it.
 */
static void set_scan(Array *a, uint32_t set, uint64_t number, int error)
{
    Set *s = &a->sets[set];
    uint32_t before = NONE, next;

    for (uint32_t i = s->waiting_first; i != NONE; i = next) {
        Part *part = &a->parts[i];
        bool failed = error && part->number == number;

        next = part->next;
        if (!failed && !array_part_run(a, part, false)) {
            before = i;
            continue;
        }
        if (before == NONE) {
            s->waiting_first = next;
        } else {
            a->parts[before].next = next;
        }
        if (s->waiting_last == i) {
            s->waiting_last = before;
        }
        array_part_end(a, i, failed ? error : 0);
    }
}

void array_set_run(Array *a, uint32_t set)
{
    if (a->sets[set].waiting_first != NONE) {
        set_scan(a, set, NO_NUMBER, 0);
        set_make_room(a, set);
    }
}

void array_read_done(Array *a, uint32_t page, int error)
{
    uint32_t set = set_of_page(a, page);
    uint64_t number = a->numbers[page];

    if (!error) {
        a->stats.read++;
        a->flags[page] = PAGE_VALID;
        array_set_run(a, set);
        return;
    }
    a->stats.read_errors++;
    a->flags[page] = 0;
    a->numbers[page] = NO_NUMBER;
    set_scan(a, set, number, error);
    set_make_room(a, set);
}
