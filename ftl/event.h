/*
 * Event sources in a winner tree.
 *
 * Every resource (channel, die, pipeline stage) has at most one pending event,
 * so the queue is a tournament over sources, not over events: it never
 * allocates, and an update costs at most log2(sources).  The few stages that
 * every command passes stand next to the root.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_EVENT_H
#define SCARP_EVENT_H

#include "scarp.h"

#define SCARP_EVENTS_NEAR 3

/* Time in the upper half; below it what breaks ties: set earlier, first. */
typedef unsigned __int128 ScarpEventKey;

typedef struct {
    ScarpEventKey first_key;
    uint32_t first;    /* source of the next event */
    uint32_t n_far;
    uint32_t n_leaves; /* power of two; n_far and some that never happen */
    uint64_t next_seq;
    ScarpEventKey near[SCARP_EVENTS_NEAR];
    ScarpEventKey *key; /* [n_leaves] */
    uint32_t *winner;   /* [n_leaves], winner[1] is the next of the far ones */
} ScarpEvents;

/* Sources 0 … n_far - 1 in the tree, then the near ones. */
void scarp_events_init(ScarpEvents *events, uint32_t n_far);
void scarp_events_clear(ScarpEvents *events);

/* Set the only pending event of source; SCARP_TIME_NEVER removes it. */
void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns);
void scarp_events_set_near(ScarpEvents *events, uint32_t near, int64_t time_ns);

static inline int64_t scarp_events_next_ns(const ScarpEvents *events)
{
    return events->first_key >> 64;
}

#endif /* SCARP_EVENT_H */
