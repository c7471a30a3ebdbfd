/*
 * A cut: power fails, the drives recover, and their contents are judged. Each
 * cut has a process of its own, as the run goes on without it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_ONE_H
#define SCARP_CUTS_ONE_H

#include "cuts/walk.h"

#include <stdio.h>

typedef struct {
    uint64_t again; /* moment of recovery when power fails again */
    bool twice;     /* again 0: also fail at a drawn moment */
    uint64_t seed;
    const char *contents; /* folder for contents, or NULL */
    const char *image;    /* file for the first drive at rest, or NULL */
} CutsHow;

/*
 * Writes a line of JSON for each cut to out: docs/powercut.md has its members.
 */
void cuts_one(CutsWalk *walk, const CutsHow *how, FILE *out);

#endif /* SCARP_CUTS_ONE_H */
