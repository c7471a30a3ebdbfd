/*
 * recovery: how a drive whose power failed gets ready again, from what the
 * cells hold alone (nand.power_cuts).  Owns the steps, and the flash commands
 * that they need: spare areas are read die by die, then planes are mended, and
 * what energy saved comes back into the buffer.
 *
 * The tables are made at once, when power returns: nobody may ask them anything
 * before the reads that tell them have taken their time.
 *
 * Flow gives dies to it while it runs, tells it of the flash commands that it
 * owns, and lets no command of the host in.  It asks buffer, gc, map, blocks,
 * media and nand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RECOVERY_STATE_H
#define SCARP_RECOVERY_STATE_H

#include "hil/state.h"
#include "map/state.h"

typedef enum {
    RECOVERY_READY, /* nothing is to be done: the host is let in */
    RECOVERY_SCAN,  /* spare areas are read */
    RECOVERY_MEND,  /* planes erase what is of no use, and get free blocks */
} ScarpRecoveryStep;

/* What is mended in a plane: units are copied, then blocks are erased. */
typedef struct {
    ScarpMend mend;      /* what, as map says */
    uint32_t read, done; /* of its units: in RAM; on flash */
    uint32_t target;     /* that they go to, or SCARP_NONE */
} ScarpRecoveryJob;

typedef struct {
    uint32_t block, page; /* scan: the next one, of the plane */
    ScarpFlashCmd *cmd;   /* waits for its die, or NULL */
    bool running;         /* it is on its die */
    bool done;            /* this step is over */
    ScarpRecoveryJob job;
} ScarpRecoveryPlane;

typedef struct {
    ScarpRecoveryStep step;
    uint32_t left;          /* planes that this step is not over in */
    int64_t since_ns;       /* power returned */
    bool is_clean;          /* it was shut down */
    ScarpRecoveryPlane *plane;
} ScarpRecovery;

#endif /* SCARP_RECOVERY_STATE_H */
