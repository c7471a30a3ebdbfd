/*
 * Runs all drives of a run together, from moment to moment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/walk.h"

int64_t cuts_walk_next_ns(const CutsWalk *walk)
{
    int64_t next_ns = SCARP_TIME_NEVER;

    for (uint32_t i = 0; i < walk->n_drives; i++) {
        next_ns = MIN(next_ns, rerun_next_ns(&walk->drives[i].run));
    }
    return next_ns;
}

bool cuts_walk_step(CutsWalk *walk, GError **error)
{
    walk->now_ns = cuts_walk_next_ns(walk);
    walk->moment++;
    for (uint32_t i = 0; i < walk->n_drives; i++) {
        if (!rerun_run(&walk->drives[i].run, walk->now_ns, error)) {
            return false;
        }
    }
    return true;
}

int64_t cuts_walk_cut_ns(const CutsWalk *walk)
{
    int64_t next_ns = cuts_walk_next_ns(walk);

    return next_ns == SCARP_TIME_NEVER
               ? walk->now_ns : walk->now_ns + (next_ns - walk->now_ns) / 2;
}

void cuts_walk_cut(CutsWalk *walk)
{
    int64_t at_ns = cuts_walk_cut_ns(walk);

    for (uint32_t i = 0; i < walk->n_drives; i++) {
        CutsDrive *d = &walk->drives[i];

        scarp_run(d->run.drive, at_ns);
        cuts_drive_leave(d);
        /* power may fail, as cuts_drive_begin() has checked */
        rerun_cut_power(&d->run);
    }
    walk->now_ns = at_ns;
    walk->moment = 0;
}

bool cuts_walk_is_ready(const CutsWalk *walk)
{
    for (uint32_t i = 0; i < walk->n_drives; i++) {
        if (!scarp_is_ready(walk->drives[i].run.drive)) {
            return false;
        }
    }
    return true;
}
