/*
 * gc: garbage collection. Owns the jobs, at most one a plane, the packers of
 * relocated units, and which planes and dies collect.
 *
 * Its policies choose when (pacing_*.c, ahead_*.c), which block (victim_*.c)
 * and where to (place_*.c). Other rooms ask what a collection costs, whether
 * one holds a die, and to collect now or not yet. gc asks map, pack, blocks,
 * media and nand, and tells nand which dies collect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_STATE_H
#define SCARP_GC_STATE_H

#include "map/state.h"

#define SCARP_GC_LINE (SCARP_CACHE_LINE / sizeof(uint32_t)) /* units */

/* A unit that a job moves. */
typedef struct {
    ScarpUnit unit; /* first member: pack and nand see no more of it */
    ScarpGcJob *job;
    uint32_t source_ppn;
} ScarpCopy;

/*
 * The collection of one victim, or a merge; at most one a plane. A job reads
 * page after page, with at most window pages at once between the start of a
 * read and the end of their program, and erases the block when none of its
 * units is on its way.
 */
struct ScarpGcJob {
    ScarpOrigin origin; /* GC, or PREMIGRATE: pages only, no erase */
    bool running;
    bool begun;     /* its first flash command has started */
    bool erasing;
    bool levelling; /* chosen for wear */
    bool merge;     /* the mapping plans its steps: gc/merge.c */
    ScarpMergeKind kind; /* of a merge */
    bool promised;    /* a page of its plane, for work ahead of time */
    bool erase_later; /* only when the pacing grants it */
    uint32_t erases;  /* granted erases of a merge */
    uint32_t plane;
    uint32_t victim;    /* drive-wide block */
    uint32_t next_page; /* page of the victim to look at next */
    uint32_t pages_out; /* reads and programs on their way */
    uint32_t units_out; /* units read, not yet committed or dropped */
    uint32_t away;      /* those of them in packers of other planes */
    uint32_t moves_left;
    uint32_t moved;     /* units moved */
    int64_t begin_ns;
    /* The victim's reverse map in the units before line_end: gc/job.c */
    uint32_t line[SCARP_GC_LINE];
    uint32_t line_end;
    uint32_t fetched_end; /* the forward map is prefetched up to here */
};

typedef struct {
    ScarpGcJob job;
    ScarpPacker packer; /* relocated units for this plane */
    bool promised; /* a page, for units of other planes' victims */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpGcPlane;

typedef struct {
    uint32_t jobs;     /* collections that run in its planes */
    uint32_t begun;    /* those of them that have begun */
    int64_t window_ns; /* when begun became more than 0 */
} ScarpGcDie;

typedef struct {
    ScarpGcPlane *plane;
    ScarpPacker *map_packer; /* [plane]: relocated translation units */
    ScarpGcDie *die;
    ScarpPool copies;
    int64_t hold_until_ns; /* until then no collection begins by itself */
    uint32_t refused; /* gc/room.c: the plane that waits for room, or none */
} ScarpGc;

#endif /* SCARP_GC_STATE_H */
