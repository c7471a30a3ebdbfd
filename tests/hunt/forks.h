/*
 * Forks of a scenario: it is run once, and then again from its log of commands
 * and switches alone, as `scarp why` does. At random instants a process forks
 * and goes on, unchanged: each command must end at its recorded nanosecond.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_FORKS_H
#define HUNT_FORKS_H

#include "run.h"

/* Instants of each scenario. */
#define FORKS_EACH 10

/* A defect of the log that a hunt of forks must find. */
typedef enum {
    FORKS_WHOLE,
    FORKS_WITHOUT_SWITCH, /* one switch is not in the log */
    FORKS_LATE_ARRIVAL,   /* one command comes a nanosecond later in the log */
    FORKS__COUNT
} ForksPlant;

/* Its name; NULL: of FORKS_WHOLE, or there is none. */
const char *forks_plant_name(ForksPlant plant);

/*
 * Returns scenario `number` as a log can tell it: without what no log has, and
 * with more switches of its scheme.
 */
Scenario *forks_scenario(const Scenario *s, uint64_t number);
/*
 * Runs such a scenario, and forks it at instants that follow from number.
 * *forks is increased by the forks that were tried. False and *error set: a law
 * is broken, or a fork is not the run.
 */
bool forks_run(const Scenario *s, uint64_t number, ForksPlant plant,
               RunResult *result, uint64_t *forks, GError **error);

#endif /* HUNT_FORKS_H */
