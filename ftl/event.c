/*
 * Lanes, and a winner tree for what comes out of order.
 *
 * Comparisons are written as choices, or masks, not as branches: which source
 * is earlier cannot be predicted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "event.h"

#define NONE UINT32_MAX
#define NOWHERE SCARP_HEAD__COUNT

static ScarpEventKey key_of(int64_t time_ns, uint64_t seq)
{
    return (ScarpEventKey)time_ns << 64 | seq;
}

static inline void set_head(ScarpEvents *events, uint32_t head,
                            int64_t time_ns, uint64_t seq)
{
    uint64_t ns = time_ns == SCARP_TIME_NEVER
                      ? (uint64_t)SCARP_TIME_NEVER + head : (uint64_t)time_ns;
    uint32_t at = SCARP_HEAD__COUNT + head;

    events->head_seq[head] = seq;
    events->round_ns[at] = ns;
    events->round_head[at] = head;
    for (; at > 1; at /= 2) {
        uint64_t rival_ns = events->round_ns[at ^ 1];
        uint32_t rival = events->round_head[at ^ 1];
        uint64_t earlier = -(uint64_t)(rival_ns < ns); /* all bits, or none */

        if (G_UNLIKELY(rival_ns == ns)) {
            earlier = -(uint64_t)(events->head_seq[rival] <
                                  events->head_seq[head]);
        }
        ns ^= (ns ^ rival_ns) & earlier;
        head ^= (head ^ rival) & earlier;
        events->round_ns[at / 2] = ns;
        events->round_head[at / 2] = head;
    }
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
        set_head(events, i, SCARP_TIME_NEVER, 0);
    }
    for (uint32_t i = 0; i < SCARP_EVENTS_LANES; i++) {
        events->lane_first[i] = events->lane_last[i] = NONE;
    }
    for (uint32_t i = n - 1; i >= 1; i--) {
        /* All keys are equal now, and the left child is as good as any. */
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
    set_head(events, SCARP_HEAD_NEAR + near, time_ns, events->next_seq++);
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
            return; /* and so it is further up */
        }
        if (node == 1) {
            break;
        }
        rival = winner[node ^ 1];
        node /= 2;
    }
    set_head(events, SCARP_HEAD_TREE, key >> 64, key);
}

/* What comes after a lane's first one is its first one. */
static inline void behead(ScarpEvents *events, uint32_t lane, uint32_t next)
{
    events->lane_first[lane] = next;
    if (next == NONE) {
        events->lane_last[lane] = NONE;
        set_head(events, lane, SCARP_TIME_NEVER, 0);
    } else {
        ScarpEvent *event = &events->event[next];

        event->prev = NONE;
        set_head(events, lane, event->time_ns, event->seq);
    }
}

uint32_t scarp_events_pop_lane(ScarpEvents *events, uint32_t lane)
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

uint32_t scarp_events_pop_tree(ScarpEvents *events)
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

void scarp_events_set_lane(ScarpEvents *events, uint32_t lane, uint32_t source,
                           int64_t time_ns)
{
    ScarpEvent *event = &events->event[source];
    uint32_t last;

    if (event->place != NOWHERE) {
        forget(events, source);
    }
    last = events->lane_last[lane];
    if (last != NONE && time_ns < events->event[last].time_ns) {
        scarp_events_set(events, source, time_ns);
        return;
    }
    event->time_ns = time_ns;
    event->seq = events->next_seq++;
    event->place = lane;
    event->prev = last;
    event->next = NONE;
    events->lane_last[lane] = source;
    if (last == NONE) {
        events->lane_first[lane] = source;
        set_head(events, lane, time_ns, event->seq);
    } else {
        events->event[last].next = source;
    }
}
