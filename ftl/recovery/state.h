/*
 * recovery: how a drive whose power failed gets ready again, from the cells
 * alone (nand.power_cuts). Owns the steps, and the flash commands that they
 * need: spare areas are read die by die, then planes are mended, and then what
 * energy saved comes back into the buffer.
 *
 * The tables are made at once when power returns, but nobody may ask them
 * before the reads that tell them have taken their time.
 *
 * flow gives dies to recovery while it runs, reports the ends of flash commands
 * that recovery owns, and lets no command of the host in. recovery asks buffer,
 * gc, map, blocks, media and nand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RECOVERY_STATE_H
#define SCARP_RECOVERY_STATE_H

#include "hil/state.h"
#include "map/state.h"

typedef enum {
    RECOVERY_READY, /* the drive is ready: the host is let in */
    RECOVERY_SCAN,  /* spare areas are read */
    RECOVERY_MEND,  /* planes erase useless blocks, and get free ones */
} ScarpRecoveryStep;

/* Mending of a plane: units are copied, then blocks are erased. */
typedef struct {
    ScarpMend mend;      /* the work, planned by map */
    uint32_t read, done; /* of its units: read so far; on flash */
    uint32_t target;     /* the block that they go to, or SCARP_NONE */
} ScarpRecoveryJob;

typedef struct {
    uint32_t block, page; /* the next page to scan, in the plane */
    ScarpFlashCmd *cmd;   /* waits for its die, or NULL */
    bool running;         /* the plane's command is on its die */
    bool done;            /* this step is complete */
    ScarpRecoveryJob job;
} ScarpRecoveryPlane;

typedef struct {
    ScarpRecoveryStep step;
    uint32_t left;          /* planes whose step is not complete */
    int64_t since_ns;       /* when power returned */
    bool is_clean;          /* the drive was shut down */
    ScarpRecoveryPlane *plane;
} ScarpRecovery;

#endif /* SCARP_RECOVERY_STATE_H */
