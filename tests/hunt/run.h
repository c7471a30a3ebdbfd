/*
 * A scenario, step by step, under the laws that any drive keeps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_RUN_H
#define HUNT_RUN_H

#include "export.h"
#include "rows.h"
#include "scenario.h"

#define MOST_MARKS 512
#define MOST_CUT_KINDS 2048

/* Power cuts that drives of one kind had: kinds.h. */
typedef struct {
    char name[88]; /* empty: unused */
    uint64_t cuts;
} CutKind;

typedef struct {
    uint64_t commands;  /* of the host */
    uint64_t events;    /* steps in time */
    uint64_t collected; /* victims, merges too */
    uint64_t merged;
    uint32_t phases;    /* switches, reloads, drains */
    uint64_t marks[MOST_MARKS]; /* of ftl/marks.h, in checked builds */
    CutKind *kinds;     /* of cuts, or NULL: the caller's */
    GArray *rows;       /* Row of each command, or NULL: the caller's */
    Log *log;           /* for the replayer, or NULL: ditto */
    /*
     * Not 0: the host has that many sectors, and no command overlaps one that
     * is in flight, so that what the drive contains at the end is determined.
     */
    uint64_t fold;
    GArray *contents;   /* then: uint32_t, who wrote each, or NULL */
} RunResult;

/* False and *error: a law is broken.  Of result the caller's are read. */
bool run_scenario(const Scenario *s, RunResult *result, GError **error);

#endif /* HUNT_RUN_H */
