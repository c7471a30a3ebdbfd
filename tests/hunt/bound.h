/*
 * How long a drive may take until something completes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_BOUND_H
#define HUNT_BOUND_H

#include "scenario.h"

/* What a drive's times and sizes say of it; units of flash time. */
typedef struct {
    int64_t page_ns;  /* a page moved, with all that can come in between */
    int64_t erase_ns;
    int64_t sector_ns; /* over the host's link */
    int64_t command_ns;
    uint64_t pages, blocks, block_pages;
    uint64_t buffered; /* sectors that a flush may wait for, at most */
} Bound;

void bound_know(Bound *bound, const Scenario *s, uint64_t logical_bytes);

/*
 * The whole drive moved twice, and a block for each outstanding page, one
 * after the other: with that many sectors outstanding, and a full buffer before
 * them, something must have completed.  A policy's own times, and deadlines,
 * come on top of it.
 */
int64_t bound_ns(const Bound *bound, uint64_t commands, uint64_t sectors);

#endif /* HUNT_BOUND_H */
