/*
 * gc: garbage collection. This directory owns the jobs (a job collects one
 * victim block, or does one merge; a plane has at most one), the packers (pages
 * under construction) of relocated units, and the counts of jobs at each die.
 *
 * Policies choose when to collect (pacing_*.c, ahead_*.c), which block
 * (victim_*.c) and where to copy its units (place_*.c). Other directories of
 * ftl/ ask gc what a collection costs, and whether a collection keeps a die
 * busy. These directories can also start or delay collections. gc calls map,
 * pack, blocks, media and nand, and tells nand which dies collect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_STATE_H
#define SCARP_GC_STATE_H

#include "map/state.h"

#define SCARP_GC_LINE (SCARP_CACHE_LINE / sizeof(uint32_t)) /* units */

/* A unit that a job moves. */
typedef struct {
    ScarpUnit unit; /* first member; pack and nand know only this part */
    ScarpGcJob *job;
    uint32_t source_ppn;
} ScarpCopy;

/*
 * A job: the collection of one victim block, or a merge. A job reads the victim
 * page by page. At most `window` pages (ScarpPlaceOps) are between the start of
 * their read and the end of their program. When all valid units have been
 * copied, the job erases the victim.
 */
struct ScarpGcJob {
    ScarpOrigin origin; /* GC; or PREMIGRATE: the job erases nothing */
    bool running;
    bool begun;     /* its first flash command has started */
    bool erasing;
    bool levelling; /* the victim was chosen to level wear */
    bool merge;     /* a merge, whose steps the mapping plans */
    ScarpMergeKind kind; /* kind of the merge */
    bool promised;    /* PREMIGRATE: a page of the plane is reserved for it */
    bool erase_later; /* the erase waits until the pacing grants it */
    bool fold;        /* the victim is a block of the SLC cache */
    uint32_t fold_pages; /* fold of a static block: pages reserved for it */
    uint32_t erases;  /* granted erases of a merge that have not begun */
    uint32_t plane;
    uint32_t victim;    /* drive-wide block */
    uint32_t next_page; /* page of the victim to look at next */
    uint32_t pages_out; /* reads under way, and units in programs under way */
    uint32_t units_out; /* units read, not yet committed or dropped */
    uint32_t away;      /* those of units_out in packers of other planes */
    uint32_t moves_left;
    uint32_t moved;     /* units moved */
    int64_t begin_ns;
    /* LPNs of the SCARP_GC_LINE units before PPN line_end (gc/job.c) */
    uint32_t line[SCARP_GC_LINE];
    uint32_t line_end;
    /* mapping entries of the units before this PPN have been prefetched */
    uint32_t fetched_end;
};

typedef struct {
    ScarpGcJob job;
    ScarpPacker packer; /* relocated units for this plane */
    bool promised; /* a page is reserved for units from other planes */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpGcPlane;

typedef struct {
    uint32_t jobs;     /* jobs that run in the die's planes */
    uint32_t begun;    /* jobs that have started a flash command */
    int64_t window_ns; /* when `begun` became more than 0 */
} ScarpGcDie;

/* Folds in idle time (gc/fold.c). */
typedef struct {
    /* [die]: when a command of the host ended last, or the drive became ready */
    int64_t *idle_from_ns;
    int64_t *due_ns;       /* [die]: when an idle die folds; NEVER: not set */
    int64_t timer_ns;      /* the least value of due_ns[] */
    bool put_off;          /* no idle die folds while the drive is drained */
} ScarpFold;

typedef struct {
    ScarpGcPlane *plane;
    ScarpPacker *map_packer; /* [plane]: relocated translation units */
    ScarpGcDie *die;
    ScarpPool copies;
    int64_t hold_until_ns; /* before this time no collection begins by itself */
    /* the plane whose collection waits for room (gc/room.c), or SCARP_NONE */
    uint32_t refused;
    ScarpFold *fold; /* NULL: no SLC cache */
} ScarpGc;

#endif /* SCARP_GC_STATE_H */
