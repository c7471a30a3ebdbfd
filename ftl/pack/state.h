/*
 * pack: units on their way into a page, the host's and GC's alike. Owns the
 * unit, the packer that it waits in until others fill its page, the index that
 * finds a host's unit by its LPN, and the number of units on their way to each
 * plane.
 *
 * buffer and gc put a ScarpUnit at the start of a record of their own. pack
 * asks nand for the flash command that a full packer becomes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PACK_STATE_H
#define SCARP_PACK_STATE_H

#include "nand/state.h"

struct ScarpUnit {
    ScarpUnit *next;      /* in its packer, flash command or pool */
    ScarpUnit *hash_next;
    void *data;           /* a unit, owned; NULL for zeroes or replay */
    uint64_t seq;         /* in the order of arrival: its version */
    uint32_t lpn;
    uint32_t plane;       /* its target; SCARP_NONE: not yet decided */
    uint16_t stream;      /* below ftl.streams */
    bool packing;         /* it is in a packer */
    bool partial;         /* not all of its bytes are known yet */
};

/* Units that wait until they fill a page. */
typedef struct ScarpPacker {
    ScarpUnit *head, **tail;
    uint32_t n;
} ScarpPacker;

typedef struct {
    uint32_t host_units; /* of the host, assigned to it, not yet on flash */
    uint32_t gc_units;   /* relocated, in programs on their way */
} ScarpPackPlane;

typedef struct {
    ScarpUnit **hash;   /* the host's newest units, by LPN */
    uint32_t hash_mask;
    uint32_t n_indexed;
    ScarpPackPlane *plane;
} ScarpPack;

#endif /* SCARP_PACK_STATE_H */
