/*
 * Latencies of reads and writes, and the causes of the slowest: stat/latency.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_LATENCY_H
#define SCARP_LATENCY_H

#include "scarp.h"

typedef struct ScarpLatency ScarpLatency;

enum {
    SCARP_LATENCY_OPS = 2, /* SCARP_OP_READ, SCARP_OP_WRITE */
    SCARP_LATENCY_PAGE_WORDS = SCARP_LATENCY_OPS *
        (1 + SCARP_LATENCY_POINT_COUNT +
         SCARP_LATENCY_TAIL_COUNT * (2 + SCARP_CAUSE__COUNT)),
};

/* Makes and frees the drive's latencies; a reset does both. */
void scarp_latency_init(ScarpDrive *drive);
void scarp_latency_clear(ScarpDrive *drive);
/*
 * Adds a completed read or write; returns its bucket's [SCARP_CAUSE__COUNT]
 * sums.
 */
uint64_t *scarp_latency_add(ScarpDrive *drive, const ScarpCmd *cmd);
/*
 * Write the latencies' part of scarp_stats_json() and scarp_stats_log_page().
 */
void scarp_latency_json(const ScarpDrive *drive, GString *json);
void scarp_latency_page(const ScarpDrive *drive,
                        uint64_t page[SCARP_LATENCY_PAGE_WORDS]);

#endif /* SCARP_LATENCY_H */
