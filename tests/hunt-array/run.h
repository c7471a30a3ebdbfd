/*
 * A scenario, from the array's making to its last end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ARRAY_RUN_H
#define HUNT_ARRAY_RUN_H

#include "scenario.h"

/* What it came to, so that a hunt can say what it met. */
typedef struct {
    uint64_t requests, ios, lives, refused, died, recovered;
} ArrayRunResult;

/*
 * Ends by wrong() when a law is broken.  False: the array cannot be made, for
 * keys that do not go together; *why is one line.
 */
bool array_run(const ArrayScenario *s, ArrayRunResult *result, char **why);

#endif /* HUNT_ARRAY_RUN_H */
