/*
 * The choice of cuts. The class of a moment (cuts/class.h) says what a cut at
 * that moment meets. One moment of each class is chosen first, as far as the
 * count allows. Then further moments are chosen, evenly over the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_SAMPLE_H
#define SCARP_CUTS_SAMPLE_H

#include "cuts/class.h"

typedef struct CutsSample CutsSample;

typedef struct {
    CutsClass class;
    uint64_t moments; /* how many moments have this class */
    uint64_t chosen;  /* one of these moments, drawn at random */
} CutsKind;

CutsSample *cuts_sample_new(uint64_t seed);
void cuts_sample_free(CutsSample *sample);

/*
 * Adds a moment. Moments are added in their order; the first may have any
 * number.
 */
void cuts_sample_add(CutsSample *sample, uint64_t moment, CutsClass class);

/*
 * Returns an array of CutsKind, in the order of the first moments of the
 * classes. The sample owns the array.
 */
const GArray *cuts_sample_kinds(const CutsSample *sample);

/*
 * Returns an array of at most `count` moments (uint64_t) in their order. The
 * caller unrefs the array.
 */
GArray *cuts_sample_choose(const CutsSample *sample, uint64_t count);

#endif /* SCARP_CUTS_SAMPLE_H */
