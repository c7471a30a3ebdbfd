/*
 * buffer: host data on its way to flash. This directory owns the units that the
 * host wrote and that are not on flash yet (ScarpDirty), in the order of
 * arrival, which flushes need. It also owns the room for these units (the write
 * buffer), the commands that wait for room, and the flushes that wait.
 *
 * Without a write buffer (controller.buffer_bytes=0) the same code runs. A
 * write command then completes only when its data has been programmed, and its
 * pages are programmed at once, even if they are not full.
 *
 * flow passes each write, deallocation and flush to buffer, and tells buffer
 * when a program of host data has ended. buffer returns the commands that have
 * completed. buffer calls pack, map, media and parity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_STATE_H
#define SCARP_BUFFER_STATE_H

#include "parity/state.h"

/* A unit that the host wrote. */
typedef struct ScarpDirty ScarpDirty;
struct ScarpDirty {
    ScarpUnit unit; /* first member; pack and nand know only this part */
    ScarpDirty *older, *newer; /* neighbours in the order of arrival */
    /* newer partial write of this LPN, which waits for this unit's bytes */
    ScarpDirty *dependent;
    ScarpCmd *cmd;        /* the command that waits for the program; or NULL */
    uint64_t cmd_seq;     /* seq of the command that wrote the unit */
    int64_t created_ns;
    int64_t mapping_ns;   /* time that the unit waited for its mapping entry */
    int64_t rmw_ns;       /* time that the read of its other bytes took */
    uint32_t first_byte, bytes; /* the bytes that the host wrote */
    bool pinned;          /* its mapping entry is pinned in RAM */
    bool has_place;       /* RAM for its stripe's parity is reserved */
    bool until_ready;     /* cmd waits for the unit's other bytes, not flash */
    bool superseded;      /* a newer write, or a deallocate, made it stale */
    bool not_awaited;     /* no flush waits for it (lie.flush_queued_only) */
    bool burnt; /* on flash, although power failed during its program */
};

typedef struct {
    ScarpDirty *oldest, *newest;
    uint64_t room_units;     /* 0: no write buffer */
    bool draining;           /* a drain runs, until the buffer is empty */
    uint64_t used, packing;  /* buffered units, and those of them in packers */
    ScarpCmdQueue waiting;   /* writes that wait for room */
    ScarpCmdQueue flushes;
    ScarpPacker *packer; /* [plane; n_planes: not chosen yet][stream] */
    ScarpPool pool;      /* of ScarpDirty */
    uint64_t *record;    /* [geo.record_lpns]: scratch to make a record */
    /*
     * Deallocated LPNs whose deallocation is in no record on flash yet, each
     * with the version number of that deallocation. Used only if power may fail
     * (nand.power_cuts). NULL: there are no such LPNs.
     */
    GHashTable *unrecorded;
} ScarpBuffer;

#endif /* SCARP_BUFFER_STATE_H */
