/*
 * The choice of the page that leaves a set (GClock, clean pages first: section
 * 3.3), and how urgent that choice makes the write of a dirty page (section
 * 3.3.1).
 *
 * GClock's hand goes round the set. It takes a hit from each page that it
 * passes, and stops at the first page without hits. That page can be computed:
 * it has the smallest hits x set_pages + distance from the hand. So no loop
 * here goes round more than once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

void array_hit(Array *a, uint32_t page)
{
    if (a->hits[page] < UINT16_MAX) {
        a->hits[page]++;
    }
}

/* Returns the number of pages from the hand to this page. */
static inline uint32_t steps(const Array *a, uint32_t hand, uint32_t page)
{
    return page - hand + (page < hand ? (uint32_t)a->config.set_pages : 0);
}

static inline uint32_t distance(const Array *a, uint32_t hand, uint32_t page)
{
    return a->hits[page] * (uint32_t)a->config.set_pages +
           steps(a, hand, page);
}

uint32_t array_distance(const Array *a, uint32_t page)
{
    return distance(a, a->sets[set_of_page(a, page)].hand, page);
}

void array_distances(const Array *a, uint32_t set, uint32_t *far)
{
    uint32_t first = set_first(a, set), hand = a->sets[set].hand;

    for (uint32_t i = 0; i < a->config.set_pages; i++) {
        far[i] = distance(a, hand, first + i);
    }
}

uint32_t array_flush_score(const Array *a, uint32_t page)
{
    uint32_t set = set_of_page(a, page), first = set_first(a, set);
    uint32_t hand = a->sets[set].hand, score = 0;
    uint32_t mine = distance(a, hand, page);

    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        score += distance(a, hand, i) > mine;
    }
    return score;
}

uint32_t array_nearest(const Array *a, uint32_t set, uint8_t mask,
                       uint8_t value)
{
    uint32_t first = set_first(a, set), best = NONE, least = UINT32_MAX;
    uint32_t hand = a->sets[set].hand;

    for (uint32_t i = first; i < first + a->config.set_pages; i++) {
        uint32_t far = distance(a, hand, i);

        if ((a->flags[i] & mask) == value && far < least) {
            best = i;
            least = far;
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
    victim = array_nearest(a, set, mask, 0);
    if (victim == NONE || a->flags[victim] & PAGE_DIRTY) {
        return NONE;
    }
    /* the hand takes a hit from each page that it passes */
    rounds = a->hits[victim];
    way = steps(a, s->hand, victim);
    for (uint32_t i = first; i < end; i++) {
        if (!(a->flags[i] & mask)) {
            a->hits[i] -= rounds + (steps(a, s->hand, i) < way);
        }
    }
    s->hand = victim + 1 == end ? first : victim + 1;
    return victim;
}

uint32_t array_dirty_victim(const Array *a, uint32_t set)
{
    return array_nearest(a, set, PAGE_DIRTY | PAGE_HIGH | PAGE_WRITING |
                                     PAGE_FAILED, PAGE_DIRTY);
}
