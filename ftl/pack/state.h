/*
 * pack: mapping units (4 KiB, for example) on their way into a flash page,
 * units of the host and of GC alike. This directory owns the units; the
 * packers, which collect units until these fill a page; an index that finds a
 * unit of the host by its LPN; and counts of the units on their way to each
 * plane.
 *
 * buffer and gc have larger records that begin with a ScarpUnit. pack calls
 * nand to make the program command for a full page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PACK_STATE_H
#define SCARP_PACK_STATE_H

#include "nand/state.h"

struct ScarpUnit {
    ScarpUnit *next;      /* in a packer, flash command, list or pool */
    ScarpUnit *hash_next;
    void *data;           /* contents, owned; NULL: zeroes, or not stored */
    uint64_t seq;         /* version: the place in the order of arrival */
    uint32_t lpn;
    uint32_t plane;       /* plane it goes to; SCARP_NONE: not decided yet */
    uint16_t stream;      /* below ftl.streams */
    bool packing;         /* a packer has the unit */
    bool partial;         /* some bytes of the unit are not known yet */
};

/* A packer: the n units collected so far for one flash page. */
typedef struct ScarpPacker {
    ScarpUnit *head, **tail;
    uint32_t n;
} ScarpPacker;

typedef struct {
    uint32_t host_units; /* host's units for this plane, not on flash yet */
    uint32_t gc_units;   /* GC's units in programs that wait or run there */
} ScarpPackPlane;

typedef struct {
    ScarpUnit **hash;   /* newest units of the host, by LPN */
    uint32_t hash_mask;
    uint32_t n_indexed;
    ScarpPackPlane *plane;
} ScarpPack;

#endif /* SCARP_PACK_STATE_H */
