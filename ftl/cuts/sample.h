/*
 * The choice of cuts. The class of a moment (cuts/class.h) says what a cut at
 * that moment meets. A moment of each class is chosen first, as far as the
 * count allows, and then further moments, evenly over the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_SAMPLE_H
#define SCARP_CUTS_SAMPLE_H

#include "cuts/class.h"

typedef struct CutsSample CutsSample;

typedef struct {
    CutsClass class;
    uint64_t moments; /* number of moments of this class */
    uint64_t chosen;  /* one of these moments, drawn at random */
} CutsKind;

CutsSample *cuts_sample_new(uint64_t seed);
void cuts_sample_free(CutsSample *sample);

/* Adds a moment. Moments are added in their order, from any first number on. */
void cuts_sample_add(CutsSample *sample, uint64_t moment, CutsClass class);

/*
 * Returns an array of CutsKind, in the order of first moments. The sample owns
 * it.
 */
const GArray *cuts_sample_kinds(const CutsSample *sample);

/*
 * Returns an array of moments (uint64_t) in their order, at most count; unref
 * it.
 */
GArray *cuts_sample_choose(const CutsSample *sample, uint64_t count);

#endif /* SCARP_CUTS_SAMPLE_H */
