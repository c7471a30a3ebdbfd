/*
 * A scenario that fails, made small.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ARRAY_SHRINK_H
#define HUNT_ARRAY_SHRINK_H

#include "../hunt/child.h"
#include "scenario.h"

/*
 * Takes s, and returns what still fails as signature says, after so many
 * seconds at most.  work runs a scenario in a child.
 */
ArrayScenario *array_shrink(ArrayScenario *s, ChildWork work, Report *report,
                            const char *signature, unsigned seconds);

#endif /* HUNT_ARRAY_SHRINK_H */
