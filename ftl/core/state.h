/*
 * core: the lowest directory of ftl/. It owns the clock and the pending events,
 * the sequence numbers, the random numbers of policies, and whether the drive
 * is broken (an invariant did not hold). All of ftl/ may read description.h and
 * geometry.h, which tell facts about a drive that never change.
 *
 * Other directories ask core for the time, for an event at a time, for the next
 * sequence number, for memory and pools. In checked builds core also counts
 * marks: rare states that a drive has met. core calls no other directory.
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
    int64_t now_ns;    /* time of the last event or call */
    int64_t past_ns;   /* drive's age, from its image, when this clock began */
    uint64_t next_seq; /* of NVMe commands, flash commands and units */
    uint64_t random;   /* state of the generator that policies share */
    uint64_t seed;
    uint32_t in_device; /* NVMe commands dispatched and not ended */
    bool broken;
#ifdef SCARP_CHECKED
    uint64_t marks[SCARP_MARK__COUNT]; /* how often each mark was met */
    uint64_t laws_units; /* units of the drive, times the events so far */
#endif
} ScarpCore;

#endif /* SCARP_CORE_STATE_H */
