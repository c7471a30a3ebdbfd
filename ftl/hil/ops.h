/*
 * The functions of hil that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_OPS_H
#define SCARP_HIL_OPS_H

#include "gc/ops.h"
#include "stat/ops.h"

bool scarp_hil_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);

/* Accepts a command of the host at the present time. */
void scarp_hil_submit(ScarpDrive *drive, ScarpCmd *cmd);

typedef enum {
    HIL_QUEUED,   /* a command came into the host queue: flow dispatches */
    HIL_DATA_IN,  /* a write's data has arrived: flow executes it */
    HIL_DATA_OUT, /* a read has completed: flow dispatches */
} ScarpHilStep;

/*
 * Handles the event of a stage, and sets *cmd to the command that leaves the
 * stage.
 */
ScarpHilStep scarp_hil_stage_event(ScarpDrive *drive, ScarpStage stage,
                                   ScarpCmd **cmd);

/*
 * Dispatch commands. Between scarp_hil_dispatch_begin() and
 * scarp_hil_dispatch_end(), each call of scarp_hil_dispatch_next() returns a
 * command that enters the device and is to be executed now; NULL: no more. That
 * function returns no writes: their data has to arrive first (HIL_DATA_IN).
 * scarp_hil_dispatch_begin() returns false if a dispatch is under way already.
 * The caller then leaves the commands to that dispatch.
 */
bool scarp_hil_dispatch_begin(ScarpDrive *drive);
ScarpCmd *scarp_hil_dispatch_next(ScarpDrive *drive);
void scarp_hil_dispatch_end(ScarpDrive *drive);

/*
 * Counts down cmd->units_left, the parts of the command that have not ended.
 * Returns true if the last part has ended and the command has completed, so
 * that the caller dispatches. Returns false for a read, which completes when
 * its data has crossed the link.
 */
bool scarp_hil_put(ScarpDrive *drive, ScarpCmd *cmd);
/* Completes the command. The caller then dispatches. */
void scarp_hil_complete(ScarpDrive *drive, ScarpCmd *cmd);

/* hil/starves.c, in checked builds: called when a command is submitted. */
void scarp_hil_starves_submit(ScarpCmd *cmd);
/*
 * Resets the counts of passes (younger commands that went first) of all waiting
 * commands, because a new policy has other bounds.
 */
void scarp_hil_starves_anew(ScarpDrive *drive);
void scarp_hil_starves_picked(const ScarpDrive *drive, const ScarpCmd *cmd);

/* Returns the time of a transfer of `bytes` bytes on the host's link. */
int64_t scarp_hil_link_ns(const ScarpDrive *drive, uint64_t bytes);

/* True when a completed command waits to be reaped. */
static inline bool scarp_hil_any_done(const ScarpDrive *drive)
{
    return scarp_cmd_first(&drive->hil.done);
}

/* Returns the oldest completed command, or NULL. */
static inline ScarpCmd *scarp_hil_reap(ScarpDrive *drive)
{
    return scarp_cmd_pop(&drive->hil.done);
}

#endif /* SCARP_HIL_OPS_H */
