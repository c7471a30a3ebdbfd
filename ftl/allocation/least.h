/*
 * A tree of costs, numbered from 0. The tree finds the least cost, and of equal
 * ones the first from a given number on. Changes and searches take time in the
 * logarithm of the number of costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_ALLOCATION_LEAST_H
#define SCARP_ALLOCATION_LEAST_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint32_t n_leaves; /* a power of two */
    /*
     * Node i has the lesser cost of nodes 2i and 2i + 1; leaves begin at
     * n_leaves. Node 0 is not used.
     */
    uint32_t *cost;
} ScarpLeast;

/* Makes n costs of UINT32_MAX; scarp_least_clear() frees them. */
static inline void scarp_least_init(ScarpLeast *least, uint32_t n)
{
    least->n_leaves = 1;
    while (least->n_leaves < n) {
        least->n_leaves *= 2;
    }
    least->cost = g_new(uint32_t, 2 * (size_t)least->n_leaves);
    memset(least->cost, 0xff,
           2 * (size_t)least->n_leaves * sizeof(*least->cost));
}

static inline void scarp_least_clear(ScarpLeast *least)
{
    g_clear_pointer(&least->cost, g_free);
}

static inline uint32_t scarp_least_cost(const ScarpLeast *least, uint32_t i)
{
    return least->cost[least->n_leaves + i];
}

static inline void scarp_least_set(ScarpLeast *least, uint32_t i, uint32_t cost)
{
    uint32_t *node = least->cost, at = least->n_leaves + i;

    while (at && node[at] != cost) {
        node[at] = cost;
        at /= 2;
        cost = MIN(node[2 * at], node[2 * at + 1]);
    }
}

/*
 * Returns the number of the least cost. Of equal costs the first at or behind
 * `from` counts, or, if there is none, the first of all.
 */
static inline uint32_t scarp_least_from(const ScarpLeast *least, uint32_t from)
{
    const uint32_t *node = least->cost;
    uint32_t at = least->n_leaves + from;

    while (at > 1 && node[at] != node[1]) {
        while (at & 1 && at > 1) {
            at /= 2; /* nothing of this subtree's parent is to the right */
        }
        at += at > 1; /* the subtree to the right */
    }
    while (at < least->n_leaves) {
        at = 2 * at + (node[2 * at] != node[1]);
    }
    return at - least->n_leaves;
}

#endif /* SCARP_ALLOCATION_LEAST_H */
