/*
 * recovery: makes a drive usable again after its power failed
 * (nand.power_cuts), from the flash cells alone. This directory owns the steps
 * of recovery and their flash commands. First, all dies read the spare areas of
 * pages. Then planes erase useless blocks and copy units until each plane has a
 * free block. At last the units that stored energy saved are put back into the
 * buffer.
 *
 * The simulator rebuilds the drive's tables at once when power returns. The
 * reads only take the time that a real drive needs for this, and no host
 * command may use the tables before the reads have ended.
 *
 * This directory also erases a drive that is sanitized: for the rest of the
 * engine that is a recovery of one step.
 *
 * While recovery runs, flow lets recovery choose the commands of each die,
 * reports the end of each command, and makes host commands wait. recovery calls
 * buffer, gc, map, blocks, media and nand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RECOVERY_STATE_H
#define SCARP_RECOVERY_STATE_H

#include "hil/state.h"
#include "map/state.h"

typedef enum {
    RECOVERY_READY, /* recovery is over: host commands may begin */
    RECOVERY_SCAN,  /* spare areas are read */
    RECOVERY_MEND,  /* planes gain free blocks by copies and erases */
    RECOVERY_UNITS, /* groups of planes gain free reclaim units */
    RECOVERY_SANITIZE, /* no recovery: all blocks with pages are erased */
} ScarpRecoveryStep;

/* Recovery's work in a plane: first copies units, then erases blocks. */
typedef struct {
    ScarpMend mend;      /* the work, planned by map */
    /* how many units of `mend` have been read, and how many are on flash */
    uint32_t read, done;
    uint32_t target;     /* the block that units are copied to, or SCARP_NONE */
} ScarpRecoveryJob;

typedef struct {
    /* the next page to scan and its block, or the next block to sanitize */
    uint32_t block, page;
    ScarpFlashCmd *cmd;   /* the command that waits for its die, or NULL */
    ScarpRecoveryJob job;
} ScarpRecoveryPlane;

typedef struct {
    ScarpRecoveryStep step;
    uint32_t left;          /* planes whose step is not complete */
    int64_t since_ns;       /* when power returned */
    bool is_clean;          /* the drive was shut down before power failed */
    uint32_t to_erase;      /* blocks that Sanitize has still to erase */
    ScarpRecoveryPlane *plane;
} ScarpRecovery;

#endif /* SCARP_RECOVERY_STATE_H */
