/*
 * The queue of events, in the order of their times; of equal times the event
 * that was set first comes first. An event belongs to a source (a channel, a
 * die, a pipeline stage), and a source has at most one.
 *
 * Most events of a kind take equally long, so they come in the order in which
 * they are set. Such a kind has a lane, a list to whose end the event is
 * appended. Events without a lane, and those that come before the last one of
 * their lane, go into a winner tree: a tournament of all sources. Each of the
 * few stages that every command passes (near sources) has a place of its own.
 *
 * A head is the first event of a lane, the event of a near source, or the
 * winner of the tree. The earliest of the 8 heads is the next event. So an
 * event mostly costs the same on any number of dies, at worst the logarithm of
 * that number, and allocates nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_EVENT_H
#define SCARP_EVENT_H

#include "scarp.h"

#define SCARP_EVENTS_LANES 4
#define SCARP_EVENTS_NEAR 3

/*
 * Numbers of the heads: first the lanes, then the near sources, then the winner
 * tree.
 */
enum {
    SCARP_HEAD_NEAR = SCARP_EVENTS_LANES,
    SCARP_HEAD_TREE = SCARP_HEAD_NEAR + SCARP_EVENTS_NEAR,
    SCARP_HEAD__COUNT
};
G_STATIC_ASSERT(SCARP_HEAD__COUNT == 8);
/*
 * The lanes are the first four of the eight heads. When a head loses its event,
 * only the four heads of its half are compared to find the new least head.
 */
#define SCARP_HEAD_HALF 4
G_STATIC_ASSERT(SCARP_EVENTS_LANES == SCARP_HEAD_HALF);

/*
 * An event's place in the tree: its time in the upper 64 bits, and in the lower
 * 64 bits a number that grows with each event set. So events of one time come
 * in the order in which they were set.
 */
typedef unsigned __int128 ScarpEventKey;

typedef struct {
    int64_t time_ns;     /* time of an event in a lane */
    uint64_t seq;        /* order of an event in a lane */
    uint32_t next, prev; /* neighbours in the lane; UINT32_MAX: none */
    /* the head: a lane's, the tree's; SCARP_HEAD__COUNT: no event */
    uint32_t place;
} ScarpEvent;

typedef struct {
    /*
     * Each head's time × 8 + the head's number, so that the least value gives
     * both the time and the head of the next event. UINT64_MAX: the head has no
     * event. Of heads with equal times, scarp_events_take() finds the head that
     * was set first.
     */
    uint64_t head[SCARP_HEAD__COUNT];
    uint64_t least_of[2]; /* the least value of each half of `head` */
    uint64_t head_seq[SCARP_HEAD__COUNT];
    uint64_t next_seq;
    uint32_t n_far;
    uint32_t lane_first[SCARP_EVENTS_LANES], lane_last[SCARP_EVENTS_LANES];
    ScarpEvent *event;   /* [n_far] */
    uint32_t n_leaves;   /* n_far, rounded up to a power of two */
    uint32_t *winner;    /* [n_leaves]; winner[1]: the tree's next source */
    ScarpEventKey *leaf; /* [n_leaves]: each source's event */
} ScarpEvents;

/*
 * Makes a queue for two kinds of sources. The n_far sources (channels, dies,
 * timers) have the numbers from 0 to n_far - 1. The near sources, the few
 * stages that every NVMe command passes, have numbers of their own, which begin
 * at 0, too.
 */
void scarp_events_init(ScarpEvents *events, uint32_t n_far);
void scarp_events_clear(ScarpEvents *events);

/*
 * Sets the time of the source's event, and replaces the event that the source
 * has. SCARP_TIME_NEVER removes the source's event.
 */
void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns);
void scarp_events_set_near(ScarpEvents *events, uint32_t near, int64_t time_ns);
/*
 * Sets the time of the source's event, and appends the event to a lane. An
 * event earlier than the lane's last event goes into the tree instead, which
 * takes longer.
 */
void scarp_events_set_lane(ScarpEvents *events, uint32_t lane, uint32_t source,
                           int64_t time_ns);

/*
 * Takes the next event, which must exist, and returns the number of its head.
 * The head of a near source gives the event's source. For a lane or the tree
 * the caller then calls scarp_events_lane_taken() or scarp_events_tree_taken(),
 * which returns the source.
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
