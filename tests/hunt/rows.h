/*
 * What commands met, and whether others have met the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ROWS_H
#define HUNT_ROWS_H

#include "scarp.h"

/* What a command met, for comparisons. */
typedef struct {
    uint32_t drive; /* the first one, or one that was loaded later */
    bool lost; /* it was under way when the power failed */
    int64_t submit_ns, latency_ns; /* < 0: it has not ended */
    int64_t cause_ns[SCARP_CAUSE__ALL];
} Row;

/*
 * Whether rows agree, from the command first on: is should be as should says,
 * all times times k.  Of those that ended before command `missing` was
 * submitted only (UINT32_MAX: all).
 */
bool rows_same(const GArray *is, const GArray *should, uint32_t first,
               int64_t k, uint32_t missing, const char *what, GError **error);

#endif /* HUNT_ROWS_H */
