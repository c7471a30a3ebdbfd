/*
 * Comparisons of a scenario with one that it has to agree with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_META_H
#define HUNT_META_H

#include "draw.h"
#include "run.h"

/*
 * What a scenario is compared with (Scenario.meta):
 * "twice"      the same once more, watched: latencies are equal
 * "prefix N"   without the steps from the N-th on: what ended before the first
 *              missing command came has met the same
 * "scale K"    all times times K: latencies times K
 * "unused KEYS" keys that say nothing here: latencies are equal
 * "contents SCHEME PARAMS KEYS" on another drive: the same contents; commands
 *              do not overlap, so that these are determined
 */
char *meta_draw(Draw *draw, const Scenario *s); /* or NULL */

/* RunResult.fold of it; 0: its contents are not compared. */
uint64_t meta_fold(const Scenario *s);

/* The scenario and, if it says so, what it is compared with. */
bool meta_run(const Scenario *s, RunResult *result, GError **error);

#endif /* HUNT_META_H */
