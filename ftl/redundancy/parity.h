/*
 * Parity over dies (ftl.parity_width): where the pages of a stripe lie, and
 * the stripes whose parity on flash is not the present one.  docs/model.md.
 *
 * A stripe is width - 1 logical pages that follow each other, and their
 * exclusive or, on as many dies.  To the tables a parity page is a logical one
 * like any other, with an LPN above the host's: GC moves it, images keep it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_H
#define SCARP_PARITY_H

#include "drive.h"

typedef struct ScarpStripe ScarpStripe;

/*
 * Work on a stripe, and the page of controller RAM that it needs: either its
 * parity is being made, or a read of one page is served by the others.  A
 * page's bit is its place in the stripe, the parity's the last.
 */
struct ScarpStripe {
    ScarpStripe *next, *prev; /* idle, or rebuilds; or the free ones */
    ScarpStripe *hash_next;
    uint32_t index;
    uint32_t have;    /* bits: pages whose newest contents are in sum */
    uint32_t wanted;  /* bits: pages to be added when they have been read */
    uint32_t pending; /* reads on their way */
    void *sum;        /* a page, owned; NULL for zeroes or replay */
    ScarpTx *parent;  /* the read that is served; NULL: parity is made */
    ScarpUnit *unit;  /* the parity, in a program on its way */
    bool idle;        /* waits for more of the stripe to be written */
    bool spoiled;     /* one of the pages that are read was written */
};

typedef struct {
    ScarpStripe *head, *tail;
} StripeList;

struct ScarpParity {
    uint32_t width, groups; /* pages of a stripe, groups of as many planes */
    uint32_t *plane_of;     /* [groups * width]: in the order of allocation */
    uint32_t *group_of;     /* [n_planes] */
    uint32_t limit;         /* open stripes; half of it may be idle */
    uint32_t n_open, n_idle;
    ScarpStripe **hash;     /* open stripes by index */
    uint32_t hash_mask;
    StripeList idle;        /* written longest ago first */
    StripeList rebuilds;
    ScarpStripe *free;
};

/* The stripe of a unit, and its place there. */
static inline uint32_t scarp_stripe_of(const ScarpDrive *drive, uint32_t lpn,
                                       uint32_t *place)
{
    uint32_t data = drive->parity->width - 1;

    if (lpn >= drive->logical_units) {
        *place = data;
        return lpn - drive->logical_units;
    }
    *place = lpn % data;
    return lpn / data;
}

static inline uint32_t scarp_stripe_lpn(const ScarpDrive *drive,
                                        uint32_t stripe, uint32_t place)
{
    uint32_t data = drive->parity->width - 1;

    return place == data ? drive->logical_units + stripe
                         : stripe * data + place;
}

/* redundancy/parity.c */
ScarpStripe *scarp_stripe_new(ScarpDrive *drive, uint32_t index);
void scarp_stripe_free(ScarpDrive *drive, ScarpStripe *stripe);
void scarp_stripe_list_add(StripeList *list, ScarpStripe *stripe);
void scarp_stripe_list_remove(StripeList *list, ScarpStripe *stripe);
/* The stripe whose parity on flash is not the present one, or NULL. */
ScarpStripe *scarp_stripe_open(const ScarpDrive *drive, uint32_t index);
/* Exclusive or of a page of data (NULL: zeroes) into sum. */
void scarp_stripe_add(ScarpDrive *drive, ScarpStripe *stripe, const void *data);
/*
 * The newest contents of a unit are in RAM, or known to be zeroes, without a
 * read; *data is them, or NULL.
 */
bool scarp_stripe_known(const ScarpDrive *drive, uint32_t lpn,
                        const void **data);

/* redundancy/reconstruct.c: a page of a rebuild was read; one was written */
void scarp_rebuild_read_done(ScarpDrive *drive, ScarpTx *tx);
void scarp_rebuild_spoil(ScarpDrive *drive, uint32_t index);

#endif /* SCARP_PARITY_H */
