/*
 * The queue of events. Each source (channel, die, pipeline stage) has at most
 * one pending event. Events come in the order of time, and of equal times the
 * one that was set first.
 *
 * Most events of a kind take the same time, so they come in the order in which
 * they are set. Each kind has a lane: a list to whose end such an event is
 * appended. Events without a lane go into a winner tree over the sources; so do
 * events that would come before the last event of their lane. The few stages
 * that every command passes, the near sources, are kept beside lanes and tree.
 * A head is the first event of a lane, of a near source, or of the tree; the
 * next event is the least of the heads. So an event mostly costs the same on
 * any number of dies, at worst the logarithm of that number, and allocates
 * nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_EVENT_H
#define SCARP_EVENT_H

#include "scarp.h"

#define SCARP_EVENTS_LANES 4
#define SCARP_EVENTS_NEAR 3

/* Numbers of the heads: lanes first, then near sources, then the tree. */
enum {
    SCARP_HEAD_NEAR = SCARP_EVENTS_LANES,
    SCARP_HEAD_TREE = SCARP_HEAD_NEAR + SCARP_EVENTS_NEAR,
    SCARP_HEAD__COUNT
};
G_STATIC_ASSERT(SCARP_HEAD__COUNT == 8);
/*
 * The lanes are the first half of the heads: when a head is cleared, only the
 * heads of its half are compared.
 */
#define SCARP_HEAD_HALF 4
G_STATIC_ASSERT(SCARP_EVENTS_LANES == SCARP_HEAD_HALF);

/*
 * Time in the upper half. The lower half, which counts, puts equal times in the
 * order in which they were set.
 */
typedef unsigned __int128 ScarpEventKey;

typedef struct {
    int64_t time_ns;     /* of an event in a lane */
    uint64_t seq;        /* of an event in a lane */
    uint32_t next, prev; /* sources in the lane; UINT32_MAX: none */
    uint32_t place;      /* lane, tree, or SCARP_HEAD__COUNT: no event */
} ScarpEvent;

typedef struct {
    /*
     * Time of each head × 8 + its number, so that the least value is the next
     * event; UINT64_MAX: no event. scarp_events_take() puts equal times in
     * order.
     */
    uint64_t head[SCARP_HEAD__COUNT];
    uint64_t least_of[2]; /* the least head of each half */
    uint64_t head_seq[SCARP_HEAD__COUNT];
    uint64_t next_seq;
    uint32_t n_far;
    uint32_t lane_first[SCARP_EVENTS_LANES], lane_last[SCARP_EVENTS_LANES];
    ScarpEvent *event;   /* [n_far] */
    uint32_t n_leaves;   /* power of two: n_far, rounded up */
    uint32_t *winner;    /* [n_leaves]; winner[1]: the tree's next source */
    ScarpEventKey *leaf; /* [n_leaves]: the source's event */
} ScarpEvents;

/*
 * Makes a queue for n_far sources, 0 to n_far - 1, whose events are in lanes
 * and the tree. Near sources have numbers of their own.
 */
void scarp_events_init(ScarpEvents *events, uint32_t n_far);
void scarp_events_clear(ScarpEvents *events);

/* Sets the only pending event of the source; SCARP_TIME_NEVER removes it. */
void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns);
void scarp_events_set_near(ScarpEvents *events, uint32_t near, int64_t time_ns);
/*
 * Sets the event of the source in a lane. Events of a lane should mostly be set
 * in the order of their times.
 */
void scarp_events_set_lane(ScarpEvents *events, uint32_t lane, uint32_t source,
                           int64_t time_ns);

/*
 * Takes the next event, which must exist, and returns the number of its head.
 * If the head is a near source's, that is the event's source. If it is a lane's
 * or the tree's, the caller calls scarp_events_lane_taken() or
 * scarp_events_tree_taken(), which returns the source.
 */
uint32_t scarp_events_take(ScarpEvents *events);
uint32_t scarp_events_lane_taken(ScarpEvents *events, uint32_t lane);
uint32_t scarp_events_tree_taken(ScarpEvents *events);

static inline uint64_t scarp_events_least(const ScarpEvents *events)
{
    return MIN(events->least_of[0], events->least_of[1]);
}

/*
 * True when an event is due at time_ns or before. time_ns must not be
 * SCARP_TIME_NEVER.
 */
static inline bool scarp_events_until(const ScarpEvents *events,
                                      int64_t time_ns)
{
    return scarp_events_least(events) / SCARP_HEAD__COUNT <= (uint64_t)time_ns;
}

static inline int64_t scarp_events_next_ns(const ScarpEvents *events)
{
    uint64_t least = scarp_events_least(events);

    return least == UINT64_MAX ? SCARP_TIME_NEVER
                               : (int64_t)(least / SCARP_HEAD__COUNT);
}

#endif /* SCARP_EVENT_H */
