/*
 * Event sources in a winner tree.
 *
 * Comparisons are written as choices, not as branches: which source is earlier
 * cannot be predicted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "event.h"

static ScarpEventKey key_of(int64_t time_ns, uint64_t seq)
{
    return (ScarpEventKey)time_ns << 64 | seq;
}

void scarp_events_init(ScarpEvents *events, uint32_t n_far)
{
    uint32_t n = 2;

    while (n < n_far) {
        n *= 2;
    }
    events->n_far = n_far;
    events->n_leaves = n;
    events->next_seq = 0;
    events->key = g_new(ScarpEventKey, n);
    events->winner = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        events->key[i] = key_of(SCARP_TIME_NEVER, 0);
    }
    for (uint32_t i = 0; i < SCARP_EVENTS_NEAR; i++) {
        events->near[i] = key_of(SCARP_TIME_NEVER, 0);
    }
    for (uint32_t i = n - 1; i >= 1; i--) {
        /* All keys are equal now, and the left child is as good as any. */
        events->winner[i] = i >= n / 2 ? (i - n / 2) * 2
                                       : events->winner[2 * i];
    }
    events->first = events->winner[1];
    events->first_key = events->key[events->first];
}

void scarp_events_clear(ScarpEvents *events)
{
    g_clear_pointer(&events->key, g_free);
    g_clear_pointer(&events->winner, g_free);
}

/* The event of events->first is gone or later than it was. */
static void choose_first(ScarpEvents *events)
{
    uint32_t first = events->winner[1];
    ScarpEventKey best = events->key[first];

    for (uint32_t i = 0; i < SCARP_EVENTS_NEAR; i++) {
        bool earlier = events->near[i] < best;

        best = earlier ? events->near[i] : best;
        first = earlier ? events->n_far + i : first;
    }
    events->first = first;
    events->first_key = best;
}

static void changed(ScarpEvents *events, uint32_t source, uint32_t best,
                    ScarpEventKey best_key)
{
    if (source == events->first) {
        choose_first(events);
    } else if (best_key < events->first_key) {
        events->first = best;
        events->first_key = best_key;
    }
}

void scarp_events_set_near(ScarpEvents *events, uint32_t near, int64_t time_ns)
{
    ScarpEventKey key = key_of(time_ns, events->next_seq++);

    events->near[near] = key;
    changed(events, events->n_far + near, events->n_far + near, key);
}

void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns)
{
    ScarpEventKey best_key = key_of(time_ns, events->next_seq++);
    uint32_t *winner = events->winner;
    uint32_t best = source, rival = source ^ 1;
    uint32_t node = (events->n_leaves + source) / 2;

    events->key[source] = best_key;
    for (;;) {
        ScarpEventKey rival_key = events->key[rival];
        bool earlier = rival_key < best_key;
        uint32_t before = winner[node];

        best = earlier ? rival : best;
        best_key = earlier ? rival_key : best_key;
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
    changed(events, source, best, best_key);
}
