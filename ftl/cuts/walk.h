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

#include "cuts/rerun.h"

typedef struct {
    CutsDrive *drives;
    uint32_t n_drives;
    int64_t now_ns;
    uint64_t moment; /* number of the last moment */
} CutsWalk;

/* Returns the next moment's time; SCARP_TIME_NEVER: the last has been. */
int64_t cuts_walk_next_ns(const CutsWalk *walk);
/*
 * Goes to the next moment, which must exist. False and *error set: the run
 * differs.
 */
bool cuts_walk_step(CutsWalk *walk, GError **error);
/* Returns the time of the cut of this moment. */
int64_t cuts_walk_cut_ns(const CutsWalk *walk);

/*
 * Fails the power of all drives at that time, and restores it at once. The walk
 * goes on with the moments of recovery, numbered from 1.
 */
void cuts_walk_cut(CutsWalk *walk);
bool cuts_walk_is_ready(const CutsWalk *walk);

#endif /* SCARP_CUTS_WALK_H */
