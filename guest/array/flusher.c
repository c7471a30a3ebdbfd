/*
 * The dirty page flusher (section 3.3): which sets it visits when, and which
 * of their pages it asks the drives to write.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void array_entry_free(Array *a, uint32_t entry)
{
    a->entries[entry].next = a->entry_free;
    a->entry_free = entry;
}

/* The most urgent page that may be asked for and would not be discarded. */
static uint32_t choose(const Array *a, uint32_t set)
{
    uint32_t best = array_nearest(a, set, PAGE_DIRTY | PAGE_HIGH |
                                              PAGE_WRITING | PAGE_FAILED |
                                              PAGE_ASKED, PAGE_DIRTY);

    if (best != NONE && array_flush_score(a, best) < a->config.stale_score) {
        return NONE;
    }
    return best;
}

static void ask(Array *a, uint32_t page)
{
    uint32_t entry = a->entry_free;
    FlushEntry *e = &a->entries[entry];

    a->entry_free = e->next;
    e->page = page;
    e->number = a->numbers[page];
    a->pages[page].flush = entry;
    a->flags[page] |= PAGE_ASKED;
    a->stats.flush_requests++;
    if (++a->flushes_pending > a->stats.flush_pending_max) {
        a->stats.flush_pending_max = a->flushes_pending;
    }
    array_drive_queue_low(a, entry);
}

/* A few pages of the set; when it has more, it goes to the end of the FIFO. */
static void visit(Array *a, uint32_t set)
{
    Set *s = &a->sets[set];
    uint32_t page = choose(a, set);

    for (uint64_t n = a->config.flush_batch;
         page != NONE && n && a->flushes_pending < a->flushes_max; n--) {
        ask(a, page);
        page = choose(a, set);
    }
    if (page == NONE) {
        return;
    }
    s->in_fifo = true;
    s->fifo_next = NONE;
    *(a->fifo_first == NONE ? &a->fifo_first :
                              &a->sets[a->fifo_last].fifo_next) = set;
    a->fifo_last = set;
}

void array_flusher_consider(Array *a, uint32_t set)
{
    Set *s = &a->sets[set];

    if (a->config.flusher && s->unclean > a->config.dirty_pages &&
        !s->in_fifo) {
        visit(a, set);
    }
}

void array_flusher_ended(Array *a)
{
    a->flushes_pending--;
    a->demand++;
}

void array_flusher_run(Array *a)
{
    while (a->demand && a->fifo_first != NONE &&
           a->flushes_pending < a->flushes_max) {
        uint32_t set = a->fifo_first;

        a->demand--;
        a->fifo_first = a->sets[set].fifo_next;
        a->sets[set].in_fifo = false;
        visit(a, set);
    }
    if (a->fifo_first == NONE) {
        a->demand = 0;
    }
}
