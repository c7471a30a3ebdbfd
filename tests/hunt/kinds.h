/*
 * Power cuts, counted by the kind of drive that had them: its mapping, pacing,
 * placement, cache, and what recovery reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_KINDS_H
#define HUNT_KINDS_H

#include "host.h"

/* Of the drive as it is now, which the contract is kept for; g_free() it. */
char *kind_of_drive(const Run *r);

/* One more cut.  kinds has MOST_CUT_KINDS, unused ones without a name. */
void kinds_count(CutKind *kinds, const char *name, uint64_t cuts);

/* How many cuts, kinds, and which had the fewest; all: each in a line. */
void kinds_tell(const CutKind *kinds, bool all);

#endif /* HUNT_KINDS_H */
