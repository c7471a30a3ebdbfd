/*
 * core, the lowest room. Owns: the time and the pending events, the sequence
 * numbers, the policies' random numbers, and whether a law was broken. Facts
 * about a drive that are fixed when it is made (description.h, geometry.h) may
 * be read by every room.
 *
 * Other rooms ask it for the time, to be woken at a time, for the next number,
 * for memory and pools; checked builds tell it of rare states. core asks no
 * other room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CORE_STATE_H
#define SCARP_CORE_STATE_H

#include "core/command_queue.h"
#include "core/description.h"
#include "core/event.h"
#include "core/geometry.h"
#include "core/pool.h"
#include "forward.h"
#include "marks.h"

typedef struct {
    ScarpEvents events;
    int64_t now_ns;    /* of the last event or call */
    int64_t past_ns;   /* life before this clock began: an image's */
    uint64_t next_seq; /* of commands, flash commands and units */
    uint64_t random;   /* state of the policies' generator */
    uint64_t seed;
    uint32_t in_device; /* commands dispatched and not ended */
    bool broken;
#ifdef SCARP_CHECKED
    uint64_t marks[SCARP_MARK__COUNT]; /* how often each mark was met */
    uint64_t laws_units; /* the drive's units, added at each event */
#endif
} ScarpCore;

#endif /* SCARP_CORE_STATE_H */
