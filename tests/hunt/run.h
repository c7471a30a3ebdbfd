/*
 * A scenario, step by step, under the laws that any drive keeps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_RUN_H
#define HUNT_RUN_H

#include "scenario.h"

typedef struct {
    uint64_t commands;  /* of the host */
    uint64_t events;    /* steps in time */
    uint64_t collected; /* victims, merges too */
    uint64_t merged;
    uint32_t phases;    /* switches, reloads, drains */
} RunResult;

/* False and *error: a law is broken. */
bool run_scenario(const Scenario *s, RunResult *result, GError **error);

#endif /* HUNT_RUN_H */
