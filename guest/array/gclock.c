/*
 * Which page of a set goes (GClock, clean pages first: section 3.3), and how
 * urgent that makes it to write a dirty one (section 3.3.1).
 *
 * GClock's hand goes round the set and takes a hit from each page it passes,
 * until it stands at one without hits.  Where it will stop can be said at
 * once: at the page with the smallest hits x set_pages + distance.  So nothing
 * here goes round.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void array_hit(Array *a, uint32_t page)
{
    Page *p = &a->pages[page];

    if (p->hits < UINT16_MAX) {
        p->hits++;
    }
}

/* Pages from the hand to this one. */
static inline uint32_t steps(const Array *a, const Set *set, uint32_t page)
{
    return page >= set->hand ? page - set->hand :
                               page + (uint32_t)a->config.set_pages - set->hand;
}

uint32_t array_distance(const Array *a, uint32_t page)
{
    const Page *p = &a->pages[page];

    return p->hits * (uint32_t)a->config.set_pages +
           steps(a, &a->sets[p->set], page);
}

uint32_t array_flush_score(const Array *a, uint32_t page)
{
    uint32_t first = set_first(a, a->pages[page].set);
    uint32_t mine = array_distance(a, page), score = 0;

    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        score += array_distance(a, i) > mine;
    }
    return score;
}

/* Of the pages whose flags under mask are value, the one that goes first. */
static uint32_t nearest(const Array *a, uint32_t set, uint8_t mask,
                        uint8_t value)
{
    uint32_t first = set_first(a, set), best = NONE, least = 0;

    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        if ((a->pages[i].flags & mask) == value) {
            uint32_t distance = array_distance(a, i);

            if (best == NONE || distance < least) {
                best = i;
                least = distance;
            }
        }
    }
    return best;
}

uint32_t array_victim(Array *a, uint32_t set)
{
    const uint8_t busy = PAGE_READING | PAGE_HIGH | PAGE_WRITING | PAGE_FAILED;
    uint8_t mask = a->config.clean_first ? busy | PAGE_DIRTY : busy;
    uint32_t first = set_first(a, set), end = first + a->config.set_pages;
    uint32_t victim, rounds, way;
    Set *s = &a->sets[set];

    for (uint32_t i = first; i < end; i++) {
        if (a->numbers[i] == NO_NUMBER) {
            return i;
        }
    }
    victim = nearest(a, set, mask, 0);
    if (victim == NONE || a->pages[victim].flags & PAGE_DIRTY) {
        return NONE;
    }
    /* What the hand takes on its way there. */
    rounds = a->pages[victim].hits;
    way = steps(a, s, victim);
    for (uint32_t i = first; i < end; i++) {
        if (!(a->pages[i].flags & mask)) {
            a->pages[i].hits -= rounds + (steps(a, s, i) < way);
        }
    }
    s->hand = victim + 1 == end ? first : victim + 1;
    return victim;
}

uint32_t array_dirty_victim(const Array *a, uint32_t set)
{
    return nearest(a, set, PAGE_DIRTY | PAGE_HIGH | PAGE_WRITING | PAGE_FAILED,
                   PAGE_DIRTY);
}
