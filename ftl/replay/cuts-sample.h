/*
 * Which cuts are tried: of each kind of moment one, as far as they are enough,
 * and the others evenly over the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_SAMPLE_H
#define SCARP_CUTS_SAMPLE_H

#include "cuts-class.h"

typedef struct CutsSample CutsSample;

typedef struct {
    CutsClass class;
    uint64_t moments; /* of this kind */
    uint64_t chosen;  /* the one that is tried of them, at random */
} CutsKind;

CutsSample *cuts_sample_new(uint64_t seed);
void cuts_sample_free(CutsSample *sample);

/* One moment more, in their order; the first one's number is free. */
void cuts_sample_add(CutsSample *sample, uint64_t moment, CutsClass class);

/* CutsKind, in the order in which they came up; the sample's. */
const GArray *cuts_sample_kinds(const CutsSample *sample);

/* At most so many of the moments, uint64_t, in their order; unref it. */
GArray *cuts_sample_choose(const CutsSample *sample, uint64_t count);

#endif /* SCARP_CUTS_SAMPLE_H */
