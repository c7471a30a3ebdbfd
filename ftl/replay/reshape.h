/*
 * A workload in another shape: repeated, without some operations or long gaps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_RESHAPE_H
#define REPLAY_RESHAPE_H

#include "trace.h"

typedef struct {
    uint64_t repeat;            /* times that the workload runs, from 1 on */
    int64_t max_gap_ns;         /* a longer gap is cut to it; 0: none is */
    bool skip[SCARP_OP__COUNT]; /* operations that are left out */
} Reshape;

/* Opens the workload from its beginning; NULL with *error set. */
typedef Workload *ReshapeOpen(void *opaque, GError **error);

/*
 * Parses "reads,trims" and the like into how->skip; false with *error set when
 * the text names anything else.
 */
bool reshape_parse_skip(Reshape *how, const char *text, GError **error);

/*
 * Returns the workload that open() opens, reshaped. It calls open() for each
 * run, so opaque must live until the workload is freed. Times go on from one
 * run to the next, a mean gap apart; places stay. NULL with *error set when
 * open() fails.
 */
Workload *reshape_new(const Reshape *how, ReshapeOpen *open, void *opaque,
                      GError **error);

#endif /* REPLAY_RESHAPE_H */
