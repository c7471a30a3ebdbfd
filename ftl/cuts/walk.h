/*
 * The drives of one run, side by side, from moment to moment.
 *
 * A moment is a time at which something happens in a drive, or a command comes
 * to a drive. The first moment is number 1. A cut has the number of the moment
 * before it. The cut's time is half way between that moment and the next one,
 * and nothing else happens between the two moments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_WALK_H
#define SCARP_CUTS_WALK_H

#include "cuts/judged.h"

typedef struct {
    CutsDrive *drives;
    uint32_t n_drives;
    int64_t now_ns;
    uint64_t moment; /* number of the moment reached last */
} CutsWalk;

/* Returns the time of the next moment. SCARP_TIME_NEVER: there is none. */
int64_t cuts_walk_next_ns(const CutsWalk *walk);
/*
 * Goes on to the next moment, which must exist. Returns false, with *error set,
 * if the run does not go as recorded.
 */
bool cuts_walk_step(CutsWalk *walk, GError **error);
/* Returns the time of the cut with the number of the present moment. */
int64_t cuts_walk_cut_ns(const CutsWalk *walk);

/*
 * Cuts the power of all drives at cuts_walk_cut_ns(), and restores it at once.
 * The walk then goes on with the moments of recovery, from number 1 on.
 */
void cuts_walk_cut(CutsWalk *walk);
bool cuts_walk_is_ready(const CutsWalk *walk);

#endif /* SCARP_CUTS_WALK_H */
