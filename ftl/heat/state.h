/*
 * heat: how warm the drive is, and how much that slows it (group heat of the
 * description). It owns the energy that is in the case, and the throttling that
 * follows from it.
 *
 * nand tells heat of each flash command that is granted, and adds to the
 * command's array time what heat answers. stat puts heat's counters into the
 * statistics. heat has no event: it is brought up to date by whole milliseconds
 * when a command is granted. It asks core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HEAT_STATE_H
#define SCARP_HEAT_STATE_H

#include "core/state.h"

/* Levels of throttling. */
enum { HEAT_NOT, HEAT_LIGHT, HEAT_HEAVY, HEAT__COUNT };

/* A shorter time than 2^HEAT_POWERS ms leaves some of the energy. */
#define HEAT_POWERS 40

typedef struct {
    uint64_t energy_nj; /* in the case, above what it has at the ambient */
    uint64_t at_ms;     /* the energy is as of that time */
    unsigned level;     /* HEAT_NOT to HEAT_HEAVY */
    uint64_t transitions[HEAT__COUNT]; /* how often a level began */
    uint64_t level_ms[HEAT__COUNT];    /* how long it lasted, in all */
    /* how long the energy was at least begins_nj[], in all */
    uint64_t above_ms[HEAT__COUNT];
    uint64_t throttled_ns; /* sum of what was added to array times */
    /* energies at which a level begins, and ends; UINT64_MAX, 0: never */
    uint64_t begins_nj[HEAT__COUNT], ends_nj[HEAT__COUNT];
    uint64_t longer_permille[HEAT__COUNT];
    /* [i]: the part of the energy that 2^i ms leave, in 2^-64 */
    uint64_t left[HEAT_POWERS];
} ScarpHeatState;

#endif /* SCARP_HEAT_STATE_H */
