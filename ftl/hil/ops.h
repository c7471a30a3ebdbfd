/*
 * Functions of hil for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_OPS_H
#define SCARP_HIL_OPS_H

#include "gc/ops.h"
#include "stat/ops.h"

bool scarp_hil_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);

/* Accepts the command, now. */
void scarp_hil_submit(ScarpDrive *drive, ScarpCmd *cmd);

typedef enum {
    HIL_QUEUED,   /* a command came into the host queue: dispatch */
    HIL_DATA_IN,  /* a command's data has arrived: flow executes it */
    HIL_DATA_OUT, /* a read's data is at the host: completed; dispatch */
} ScarpHilStep;

/* Handles the event of a stage; *cmd is the command in it. */
ScarpHilStep scarp_hil_stage_event(ScarpDrive *drive, ScarpStage stage,
                                   ScarpCmd **cmd);

/*
 * Between begin and end, next returns the commands that enter the device and
 * are to be executed now; writes fetch their data first. begin is false when a
 * dispatch is under way already, which will go on.
 */
bool scarp_hil_dispatch_begin(ScarpDrive *drive);
ScarpCmd *scarp_hil_dispatch_next(ScarpDrive *drive);
void scarp_hil_dispatch_end(ScarpDrive *drive);

/*
 * Counts the end of one of the units_left that the command waits for. True: it
 * was the last, and the command has completed: dispatch. (A read completes when
 * its data has crossed the link.)
 */
bool scarp_hil_put(ScarpDrive *drive, ScarpCmd *cmd);
/* The command has completed: dispatch. */
void scarp_hil_complete(ScarpDrive *drive, ScarpCmd *cmd);

/* hil/starves.c, in checked builds: a command comes; one has been picked. */
void scarp_hil_starves_submit(ScarpCmd *cmd);
/* Restarts all counts for another policy. */
void scarp_hil_starves_anew(ScarpDrive *drive);
void scarp_hil_starves_picked(const ScarpDrive *drive, const ScarpCmd *cmd);

/* Time of bytes on the host's link, for hil's policies. */
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
