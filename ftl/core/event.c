/*
 * The queue of events: lanes (lists) for events that come in order, and a
 * winner tree for the others (core/event.h).
 *
 * Comparisons are written as choices or masks, not as branches, because a
 * processor cannot predict which event is earlier.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/event.h"

#define NONE UINT32_MAX
#define NOWHERE SCARP_HEAD__COUNT

/* The two halves of events->head[]: the heads of lanes, and all other heads. */
enum { LANES, OTHERS };

static inline ScarpEventKey key_of(int64_t time_ns, uint64_t seq)
{
    return (ScarpEventKey)time_ns << 64 | seq;
}

/*
 * Sets the time of a head. Callers pass `half` as a constant, so that the
 * compiler need not compute it from `head`.
 */
static inline void set_head(ScarpEvents *events, uint32_t half, uint32_t head,
                            int64_t time_ns, uint64_t seq)
{
    uint64_t value = (uint64_t)time_ns * SCARP_HEAD__COUNT + head;

    events->head[head] = value;
    events->head_seq[head] = seq;
    events->least_of[half] = MIN(events->least_of[half], value);
}

static inline void clear_head(ScarpEvents *events, uint32_t half, uint32_t head)
{
    const uint64_t *of = &events->head[half * SCARP_HEAD_HALF];

    events->head[head] = UINT64_MAX;
    events->least_of[half] = MIN(MIN(of[0], of[1]), MIN(of[2], of[3]));
}

static inline void clear_any(ScarpEvents *events, uint32_t head)
{
    if (head < SCARP_HEAD_HALF) {
        clear_head(events, LANES, head);
    } else {
        clear_head(events, OTHERS, head);
    }
}

/* Sets a head again that was cleared, to the time in `value`. */
static inline void put_back(ScarpEvents *events, uint32_t head, uint64_t value)
{
    uint64_t *least = &events->least_of[head / SCARP_HEAD_HALF];

    events->head[head] = value - value % SCARP_HEAD__COUNT + head;
    *least = MIN(*least, events->head[head]);
}

/*
 * Equal times are common: when one die's transfer ends, another die's transfer
 * begins on the same channel. All heads with that time are cleared one by one,
 * and then put back, but for the one that was set first.
 */
uint32_t scarp_events_take(ScarpEvents *events)
{
    uint64_t value = scarp_events_least(events), next;
    uint32_t first = value % SCARP_HEAD__COUNT;
    uint32_t later = 0; /* bit i: head i has the same time, and was set later */

    clear_any(events, first);
    next = scarp_events_least(events);
    while ((next ^ value) < SCARP_HEAD__COUNT) {
        uint32_t rival = next % SCARP_HEAD__COUNT;
        bool earlier = events->head_seq[rival] < events->head_seq[first];

        clear_any(events, rival);
        later |= 1u << (earlier ? first : rival);
        first = earlier ? rival : first;
        next = scarp_events_least(events);
    }
    for (; later; later &= later - 1) {
        put_back(events, __builtin_ctz(later), value);
    }
    return first;
}

void scarp_events_init(ScarpEvents *events, uint32_t n_far)
{
    uint32_t n = 2;

    while (n < n_far) {
        n *= 2;
    }
    *events = (ScarpEvents) { .n_far = n_far, .n_leaves = n };
    events->event = g_new0(ScarpEvent, n_far);
    events->leaf = g_new(ScarpEventKey, n);
    events->winner = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n_far; i++) {
        events->event[i].place = NOWHERE;
    }
    for (uint32_t i = 0; i < n; i++) {
        events->leaf[i] = key_of(SCARP_TIME_NEVER, 0);
    }
    for (uint32_t i = 0; i < SCARP_HEAD__COUNT; i++) {
        events->head[i] = UINT64_MAX;
    }
    events->least_of[LANES] = events->least_of[OTHERS] = UINT64_MAX;
    for (uint32_t i = 0; i < SCARP_EVENTS_LANES; i++) {
        events->lane_first[i] = events->lane_last[i] = NONE;
    }
    for (uint32_t i = n - 1; i >= 1; i--) {
        /* no source has an event yet, so any leaf may be the winner */
        events->winner[i] = i >= n / 2 ? (i - n / 2) * 2
                                       : events->winner[2 * i];
    }
}

void scarp_events_clear(ScarpEvents *events)
{
    g_clear_pointer(&events->event, g_free);
    g_clear_pointer(&events->leaf, g_free);
    g_clear_pointer(&events->winner, g_free);
}

void scarp_events_set_near(ScarpEvents *events, uint32_t near, int64_t time_ns)
{
    if (time_ns == SCARP_TIME_NEVER) {
        clear_head(events, OTHERS, SCARP_HEAD_NEAR + near);
        return;
    }
    if (events->head[SCARP_HEAD_NEAR + near] == events->least_of[OTHERS]) {
        /*
         * the head was the least of its half, and its new time may be greater
         */
        clear_head(events, OTHERS, SCARP_HEAD_NEAR + near);
    }
    set_head(events, OTHERS, SCARP_HEAD_NEAR + near, time_ns,
             events->next_seq++);
}

static void set_leaf(ScarpEvents *events, uint32_t source, ScarpEventKey key)
{
    uint32_t *winner = events->winner;
    uint32_t best = source, rival = source ^ 1;
    uint32_t node = (events->n_leaves + source) / 2;

    events->leaf[source] = key;
    for (;;) {
        ScarpEventKey rival_key = events->leaf[rival];
        bool earlier = rival_key < key;
        uint32_t before = winner[node];

        best = earlier ? rival : best;
        key = earlier ? rival_key : key;
        winner[node] = best;
        if (before != source && before == best) {
            return; /* the winners above this node stay the same */
        }
        if (node == 1) {
            break;
        }
        rival = winner[node ^ 1];
        node /= 2;
    }
    clear_head(events, OTHERS, SCARP_HEAD_TREE);
    if (key >> 64 != SCARP_TIME_NEVER) {
        set_head(events, OTHERS, SCARP_HEAD_TREE, key >> 64, key);
    }
}

/*
 * Makes the event of the source `next` the first of the lane. The caller has
 * taken the lane's old first event and cleared its head.
 */
static inline void behead(ScarpEvents *events, uint32_t lane, uint32_t next)
{
    events->lane_first[lane] = next;
    if (next == NONE) {
        events->lane_last[lane] = NONE;
    } else {
        ScarpEvent *event = &events->event[next];

        event->prev = NONE;
        set_head(events, LANES, lane, event->time_ns, event->seq);
    }
}

uint32_t scarp_events_lane_taken(ScarpEvents *events, uint32_t lane)
{
    uint32_t source = events->lane_first[lane];
    ScarpEvent *event = &events->event[source];

    event->place = NOWHERE;
    behead(events, lane, event->next);
    return source;
}

static void unlink_lane(ScarpEvents *events, uint32_t source)
{
    ScarpEvent *event = &events->event[source];
    uint32_t lane = event->place;

    event->place = NOWHERE;
    if (event->prev == NONE) {
        clear_head(events, LANES, lane);
        behead(events, lane, event->next);
        return;
    }
    events->event[event->prev].next = event->next;
    *(event->next == NONE ? &events->lane_last[lane]
                          : &events->event[event->next].prev) = event->prev;
}

static void forget(ScarpEvents *events, uint32_t source)
{
    if (events->event[source].place == SCARP_HEAD_TREE) {
        events->event[source].place = NOWHERE;
        set_leaf(events, source, key_of(SCARP_TIME_NEVER, 0));
    } else if (events->event[source].place != NOWHERE) {
        unlink_lane(events, source);
    }
}

uint32_t scarp_events_tree_taken(ScarpEvents *events)
{
    uint32_t source = events->winner[1];

    forget(events, source);
    return source;
}

void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns)
{
    ScarpEvent *event = &events->event[source];

    if (time_ns == SCARP_TIME_NEVER) {
        forget(events, source);
        return;
    }
    if (event->place < SCARP_EVENTS_LANES) {
        unlink_lane(events, source);
    }
    event->place = SCARP_HEAD_TREE;
    set_leaf(events, source, key_of(time_ns, events->next_seq++));
}

static inline void append(ScarpEvents *events, uint32_t lane, uint32_t source,
                          int64_t time_ns)
{
    ScarpEvent *event = &events->event[source];
    uint32_t last = events->lane_last[lane];

    event->time_ns = time_ns;
    event->seq = events->next_seq++;
    event->place = lane;
    event->prev = last;
    event->next = NONE;
    events->lane_last[lane] = source;
    if (last == NONE) {
        events->lane_first[lane] = source;
        set_head(events, LANES, lane, time_ns, event->seq);
    } else {
        events->event[last].next = source;
    }
}

/* True when the lane has an event later than time_ns. */
static inline bool has_later(const ScarpEvents *events, uint32_t lane,
                             int64_t time_ns)
{
    uint32_t last = events->lane_last[lane];

    return last != NONE && time_ns < events->event[last].time_ns;
}

/*
 * Sets an event that replaces another one of its source, or that comes out of
 * the lane's order. The function is out of line, because all other events would
 * save registers for it.
 */
static void __attribute__((noinline)) set_out_of_order(ScarpEvents *events,
                                                       uint32_t lane,
                                                       uint32_t source,
                                                       int64_t time_ns)
{
    forget(events, source);
    if (has_later(events, lane, time_ns)) {
        scarp_events_set(events, source, time_ns);
    } else {
        append(events, lane, source, time_ns);
    }
}

void scarp_events_set_lane(ScarpEvents *events, uint32_t lane, uint32_t source,
                           int64_t time_ns)
{
    if (events->event[source].place != NOWHERE ||
        has_later(events, lane, time_ns)) {
        set_out_of_order(events, lane, source, time_ns);
    } else {
        append(events, lane, source, time_ns);
    }
}
