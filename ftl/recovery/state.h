/*
 * recovery: the way of a drive whose power failed until it is ready again, from
 * the cells alone (nand.power_cuts). Owns the steps, and the flash commands
 * that they need: spare areas are read die by die, then planes are mended, and
 * then the units that energy saved come back into the buffer.
 *
 * The tables are made at once when power returns. But nobody may ask them
 * before the reads by which a real drive would make them have taken their time.
 *
 * flow gives dies to recovery while it runs, tells recovery of the ends of its
 * flash commands, and lets no command of the host in. recovery asks buffer, gc,
 * map, blocks, media and nand.
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

/* The mending of a plane: units are copied, then blocks are erased. */
typedef struct {
    ScarpMend mend;      /* the work, planned by map */
    uint32_t read, done; /* how many of its units are read; are on flash */
    uint32_t target;     /* the block that units are copied to, or SCARP_NONE */
} ScarpRecoveryJob;

typedef struct {
    uint32_t block, page; /* the next page to scan, in the plane */
    ScarpFlashCmd *cmd;   /* the command that waits for its die, or NULL */
    bool running;         /* a command of the plane runs on its die */
    bool done;            /* the present step is complete */
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
