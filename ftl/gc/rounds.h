/*
 * The state of redistributed pacing (gc/pacing_redistributed.c), which permits
 * collections in rounds (what is left of one victim, or of one merge). gc/ops.h
 * has the functions by which the host-queue policy asks for rounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_ROUNDS_H
#define SCARP_GC_ROUNDS_H

#include "gc/internal.h"

typedef struct {
    int64_t segment_ns, erase_ns; /* upper bounds of a segment and an erase */
    int64_t channel_ns; /* a segment's time on the channel */
    /* [n_planes]: a list of the n planes that may have a round */
    uint32_t *plane;
    uint32_t n;
    bool *listed;       /* [n_planes]: whether plane[] has the plane */
    uint32_t *at_die;   /* [die]: how many of its planes plane[] has */
    ScarpGcRound *open; /* [n_planes]: the answer of scarp_gc_rounds() */
    bool *next; /* [plane]: a round was opened that follows the awaited erase */
    uint32_t *pages;    /* [plane]: pages granted for the round of next[] */
    /* [plane]: pages granted to the job that have not begun to move */
    uint32_t *granted;
    /* [plane]: the lpn that the job makes room for, or SCARP_NONE */
    uint32_t *lpn;
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
 * Begins a round: a merge for lpn, if that is not SCARP_NONE, or any collection
 * or merge of the plane. Returns false if there is no work.
 */
bool scarp_round_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/* Called when a job has begun: from now on it does only what it is granted. */
void scarp_round_began(ScarpDrive *drive, ScarpGcJob *job);
/*
 * Called when a page of a job begins to move: counts it if a command's slack
 * granted it.
 */
void scarp_round_moves(ScarpDrive *drive, ScarpGcJob *job);
/* Called when a job has ended: begins the round that was opened meanwhile. */
void scarp_round_ended(ScarpDrive *drive, ScarpGcJob *job);

#endif /* SCARP_GC_ROUNDS_H */
