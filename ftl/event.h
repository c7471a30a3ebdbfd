/*
 * Event sources in a winner tree.
 *
 * Every resource (channel, die, pipeline stage) has at most one pending event,
 * so the queue is a tournament over sources, not over events: it never
 * allocates, and an update costs log2(sources).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_EVENT_H
#define SCARP_EVENT_H

#include "scarp.h"

typedef struct {
    int64_t time_ns;
    uint64_t seq; /* breaks ties: the earlier scheduled goes first */
} ScarpEventKey;

typedef struct {
    uint32_t n_leaves; /* power of two */
    uint64_t next_seq;
    ScarpEventKey *key; /* [n_leaves] */
    uint32_t *winner;   /* [n_leaves], winner[1] is the next source */
} ScarpEvents;

void scarp_events_init(ScarpEvents *events, uint32_t n_sources);
void scarp_events_clear(ScarpEvents *events);

/* Set the only pending event of source; SCARP_TIME_NEVER removes it. */
void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns);

static inline uint32_t scarp_events_first(const ScarpEvents *events)
{
    return events->winner[1];
}

static inline int64_t scarp_events_next_ns(const ScarpEvents *events)
{
    return events->key[events->winner[1]].time_ns;
}

#endif /* SCARP_EVENT_H */
