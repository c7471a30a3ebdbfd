/*
 * A scenario that fails, made as small as one that fails in the same way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_SHRINK_H
#define HUNT_SHRINK_H

#include "child.h"

/* Of one try, in a child: as child_run()'s work; opaque is the scenario. */
typedef struct {
    ChildWork work;
    Report *report;
    const char *signature; /* of the failure that is to stay */
    unsigned seconds;      /* for all tries */
    unsigned tries;        /* made */
} Shrink;

/* Returns what is left, which fails if s does. */
Scenario *shrink(Shrink *shrink, const Scenario *s);

#endif /* HUNT_SHRINK_H */
