/*
 * stat: statistics of a drive. This directory owns the latencies of commands.
 * The counters are in ScarpDrive.stats: each directory of ftl/ increments the
 * counters of its own events. stat calls functions of core and heat.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_STAT_STATE_H
#define SCARP_STAT_STATE_H

#include "stat/latency.h"

typedef struct {
    ScarpLatency *latency[SCARP_LATENCY_OPS]; /* reads, writes */
    uint64_t first_counted_seq; /* older commands began before the last reset */
    int64_t counted_from_ns;    /* time of the last reset */
    ScarpParts parts; /* parts of ScarpStats.cause_ns[] */
} ScarpStat;

#endif /* SCARP_STAT_STATE_H */
