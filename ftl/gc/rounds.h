/*
 * Rounds, for the pacing that grants them: gc/pacing_redistributed.c, whose
 * state they are.  What hil asks of them is in gc/ops.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_ROUNDS_H
#define SCARP_GC_ROUNDS_H

#include "gc/internal.h"

typedef struct {
    int64_t segment_ns, erase_ns; /* what each costs, at most */
    int64_t channel_ns; /* of a segment: so long it uses the channel */
    uint32_t *plane;    /* [n_planes] those that have a round */
    uint32_t n;
    bool *listed;       /* [n_planes] it is one of them */
    ScarpGcRound *open; /* [n_planes] what scarp_gc_rounds() returns */
    bool *next;         /* a victim follows the erase that was granted */
    uint32_t *pages;    /* and has been granted so many */
    uint32_t *lpn; /* for whom a merge is, or what follows; or SCARP_NONE */
} ScarpRounds;

bool scarp_rounds_init(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
void scarp_rounds_clear(ScarpDrive *drive, void *state);

/* It goes on to its end without being granted anything. */
static inline bool scarp_round_is_released(const ScarpGcJob *job)
{
    return !job->erase_later;
}

static inline bool scarp_round_is_paced(const ScarpGcJob *job)
{
    return job->running && job->origin == SCARP_ORIGIN_GC &&
           !scarp_round_is_released(job);
}

/* Begins one, of a merge for lpn, or SCARP_NONE; false: there is nothing. */
bool scarp_round_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/* A job has begun: it does what it is granted, and has a round. */
void scarp_round_began(ScarpDrive *drive, ScarpGcJob *job);
/* It has ended: the round follows that was asked for meanwhile. */
void scarp_round_ended(ScarpDrive *drive, ScarpGcJob *job);

#endif /* SCARP_GC_ROUNDS_H */
