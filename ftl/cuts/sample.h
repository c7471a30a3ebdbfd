/*
 * The choice of cuts: one of each kind of moment, as far as count allows, and
 * the others evenly over the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_SAMPLE_H
#define SCARP_CUTS_SAMPLE_H

#include "cuts/class.h"

typedef struct CutsSample CutsSample;

typedef struct {
    CutsClass class;
    uint64_t moments; /* of this kind */
    uint64_t chosen;  /* one of them, drawn at random */
} CutsKind;

CutsSample *cuts_sample_new(uint64_t seed);
void cuts_sample_free(CutsSample *sample);

/* Adds a moment; moments come in their order, from any first number. */
void cuts_sample_add(CutsSample *sample, uint64_t moment, CutsClass class);

/* Returns CutsKind in the order of appearance; owned by the sample. */
const GArray *cuts_sample_kinds(const CutsSample *sample);

/* Returns at most count of the moments, uint64_t, in their order; unref it. */
GArray *cuts_sample_choose(const CutsSample *sample, uint64_t count);

#endif /* SCARP_CUTS_SAMPLE_H */
