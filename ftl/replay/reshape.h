/*
 * A workload in another shape: repeated, or without some operations or long
 * gaps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_RESHAPE_H
#define REPLAY_RESHAPE_H

#include "trace.h"

typedef struct {
    uint64_t repeat;            /* times that the workload runs, from 1 on */
    int64_t max_gap_ns;         /* longer gaps are cut to this; 0: none */
    bool skip[SCARP_OP__COUNT]; /* operations that are left out */
} Reshape;

/* Opens the workload at its beginning. NULL, with *error set: that failed. */
typedef Workload *ReshapeOpen(void *opaque, GError **error);

/*
 * Parses a list such as "reads,trims" into how->skip. False, with *error set:
 * the text has another word.
 */
bool reshape_parse_skip(Reshape *how, const char *text, GError **error);

/*
 * Returns the workload that open() opens, in its new shape. open() is called
 * for each pass, so opaque must live until the workload is freed. Times go on
 * from pass to pass, a mean gap apart; addresses stay. NULL, with *error set:
 * open() failed.
 */
Workload *reshape_new(const Reshape *how, ReshapeOpen *open, void *opaque,
                      GError **error);

#endif /* REPLAY_RESHAPE_H */
