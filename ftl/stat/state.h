/*
 * stat: statistics and latencies of a drive. Owns the latencies of commands;
 * counters are in ScarpDrive.stats, where each room counts its own. It asks
 * core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_STAT_STATE_H
#define SCARP_STAT_STATE_H

#include "stat/latency.h"

typedef struct {
    ScarpLatency *latency[SCARP_LATENCY_OPS]; /* reads, writes */
    uint64_t first_counted_seq; /* older commands began before the reset */
    int64_t counted_from_ns;    /* the reset's time */
} ScarpStat;

#endif /* SCARP_STAT_STATE_H */
