/*
 * Latencies of reads and writes, and the causes of the slowest
 * (stat/latency.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_LATENCY_H
#define SCARP_LATENCY_H

#include "scarp.h"

typedef struct ScarpLatency ScarpLatency;

enum {
    SCARP_LATENCY_OPS = 2, /* of SCARP_OP_READ and SCARP_OP_WRITE */
    SCARP_LATENCY_PAGE_WORDS = SCARP_LATENCY_OPS *
        (1 + SCARP_LATENCY_POINT_COUNT +
         SCARP_LATENCY_TAIL_COUNT * (2 + SCARP_CAUSE__COUNT)),
};

/*
 * Make and free the latencies of a drive. A reset of the statistics does both.
 */
void scarp_latency_init(ScarpDrive *drive);
void scarp_latency_clear(ScarpDrive *drive);
/*
 * Adds a completed read or write. Returns the sums of its bucket,
 * [SCARP_CAUSE__COUNT].
 */
uint64_t *scarp_latency_add(ScarpDrive *drive, const ScarpCmd *cmd);
/*
 * Write the part of latencies in scarp_stats_json() and scarp_stats_log_page().
 */
void scarp_latency_json(const ScarpDrive *drive, GString *json);
void scarp_latency_page(const ScarpDrive *drive,
                        uint64_t page[SCARP_LATENCY_PAGE_WORDS]);

#endif /* SCARP_LATENCY_H */
