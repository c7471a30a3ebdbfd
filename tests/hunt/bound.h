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
    int64_t read_ns, erase_ns;
    int64_t sector_ns; /* over the host's link */
    int64_t command_ns;
    uint64_t pages, blocks, block_pages;
    uint64_t buffered; /* sectors that a flush may wait for, at most */
    uint64_t buffer_bytes;
    uint64_t passing;  /* reads that may go before each program or erase */
    uint64_t parities; /* stripes that may be open; 0: there are none */
    bool merges;       /* of blocks, beyond dies: not each die for itself */
    uint64_t dies, die_planes;
    int64_t channel_ns; /* of a page moved: all dies may have one channel */
} Bound;

void bound_know(Bound *bound, const Scenario *s, uint64_t logical_bytes);

/*
 * The whole drive moved twice, and a block for each outstanding page, one
 * after the other: with that many sectors outstanding, and a full buffer before
 * them, something must have completed.  A policy's own times, and deadlines,
 * come on top of it.
 */
int64_t bound_ns(const Bound *bound, uint64_t commands, uint64_t sectors);

/*
 * The same of a command of one unit, which has to wait for one die: that moves
 * what is its own, and what others send it, of as many collections as it begins
 * in a row while the host waits (64 for each plane: gc/trigger.c), each of
 * a whole block; others of its channel do the same.  Less than for the whole
 * drive only if dies are several, and planes large.  In 3,000 scenarios of the
 * theme that is for it none took more than two thirds.
 */
int64_t bound_die_ns(const Bound *bound, uint64_t commands, uint64_t sectors);

/*
 * How much longer, as reads that came later go first: of so many units, and as
 * many of them before each program as controller.reads_first_limit says.
 */
int64_t bound_passing_ns(const Bound *bound, uint64_t commands,
                         uint64_t sectors, uint64_t later_units);

/*
 * Writes for which there is no room come into the device in pieces, as others
 * leave it.  Each piece may find at its die all that came meanwhile, and wait
 * for it (controller.reads_first=0: the oldest goes first).  So many times, at
 * most, for that many sectors of writes; a unit may hold one of them.
 */
uint64_t bound_pieces(const Bound *bound, uint64_t sectors,
                      uint64_t unit_bytes);

#endif /* HUNT_BOUND_H */
