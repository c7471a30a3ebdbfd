/*
 * The dirty page flusher (section 3.3): when it visits which set, and for which
 * pages of that set it makes flush requests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void array_entry_free(Array *a, uint32_t entry)
{
    a->entries[entry].next = a->entry_free;
    a->entry_free = entry;
}

/*
 * A set of the page cache as the flusher sees it. far[i] is how far page i is
 * from being evicted; open[i]: page i is dirty, and nothing is done about it
 * yet, so the flusher may ask for its write.
 */
typedef struct {
    uint32_t n;
    uint32_t far[ARRAY_MAX_SET_PAGES];
    bool open[ARRAY_MAX_SET_PAGES];
} View;

static void look(const Array *a, uint32_t set, View *v)
{
    const uint8_t mask = PAGE_DIRTY | PAGE_HIGH | PAGE_WRITING | PAGE_FAILED |
                         PAGE_ASKED;
    const uint8_t *flags = a->flags + set_first(a, set);

    v->n = a->config.set_pages;
    array_distances(a, set, v->far);
    for (uint32_t i = 0; i < v->n; i++) {
        v->open[i] = (flags[i] & mask) == PAGE_DIRTY;
    }
}

/*
 * Returns the open page that the cache will evict first. NONE if there is none,
 * or if it would be evicted so late that its flush request would be discarded
 * at once (stale_score).
 */
static uint32_t choose(const View *v, uint64_t stale_score)
{
    uint32_t best = NONE, least = UINT32_MAX, score = 0;

    for (uint32_t i = 0; i < v->n; i++) {
        if (v->open[i] && v->far[i] < least) {
            best = i;
            least = v->far[i];
        }
    }
    for (uint32_t i = 0; i < v->n; i++) {
        /* score counts the pages that will be evicted later than this one */
        score += v->far[i] > least;
    }
    return score < stale_score ? NONE : best;
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

/*
 * Makes flush requests for a few pages of the set, flush_batch at most. If the
 * set has more such pages, it goes to the end of the FIFO.
 */
static void visit(Array *a, uint32_t set)
{
    uint64_t stale = a->config.stale_score;
    Set *s = &a->sets[set];
    uint32_t page;
    View v;

    look(a, set, &v);
    page = choose(&v, stale);
    for (uint64_t n = a->config.flush_batch;
         page != NONE && n && a->flushes_pending < a->flushes_max; n--) {
        ask(a, set_first(a, set) + page);
        v.open[page] = false;
        page = choose(&v, stale);
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
