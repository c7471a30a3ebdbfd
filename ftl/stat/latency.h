/*
 * Histograms of read and write latencies, and how long the slowest commands
 * spent on each cause (stat/latency.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_LATENCY_H
#define SCARP_LATENCY_H

#include "core/cause_parts.h"

typedef struct ScarpLatency ScarpLatency;

enum {
    SCARP_LATENCY_OPS = 2, /* of SCARP_OP_READ and SCARP_OP_WRITE */
    SCARP_LATENCY_PAGE_WORDS = SCARP_LATENCY_OPS *
        (1 + SCARP_LATENCY_POINT_COUNT +
         SCARP_LATENCY_TAIL_COUNT * (2 + SCARP_CAUSE__COUNT)),
};

/*
 * Allocate and free a drive's latency histograms. scarp_stats_reset() frees
 * them and allocates empty ones.
 */
void scarp_latency_init(ScarpDrive *drive);
void scarp_latency_clear(ScarpDrive *drive);
/* Sums over the commands of a bucket, to which the caller adds a command's. */
typedef struct {
    uint64_t cause_ns[SCARP_CAUSE__COUNT];
    ScarpParts parts; /* parts of cause_ns[] */
} ScarpCauseSums;

/*
 * Counts a completed read or write in the histograms. Returns the sums of the
 * bucket for the command's latency.
 */
ScarpCauseSums *scarp_latency_add(ScarpDrive *drive, const ScarpCmd *cmd);
/*
 * Write all quantiles and tails of the latencies: as JSON for
 * scarp_stats_json(), and as words for scarp_stats_log_page().
 */
void scarp_latency_json(const ScarpDrive *drive, GString *json);
void scarp_latency_page(const ScarpDrive *drive,
                        uint64_t page[SCARP_LATENCY_PAGE_WORDS]);

#endif /* SCARP_LATENCY_H */
