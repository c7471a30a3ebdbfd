/*
 * buffer: host data on its way to flash. Owns the units that are not there yet,
 * in the order of arrival that flush relies on, the room for them (the write
 * buffer), the commands that wait for room, and the flushes.
 *
 * Without a write buffer (controller.buffer_bytes=0) the path is the same, but
 * a write ends when it is programmed, and its pages are closed at once.
 *
 * flow passes writes, deallocations and flushes to buffer, reports the ends of
 * flash commands that buffer owns, and ends the commands that buffer hands
 * back. buffer asks pack, map, media and parity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_STATE_H
#define SCARP_BUFFER_STATE_H

#include "parity/state.h"

/* A unit that the host wrote. */
typedef struct ScarpDirty ScarpDirty;
struct ScarpDirty {
    ScarpUnit unit; /* first member: pack and nand see no more of it */
    ScarpDirty *older, *newer; /* in the order of arrival */
    ScarpDirty *dependent; /* a younger part of the same unit, which waits */
    ScarpCmd *cmd;        /* it ends when this is programmed; or NULL */
    uint64_t cmd_seq;     /* of the command that wrote it; for observers */
    int64_t created_ns;
    int64_t mapping_ns;   /* spent waiting for its mapping entry */
    int64_t rmw_ns;       /* spent reading the rest of its bytes */
    uint32_t first_byte, bytes; /* the bytes that the host wrote */
    bool pinned;          /* its mapping entry is pinned in RAM */
    bool has_place;       /* its stripe's parity has RAM for this part */
    bool until_ready;     /* cmd ends when all of its bytes are known */
    bool superseded;      /* a newer write, or a deallocate, made it stale */
    bool not_awaited;     /* no flush waits for it (lie.flush_queued_only) */
    bool burnt;           /* power fails: it is in the cells all the same */
};

typedef struct {
    ScarpDirty *oldest, *newest;
    uint64_t room_units;     /* 0: no write buffer */
    bool draining;           /* set until nothing is buffered */
    uint64_t used, packing;  /* units; packing: those in packers */
    ScarpCmdQueue waiting;   /* writes that wait for room */
    ScarpCmdQueue flushes;
    ScarpPacker *packer; /* [plane, or n_planes: not yet decided][stream] */
    ScarpPool pool;      /* of ScarpDirty */
    uint64_t *record;    /* [geo.record_lpns]: contents for a record */
    /*
     * nand.power_cuts: LPN to the version at which it was deallocated, while no
     * record on flash says so; NULL: none yet.
     */
    GHashTable *unrecorded;
} ScarpBuffer;

#endif /* SCARP_BUFFER_STATE_H */
