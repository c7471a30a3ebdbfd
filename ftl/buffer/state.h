/*
 * buffer: host data on its way to flash.  Owns the units that are not there
 * yet, in the order of arrival that flush relies on, the room for them (the
 * write buffer), the commands that wait for room, and the flushes.
 *
 * Without a write buffer (controller.buffer_bytes=0) the path is the same,
 * but a write ends when it is programmed, and its pages are closed at once.
 *
 * Flow gives it writes, deallocations and flushes, tells it of the flash
 * commands that it owns, and ends the commands that it hands back.  It asks
 * pack, map, media and redundancy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_STATE_H
#define SCARP_BUFFER_STATE_H

#include "redundancy/state.h"

/* A unit that the host wrote. */
typedef struct ScarpDirty ScarpDirty;
struct ScarpDirty {
    ScarpUnit unit; /* first: it is what pack and nand know */
    ScarpDirty *older, *newer; /* those that are not on flash yet */
    ScarpDirty *dependent; /* a partial write of the same unit that waits */
    ScarpCmd *cmd;        /* ends when this is programmed; or NULL */
    uint64_t cmd_seq;     /* of the command that wrote it; for observers */
    int64_t created_ns;
    int64_t mapping_ns;   /* waited for its entry of the mapping */
    int64_t rmw_ns;       /* spent reading the rest of its bytes */
    uint32_t first_byte, bytes; /* what the host wrote of it */
    bool held;            /* its entry of the mapping is kept in RAM */
    bool has_place;       /* a part: its stripe's parity has RAM meanwhile */
    bool until_ready;     /* cmd ends when all of its bytes are known */
    bool superseded;      /* a newer write, or a deallocate, made it stale */
    bool passed;          /* no flush waits for it (lie.flush_queued_only) */
    bool burnt;           /* power fails: it is in the cells all the same */
};

typedef struct {
    ScarpDirty *oldest, *newest;
    uint64_t room_units;     /* 0: no write buffer */
    bool draining;           /* until nothing is buffered any more */
    uint64_t used, packing;  /* units; packing: that may wait for others */
    ScarpCmdQueue waiting;   /* for room */
    ScarpCmdQueue flushes;
    ScarpPacker *packer; /* [plane, or n_planes: not yet decided][stream] */
    ScarpPool pool;      /* of ScarpDirty */
    uint64_t *record;    /* [geo.record_lpns]: to be put into a unit */
    /*
     * nand.power_cuts: LPN to the moment at which it was deallocated, while no
     * record on flash says so; NULL: there was none yet.
     */
    GHashTable *trims;
} ScarpBuffer;

#endif /* SCARP_BUFFER_STATE_H */
