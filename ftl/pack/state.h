/*
 * pack: units on their way into a page, of the host and of GC alike. The room
 * owns the unit; the packer in which the unit waits until its page is full; the
 * index that finds a unit of the host by its LPN; and the number of units on
 * their way to each plane.
 *
 * buffer and gc have records of their own that begin with a ScarpUnit. pack
 * asks nand for the flash command that a full packer becomes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PACK_STATE_H
#define SCARP_PACK_STATE_H

#include "nand/state.h"

struct ScarpUnit {
    ScarpUnit *next;      /* in a packer, flash command, list or pool */
    ScarpUnit *hash_next;
    void *data;           /* contents, owned; NULL: zeroes, or not kept */
    uint64_t seq;         /* place in the order of arrival: the version */
    uint32_t lpn;
    uint32_t plane;       /* where it goes; SCARP_NONE: not decided yet */
    uint16_t stream;      /* below ftl.streams */
    bool packing;         /* a packer has the unit */
    bool partial;         /* some bytes of the unit are not known yet */
};

/* Units that wait until they fill a page. */
typedef struct ScarpPacker {
    ScarpUnit *head, **tail;
    uint32_t n;
} ScarpPacker;

typedef struct {
    uint32_t host_units; /* for this plane, not on flash yet */
    uint32_t gc_units;   /* in this plane's programs that have not ended */
} ScarpPackPlane;

typedef struct {
    ScarpUnit **hash;   /* newest units of the host, by LPN */
    uint32_t hash_mask;
    uint32_t n_indexed;
    ScarpPackPlane *plane;
} ScarpPack;

#endif /* SCARP_PACK_STATE_H */
