/*
 * Several drives of one run, side by side, from moment to moment.
 *
 * A moment is a time at which something happens in a drive, or a command comes
 * to one.  The first is number 1.  A cut has the number of the moment before
 * it, and is half way to the next one: nothing else happens in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_WALK_H
#define SCARP_CUTS_WALK_H

#include "cuts-drive.h"

typedef struct {
    CutsDrive *drives;
    uint32_t n_drives;
    int64_t now_ns;
    uint64_t moment; /* the last one that has been */
} CutsWalk;

/* SCARP_TIME_NEVER: the last one has been. */
int64_t cuts_walk_next_ns(const CutsWalk *walk);
/* To the next moment, which there is.  False and *error set: another run. */
bool cuts_walk_step(CutsWalk *walk, GError **error);
/* When the cut of this moment is. */
int64_t cuts_walk_cut_ns(const CutsWalk *walk);

/*
 * The power of all drives fails there, and comes back at once.  The walk goes
 * on with the moments of what follows, the first of them number 1.
 */
void cuts_walk_cut(CutsWalk *walk);
bool cuts_walk_is_ready(const CutsWalk *walk);

#endif /* SCARP_CUTS_WALK_H */
