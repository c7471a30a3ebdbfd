/*
 * The state of redistributed pacing (gc/pacing_redistributed.c), which permits
 * collections in rounds. A round is the rest of the work for one victim, or for
 * one merge. gc/ops.h has the functions by which the host-queue policy asks for
 * rounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_ROUNDS_H
#define SCARP_GC_ROUNDS_H

#include "gc/internal.h"

typedef struct {
    int64_t segment_ns, erase_ns; /* upper bounds of a segment and an erase */
    int64_t channel_ns; /* a segment's time on the channel */
    /* [n_planes]: the first n entries list the planes that may have a round */
    uint32_t *plane;
    uint32_t n;
    bool *listed;       /* [n_planes]: true if plane[] lists the plane */
    uint32_t *at_die;   /* [die]: how many of its planes are in plane[] */
    ScarpGcRound *open; /* [n_planes]: the array that scarp_gc_rounds() fills */
    bool *next; /* [plane]: a round follows the erase of the running job */
    uint32_t *pages;    /* [plane]: pages granted for the round of next[] */
    /* [plane]: pages that the job was granted and has not begun to move */
    uint32_t *granted;
    /* [plane]: the LPN that the job makes room for, or SCARP_NONE */
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
 * Begins a round: a merge for `lpn`, or, if `lpn` is SCARP_NONE, any collection
 * or merge of the plane. Returns false if the plane has no such work.
 */
bool scarp_round_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/*
 * Called when a job has begun: from now on the job does only what it is
 * granted.
 */
void scarp_round_began(ScarpDrive *drive, ScarpGcJob *job);
/*
 * Called when a page of a job begins to move. Counts the page if it was granted
 * from a command's slack.
 */
void scarp_round_moves(ScarpDrive *drive, ScarpGcJob *job);
/*
 * Called when a job has ended: begins the round that was opened to follow it,
 * if that round is still needed.
 */
void scarp_round_ended(ScarpDrive *drive, ScarpGcJob *job);

#endif /* SCARP_GC_ROUNDS_H */
