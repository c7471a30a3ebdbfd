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
    uint64_t repeat;            /* how often the workload runs, 1 or more */
    int64_t max_gap_ns;         /* longer gaps are cut to this; 0: none */
    bool skip[SCARP_OP__COUNT]; /* operations that are left out */
} Reshape;

/*
 * Opens the workload at its beginning. Returns NULL, with *error set, if that
 * fails.
 */
typedef Workload *ReshapeOpen(void *opaque, GError **error);

/*
 * Parses a list such as "reads,trims" into how->skip. Returns false, with
 * *error set, if the text has another word.
 */
bool reshape_parse_skip(Reshape *how, const char *text, GError **error);

/*
 * Returns the workload that open() opens, in its new shape. The workload may be
 * gone through several times. open() is called for each such pass, so `opaque`
 * must live until the workload is freed. Each pass has the same addresses. Its
 * first request comes later than the last request of the pass before by the
 * mean time between requests. Returns NULL, with *error set, if open() fails.
 */
Workload *reshape_new(const Reshape *how, ReshapeOpen *open, void *opaque,
                      GError **error);

#endif /* REPLAY_RESHAPE_H */
