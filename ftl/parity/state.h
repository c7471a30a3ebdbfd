/*
 * parity: stripes over dies (ftl.parity_width, docs/parity.md). A stripe is
 * width - 1 consecutive logical pages and a page with their exclusive or, each
 * on its own die. For the mapping the parity page is a logical page like any
 * other, with an LPN above the host's LPNs: GC moves it, and images contain it.
 *
 * parity owns the layout of stripes, the stripes whose parity on flash is out
 * of date, and the reads that are rebuilt from the other pages of a stripe.
 *
 * buffer calls parity when data changes. flow calls it when a flash command of
 * parity ends, and takes the reads that parity has served. parity asks gc
 * whether a die collects, and calls map, pack and nand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_STATE_H
#define SCARP_PARITY_STATE_H

#include "gc/state.h"

typedef struct ScarpStripe ScarpStripe;

/*
 * A stripe in the controller's RAM, for one of two purposes: to make its
 * parity, or to rebuild one of its pages for a read of the host, `parent`. In
 * the bit sets `have` and `wanted`, which only a parity in the making uses, bit
 * i stands for the i-th data page of the stripe.
 */
struct ScarpStripe {
    ScarpStripe *next, *prev; /* in idle, in rebuilds or in the pool */
    ScarpStripe *hash_next;
    uint32_t index;
    uint32_t have;    /* bits of pages whose newest contents are in `sum` */
    uint32_t wanted;  /* bits of pages to be added when they are read */
    uint32_t pending; /* reads that have not ended */
    void *sum;        /* a page, owned; NULL: zeroes, or not kept */
    ScarpFlashCmd *parent; /* the read that is rebuilt; NULL: for a parity */
    ScarpUnit *unit;  /* the parity, while its program has not ended */
    uint32_t parts;   /* writes of parts of pages that wait for a read */
    bool open;        /* false: a rebuild, or in RAM only because of `parts` */
    bool idle;        /* waits until more of its pages are written */
    bool spoiled;     /* a page was written during the rebuild */
};

typedef struct {
    ScarpStripe *head, *tail;
} ScarpStripeList;

typedef struct {
    uint32_t width, groups; /* pages of a stripe; groups of planes */
    uint32_t *plane_of;     /* [groups * width]: the planes of each group */
    uint32_t *group_of;     /* [n_planes]: the group of each plane */
    uint32_t limit;         /* most stripes with a place; half may be idle */
    uint32_t most;          /* limit, or more for a while after a power cut */
    uint32_t n_placed;      /* stripes with a place in RAM */
    uint32_t n_open, n_idle;
    ScarpStripe **hash;     /* stripes with a place, by index */
    uint32_t hash_mask;
    ScarpStripeList idle;   /* the longest idle stripe first */
    ScarpStripeList rebuilds;
    ScarpPool stripes, units;
    ScarpFlashQueue served;  /* rebuilt reads with their data, for flow */
    ScarpFlashQueue spoiled; /* reads that must wait for their dies, for flow */
} ScarpParity;

#endif /* SCARP_PARITY_STATE_H */
