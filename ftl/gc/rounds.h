/*
 * Rounds, the state of the pacing that grants them: gc/pacing_redistributed.c.
 * gc/ops.h has hil's questions about them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_ROUNDS_H
#define SCARP_GC_ROUNDS_H

#include "gc/internal.h"

typedef struct {
    int64_t segment_ns, erase_ns; /* upper bounds */
    int64_t channel_ns; /* a segment's time on the channel */
    uint32_t *plane;    /* [n_planes]: the n that have a round */
    uint32_t n;
    bool *listed;       /* [n_planes]: it is in plane[] */
    ScarpGcRound *open; /* [n_planes]: scarp_gc_rounds()' answer */
    bool *next;         /* [plane]: a victim follows the granted erase */
    uint32_t *pages;    /* [plane]: pages granted for that victim */
    uint32_t *lpn; /* [plane]: whom the job serves, or SCARP_NONE */
} ScarpRounds;

bool scarp_rounds_init(ScarpDrive *drive, ScarpScheme *scheme, GError **error);
void scarp_rounds_clear(ScarpDrive *drive, void *state);

/* True when the job goes on to its end without grants. */
static inline bool scarp_round_is_released(const ScarpGcJob *job)
{
    return !job->erase_later;
}

static inline bool scarp_round_is_paced(const ScarpGcJob *job)
{
    return job->running && job->origin == SCARP_ORIGIN_GC &&
           !scarp_round_is_released(job);
}

/*
 * Begins a round, of a merge for lpn, or SCARP_NONE; false: there is no work.
 */
bool scarp_round_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/* A job has begun: it does only what it is granted, and has a round. */
void scarp_round_began(ScarpDrive *drive, ScarpGcJob *job);
/* A job has ended: begins the round that was asked for meanwhile. */
void scarp_round_ended(ScarpDrive *drive, ScarpGcJob *job);

#endif /* SCARP_GC_ROUNDS_H */
