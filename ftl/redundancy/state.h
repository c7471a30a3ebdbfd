/*
 * redundancy: parity over dies (ftl.parity_width).  Owns where the pages of a
 * stripe lie, the stripes whose parity on flash is not the present one, and
 * the reads that are served by the rest of their stripe.  docs/model.md.
 *
 * A stripe is width - 1 logical pages that follow each other, and their
 * exclusive or, on as many dies.  To the tables a parity page is a logical one
 * like any other, with an LPN above the host's: GC moves it, images keep it.
 *
 * buffer tells it what changes.  Flow tells it of the flash commands that it
 * owns, and takes the reads that it has served.  It asks gc whether a die
 * collects, map, pack and nand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REDUNDANCY_STATE_H
#define SCARP_REDUNDANCY_STATE_H

#include "gc/state.h"

typedef struct ScarpStripe ScarpStripe;

/*
 * Work on a stripe, and the page of controller RAM that it needs: either its
 * parity is being made, or a read of one page is served by the others.  A
 * page's bit is its place in the stripe, the parity's the last.
 */
struct ScarpStripe {
    ScarpStripe *next, *prev; /* idle, or rebuilds; or the pool's */
    ScarpStripe *hash_next;
    uint32_t index;
    uint32_t have;    /* bits: pages whose newest contents are in sum */
    uint32_t wanted;  /* bits: pages to be added when they have been read */
    uint32_t pending; /* reads on their way */
    void *sum;        /* a page, owned; NULL for zeroes or replay */
    ScarpFlashCmd *parent; /* the read that is served; NULL: parity is made */
    ScarpUnit *unit;  /* the parity, in a program on its way */
    uint32_t parts;   /* writes of parts of pages, whose rest is being read */
    bool open;        /* or its place is kept for those parts alone */
    bool idle;        /* waits for more of the stripe to be written */
    bool spoiled;     /* one of the pages that are read was written */
};

typedef struct {
    ScarpStripe *head, *tail;
} ScarpStripeList;

typedef struct {
    uint32_t width, groups; /* pages of a stripe, groups of as many planes */
    uint32_t *plane_of;     /* [groups * width]: in the order of allocation */
    uint32_t *group_of;     /* [n_planes] */
    uint32_t limit;         /* stripes with a place; half of it may be idle */
    uint32_t most;          /* the same, or more after a power cut */
    uint32_t n_placed;      /* open, or to be opened by parts of pages */
    uint32_t n_open, n_idle;
    ScarpStripe **hash;     /* stripes with a place, by index */
    uint32_t hash_mask;
    ScarpStripeList idle;   /* written longest ago first */
    ScarpStripeList rebuilds;
    ScarpPool stripes, units;
    ScarpFlashQueue served;  /* reads that have their data: flow ends them */
    ScarpFlashQueue spoiled; /* reads that have to wait for their die */
} ScarpParity;

#endif /* SCARP_REDUNDANCY_STATE_H */
