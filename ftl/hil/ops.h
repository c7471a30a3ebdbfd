/*
 * What other rooms may ask of hil.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HIL_OPS_H
#define SCARP_HIL_OPS_H

#include "gc/ops.h"
#include "stat/ops.h"

bool scarp_hil_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);

/* The command is accepted, now. */
void scarp_hil_submit(ScarpDrive *drive, ScarpCmd *cmd);

typedef enum {
    HIL_QUEUED,   /* a command came into the host queue: dispatch */
    HIL_DATA_IN,  /* its data has arrived: it is for flow to carry out */
    HIL_DATA_OUT, /* ditto at the host: it has completed; dispatch */
} ScarpHilStep;

/* The event of a stage; *cmd is whose. */
ScarpHilStep scarp_hil_stage_event(ScarpDrive *drive, ScarpStage stage,
                                   ScarpCmd **cmd);

/*
 * Between begin and end, next returns the commands that enter the device and
 * are to be carried out now; writes fetch their data first.  begin is false
 * when it has been begun already: whoever began goes on.
 */
bool scarp_hil_dispatch_begin(ScarpDrive *drive);
ScarpCmd *scarp_hil_dispatch_next(ScarpDrive *drive);
void scarp_hil_dispatch_end(ScarpDrive *drive);

/*
 * One of the units_left that the command waits for has ended.  True: it was
 * the last, and the command has completed: dispatch.  (A read has completed
 * when its data has crossed the link.)
 */
bool scarp_hil_put(ScarpDrive *drive, ScarpCmd *cmd);
/* The command has completed: dispatch. */
void scarp_hil_complete(ScarpDrive *drive, ScarpCmd *cmd);

/* hil/starves.c, of checked builds: a command comes; one has been picked. */
void scarp_hil_starves_submit(ScarpCmd *cmd);
/* Another policy counts anew. */
void scarp_hil_starves_anew(ScarpDrive *drive);
void scarp_hil_starves_picked(const ScarpDrive *drive, const ScarpCmd *cmd);

/* For its policies: so many bytes on the host's link. */
int64_t scarp_hil_link_ns(const ScarpDrive *drive, uint64_t bytes);

/* Something has completed and was not reaped. */
static inline bool scarp_hil_any_done(const ScarpDrive *drive)
{
    return scarp_cmd_first(&drive->hil.done);
}

/* The oldest of that, or NULL. */
static inline ScarpCmd *scarp_hil_reap(ScarpDrive *drive)
{
    return scarp_cmd_pop(&drive->hil.done);
}

#endif /* SCARP_HIL_OPS_H */
