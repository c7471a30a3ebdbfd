/*
 * One cut: power fails, the drives recover, and what they contain is looked at.
 * It is tried in a process of its own, as the run goes on without it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_ONE_H
#define SCARP_CUTS_ONE_H

#include "cuts-walk.h"

#include <stdio.h>

typedef struct {
    uint64_t again; /* power fails once more at this moment of the recovery */
    bool twice;     /* again 0: at one that is drawn, besides */
    uint64_t seed;
    const char *contents; /* a folder for them, or NULL */
    const char *image;    /* the first drive's, at rest, or NULL */
} CutsHow;

/* A line of JSON to out for each cut: docs/powercut.md says what it has. */
void cuts_one(CutsWalk *walk, const CutsHow *how, FILE *out);

#endif /* SCARP_CUTS_ONE_H */
