/*
 * parity: stripes over dies (ftl.parity_width). Owns the layout of stripes,
 * the stripes whose parity on flash is out of date, and the reads that are
 * served by the rest of their stripe. docs/parity.md explains them.
 *
 * A stripe is width - 1 consecutive logical pages, and their exclusive or, on
 * as many dies. To the tables a parity page is a logical page like any other,
 * with an LPN above the host's: GC moves it, images keep it.
 *
 * buffer reports changes of contents. flow reports the ends of flash commands
 * that parity owns, and takes the reads that it has served. parity asks
 * gc whether a die collects, map, pack and nand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_STATE_H
#define SCARP_PARITY_STATE_H

#include "gc/state.h"

typedef struct ScarpStripe ScarpStripe;

/*
 * Work on a stripe, and the page of controller RAM that it needs: either its
 * parity is being made, or a read of one page is served by the others. A page's
 * bit is its place in the stripe, the parity's the last.
 */
struct ScarpStripe {
    ScarpStripe *next, *prev; /* in idle or rebuilds, or the pool's */
    ScarpStripe *hash_next;
    uint32_t index;
    uint32_t have;    /* bits: pages whose newest contents are in sum */
    uint32_t wanted;  /* bits: pages to be added when they have been read */
    uint32_t pending; /* reads on their way */
    void *sum;        /* a page, owned; NULL for zeroes or replay */
    ScarpFlashCmd *parent; /* the read that is served; NULL: a parity */
    ScarpUnit *unit;  /* the parity, in a program on its way */
    uint32_t parts;   /* writes of parts of pages whose rest is read */
    bool open;        /* false: its place is kept for parts alone */
    bool idle;        /* it waits for more of its pages to be written */
    bool spoiled;     /* a page of the rebuild was written */
};

typedef struct {
    ScarpStripe *head, *tail;
} ScarpStripeList;

typedef struct {
    uint32_t width, groups; /* pages of a stripe; groups of planes */
    uint32_t *plane_of;     /* [groups * width]: in the order of allocation */
    uint32_t *group_of;     /* [n_planes]: the plane's group */
    uint32_t limit;         /* stripes with a place; half may be idle */
    uint32_t most;          /* limit, or more after a power cut */
    uint32_t n_placed;      /* stripes with a place in RAM */
    uint32_t n_open, n_idle;
    ScarpStripe **hash;     /* stripes with a place, by index */
    uint32_t hash_mask;
    ScarpStripeList idle;   /* written longest ago first */
    ScarpStripeList rebuilds;
    ScarpPool stripes, units;
    ScarpFlashQueue served;  /* reads with their data: flow ends them */
    ScarpFlashQueue spoiled; /* reads that must wait for their die */
} ScarpParity;

#endif /* SCARP_PARITY_STATE_H */
