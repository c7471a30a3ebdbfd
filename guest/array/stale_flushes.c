/*
 * Stale flush requests: a flush request that has become useless in the
 * low-priority queue is discarded when it is taken from there (section 3.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

uint64_t *array_flush_stale(Array *a, uint32_t entry)
{
    const FlushEntry *e = &a->entries[entry];
    const Page *p = &a->pages[e->page];

    if (a->numbers[e->page] != e->number) {
        return &a->stats.discarded_evicted;
    }
    if (p->flush != entry || !page_listed(a, e->page)) {
        return &a->stats.discarded_cleaned;
    }
    if (array_flush_score(a, e->page) < a->config.stale_score) {
        return &a->stats.discarded_score;
    }
    return NULL;
}

/*
 * Prefetches records of the next flush requests in d's low-priority queue. The
 * queue is long, so their pages were read long ago and are in no cache of the
 * processor. A record can be found only when the record that links to it is in
 * the cache, so each call goes one link further: from the first entry to its
 * page's neighbours in the dirty list, from the second entry to its page and
 * set, and to the third entry.
 */
static void low_fetch(const Array *a, const Drive *d)
{
    uint32_t first = d->low_first, second, third, page;
    const Page *p;

    if (first == NONE) {
        return;
    }
    p = &a->pages[a->entries[first].page];
    if (page_listed(a, a->entries[first].page)) {
        __builtin_prefetch(&a->pages[p->next == NONE ? 0 : p->next]);
        __builtin_prefetch(&a->pages[p->prev == NONE ? 0 : p->prev]);
    }
    second = a->entries[first].next;
    if (second == NONE) {
        return;
    }
    page = a->entries[second].page;
    __builtin_prefetch(&a->pages[page]);
    set_fetch(a, set_of_page(a, page));
    third = a->entries[second].next;
    if (third != NONE) {
        __builtin_prefetch(&a->entries[third]);
    }
}

uint32_t array_flush_take(Array *a, uint32_t drive)
{
    Drive *d = &a->drives[drive];
    uint32_t entry = d->low_first;
    uint32_t page = a->entries[entry].page;
    uint64_t *stale = array_flush_stale(a, entry);

    d->low_first = a->entries[entry].next;
    low_fetch(a, d);
    if (a->pages[page].flush == entry) {
        a->pages[page].flush = NONE;
        a->flags[page] &= ~PAGE_ASKED;
    }
    array_entry_free(a, entry);
    if (stale) {
        (*stale)++;
        array_flusher_ended(a);
        return NONE;
    }
    return page;
}
