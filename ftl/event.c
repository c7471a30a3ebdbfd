/*
 * Event sources in a winner tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "event.h"

static inline bool key_before(const ScarpEventKey *a, const ScarpEventKey *b)
{
    return a->time_ns < b->time_ns ||
           (a->time_ns == b->time_ns && a->seq < b->seq);
}

void scarp_events_init(ScarpEvents *events, uint32_t n_sources)
{
    uint32_t n = 2;

    while (n < n_sources) {
        n *= 2;
    }
    events->n_leaves = n;
    events->next_seq = 0;
    events->key = g_new(ScarpEventKey, n);
    events->winner = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        events->key[i].time_ns = SCARP_TIME_NEVER;
        events->key[i].seq = i;
    }
    for (uint32_t i = n - 1; i >= 1; i--) {
        /* All keys are equal now, and the left child is as good as any. */
        events->winner[i] = i >= n / 2 ? (i - n / 2) * 2
                                       : events->winner[2 * i];
    }
}

void scarp_events_clear(ScarpEvents *events)
{
    g_clear_pointer(&events->key, g_free);
    g_clear_pointer(&events->winner, g_free);
}

void scarp_events_set(ScarpEvents *events, uint32_t source, int64_t time_ns)
{
    ScarpEventKey *key = events->key;
    uint32_t *winner = events->winner;
    uint32_t node = (events->n_leaves + source) / 2;
    uint32_t best = source;
    uint32_t rival = source ^ 1;

    key[source].time_ns = time_ns;
    key[source].seq = events->next_seq++;
    for (;;) {
        if (key_before(&key[rival], &key[best])) {
            best = rival;
        }
        winner[node] = best;
        if (node == 1) {
            break;
        }
        rival = winner[node ^ 1];
        node /= 2;
    }
}
