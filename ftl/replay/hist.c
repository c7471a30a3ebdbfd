/*
 * Latencies in log-linear buckets, each with what its commands waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace.h"

#include <string.h>

static uint32_t bucket_of(uint64_t ns)
{
    int shift;

    if (ns < HIST_SUB) {
        return ns;
    }
    shift = 63 - __builtin_clzll(ns) - HIST_SUB_BITS;
    return (shift + 1) * HIST_SUB + (ns >> shift) - HIST_SUB;
}

static uint64_t last_of(uint32_t bucket)
{
    uint32_t shift = bucket / HIST_SUB;

    if (!shift) {
        return bucket;
    }
    return ((uint64_t)(bucket % HIST_SUB + HIST_SUB + 1) << (shift - 1)) - 1;
}

void hist_init(Hist *hist)
{
    memset(hist, 0, sizeof(*hist));
    hist->cause_ns = g_malloc0(sizeof(*hist->cause_ns) * HIST_BUCKETS);
}

void hist_clear(Hist *hist)
{
    g_clear_pointer(&hist->cause_ns, g_free);
}

void hist_add(Hist *hist, const ScarpCmd *cmd)
{
    uint64_t ns = cmd->complete_ns - cmd->submit_ns;
    uint32_t bucket = bucket_of(ns);

    hist->n++;
    hist->sum_ns += ns;
    hist->max_ns = MAX(hist->max_ns, ns);
    hist->count[bucket]++;
    for (int i = 0; i < SCARP_CAUSE__COUNT; i++) {
        hist->cause_ns[bucket][i] += cmd->cause_ns[i];
    }
}

uint64_t hist_quantile(const Hist *hist, uint64_t permillion)
{
    uint64_t wanted = ((unsigned __int128)hist->n * permillion + 999999) /
                      1000000;
    uint64_t seen = 0;

    for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
        seen += hist->count[i];
        if (hist->count[i] && seen >= MAX(wanted, 1)) {
            return MIN(last_of(i), hist->max_ns);
        }
    }
    return 0;
}

void hist_tail(const Hist *hist, uint64_t permillion, uint64_t *n,
               uint64_t cause_ns[SCARP_CAUSE__COUNT])
{
    uint64_t wanted = (unsigned __int128)hist->n * permillion / 1000000;

    *n = 0;
    memset(cause_ns, 0, sizeof(uint64_t) * SCARP_CAUSE__COUNT);
    for (uint32_t i = HIST_BUCKETS; i-- > 0 && *n < MAX(wanted, 1);) {
        *n += hist->count[i];
        for (int c = 0; c < SCARP_CAUSE__COUNT; c++) {
            cause_ns[c] += hist->cause_ns[i][c];
        }
    }
}
