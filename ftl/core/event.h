/*
 * The queue of events: sources (channel, die, pipeline stage) with at most one
 * pending event each, in the order of time, then of being set.
 *
 * Most events of a kind take the same time, so they come in the order in which
 * they are set. Each kind has a lane, a list to whose end such an event is
 * appended; an event that would come before the lane's last goes into a winner
 * tree over the sources, as do events without a lane. The few stages that every
 * command passes, the near sources, stand beside them. The next event is the
 * least of the heads. So an event mostly costs the same on any number of dies,
 * log2 of it at worst, and allocates nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_EVENT_H
#define SCARP_EVENT_H

#include "scarp.h"

#define SCARP_EVENTS_LANES 4
#define SCARP_EVENTS_NEAR 3

/* Heads: the lanes', then the near sources, then the tree's. */
enum {
    SCARP_HEAD_NEAR = SCARP_EVENTS_LANES,
    SCARP_HEAD_TREE = SCARP_HEAD_NEAR + SCARP_EVENTS_NEAR,
    SCARP_HEAD__COUNT
};
G_STATIC_ASSERT(SCARP_HEAD__COUNT == 8);
/*
 * The lanes are one half of the heads: clearing a head compares only its half.
 */
#define SCARP_HEAD_HALF 4
G_STATIC_ASSERT(SCARP_EVENTS_LANES == SCARP_HEAD_HALF);

/* Time in the upper half; the lower half breaks ties: set earlier, first. */
typedef unsigned __int128 ScarpEventKey;

typedef struct {
    int64_t time_ns;     /* in a lane */
    uint64_t seq;        /* ditto */
    uint32_t next, prev; /* ditto; sources, or UINT32_MAX */
    uint32_t place;      /* its lane, the tree, or SCARP_HEAD__COUNT: nowhere */
} ScarpEvent;

typedef struct {
    /*
     * Each head's time × 8 + its number, so that the least value is the next
     * event; scarp_events_take() puts equal times in order. UINT64_MAX: no
     * event.
     */
    uint64_t head[SCARP_HEAD__COUNT];
    uint64_t least_of[2]; /* the least head of each half */
    uint64_t head_seq[SCARP_HEAD__COUNT];
    uint64_t next_seq;
    uint32_t n_far;
    uint32_t lane_first[SCARP_EVENTS_LANES], lane_last[SCARP_EVENTS_LANES];
    ScarpEvent *event;   /* [n_far] */
    uint32_t n_leaves;   /* power of two: n_far, rounded up */
    uint32_t *winner;    /* [n_leaves], winner[1] is the next of the tree */
    ScarpEventKey *leaf; /* [n_leaves] */
} ScarpEvents;

/*
 * Makes a queue for sources 0 … n_far - 1, which may use lanes and the tree;
 * near sources are numbered apart.
 */
void scarp_events_init(ScarpEvents *events, uint32_t n_far);
void scarp_events_clear(ScarpEvents *events);

/* Sets the only pending event of source; SCARP_TIME_NEVER removes it. */
void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns);
void scarp_events_set_near(ScarpEvents *events, uint32_t near, int64_t time_ns);
/*
 * Sets source's event in a lane, whose events mostly come in the order of being
 * set.
 */
void scarp_events_set_lane(ScarpEvents *events, uint32_t lane, uint32_t source,
                           int64_t time_ns);

/*
 * Takes the next event, which must exist, and returns its head. A near source
 * is known by its head; otherwise the head's *_taken() must follow, which
 * returns the source.
 */
uint32_t scarp_events_take(ScarpEvents *events);
uint32_t scarp_events_lane_taken(ScarpEvents *events, uint32_t lane);
uint32_t scarp_events_tree_taken(ScarpEvents *events);

static inline uint64_t scarp_events_least(const ScarpEvents *events)
{
    return MIN(events->least_of[0], events->least_of[1]);
}

/*
 * True when an event is due until time_ns, which must not be SCARP_TIME_NEVER.
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
