/*
 * A scenario, step by step, under the laws that any drive keeps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_RUN_H
#define HUNT_RUN_H

#include "export.h"
#include "scenario.h"

#define MOST_MARKS 512

/* What a command met, for comparisons. */
typedef struct {
    uint32_t drive; /* the first one, or one that was loaded later */
    int64_t submit_ns, latency_ns; /* < 0: it has not ended */
    int64_t cause_ns[SCARP_CAUSE__COUNT];
} Row;

typedef struct {
    uint64_t commands;  /* of the host */
    uint64_t events;    /* steps in time */
    uint64_t collected; /* victims, merges too */
    uint64_t merged;
    uint32_t phases;    /* switches, reloads, drains */
    uint64_t marks[MOST_MARKS]; /* of ftl/marks.h, in checked builds */
    GArray *rows;       /* Row of each command, or NULL: the caller's */
    Log *log;           /* for the replayer, or NULL: ditto */
} RunResult;

/* False and *error: a law is broken.  Only rows and log are looked at before. */
bool run_scenario(const Scenario *s, RunResult *result, GError **error);

/*
 * Whether rows agree, from the command first on: is should be as should says,
 * all times times k.  Of those that ended before command `missing` was
 * submitted only (UINT32_MAX: all).
 */
bool run_same_rows(const GArray *is, const GArray *should, uint32_t first,
                   int64_t k, uint32_t missing, const char *what,
                   GError **error);

#endif /* HUNT_RUN_H */
