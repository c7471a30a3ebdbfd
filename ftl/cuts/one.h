/*
 * A power cut: power fails, the drives recover, and their contents are judged.
 * Each cut is tried in a process of its own, because the run goes on without
 * the cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_ONE_H
#define SCARP_CUTS_ONE_H

#include "cuts/walk.h"

#include <stdio.h>

typedef struct {
    uint64_t again; /* moment of recovery at which power fails again */
    bool twice;     /* with `again` 0: power fails again, at a drawn moment */
    uint64_t seed;
    const char *contents; /* folder for the contents after cuts, or NULL */
    const char *image;    /* file for the first drive's image, or NULL */
} CutsHow;

/*
 * Tries the cut, and writes a line of JSON to out. With how->twice, a second
 * line tells how the same cut ended with another cut during the recovery.
 * docs/powercut.md has the members.
 */
void cuts_one(CutsWalk *walk, const CutsHow *how, FILE *out);

#endif /* SCARP_CUTS_ONE_H */
