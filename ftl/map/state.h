/*
 * map: knows where each logical unit lies on flash. This directory owns the
 * forward map (ppn_of), and the other tables of the drive's mapping
 * (ftl.mapping). blocks has a valid bit for each PPN; map sets that bit while
 * ppn_of has this PPN.
 *
 * Other directories of ftl/ call map to look a unit up, to map it after a
 * program, to move it during garbage collection, and to unmap it. map calls
 * allocation, blocks, media, nand and pack.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_STATE_H
#define SCARP_MAP_STATE_H

#include "blocks/state.h"
#include "pack/state.h"

typedef struct ScarpMappingOps ScarpMappingOps;
typedef struct ScarpDemand ScarpDemand;
typedef struct ScarpMapWait ScarpMapWait;

/* Abilities of a mapping, which are bits of ScarpMappingOps.can. */
typedef enum {
    /*
     * The mapping chooses the page of each write within the plane. Without this
     * bit, a write goes to the next page of the plane's open block (a write
     * point of ftl/blocks).
     */
    MAP_PLACES_PAGES = 1 << 0,
    /*
     * The mapping plans merges to reclaim blocks. Without this bit, the GC
     * policies choose victim blocks.
     */
    MAP_MERGES = 1 << 1,
    /*
     * Blocks in use have the state BLOCK_OWNED, and are in the mapping's own
     * lists. Without this bit, ftl/blocks keeps them in its lists.
     */
    MAP_OWNS_BLOCKS = 1 << 2,
    /*
     * The mapping table lies on flash. A read or write may have to wait until
     * its entry has been read into RAM.
     */
    MAP_FETCHES = 1 << 3,
    /*
     * The mapping stores each unit in the plane that ftl.allocation gives to
     * its LPN. With ftl.mapping=demand, this holds for translation units only.
     */
    MAP_KEEPS_ORDER = 1 << 4,
} ScarpMapCan;

/* A plane's merge, with MAP_MERGES. */
typedef struct {
    ScarpMergeKind kind; /* SCARP_MERGE_NONE: the plane merges nothing */
    uint32_t group;      /* logical block, or superblock */
    uint32_t victim;     /* the block that is reclaimed */
    uint32_t target;     /* the block that copies go to, or SCARP_NONE */
    uint32_t next, end;  /* offsets of the source pages that are left */
    uint32_t dead[3];    /* blocks to be erased, the last of the array first */
    uint32_t n_dead;
    uint32_t erasing;    /* the block being erased, or SCARP_NONE */
    bool switched;       /* finish was called: the copies are mapped */
} ScarpMerge;

/*
 * Work of a plane after a power cut. First the units in unit[] are copied, in
 * this order, to a newly opened block. Then the blocks in dead[] are erased.
 */
typedef struct {
    uint32_t *unit;   /* [room]: PPNs; SCARP_PAD: a page without data */
    uint32_t n_units, room;
    uint32_t *dead;   /* blocks to erase, the last first */
    uint32_t n_dead;
    uint32_t next;    /* the block of the plane to look at next */
    uint32_t group;   /* logical block, or superblock, of the units */
    bool open;        /* the target has room for more units of `group` */
} ScarpMend;

typedef struct {
    const ScarpMappingOps *ops;
    uint32_t can;        /* ops->can */
    void *state;         /* the mapping's own state */
    ScarpMerge *merge;   /* [plane], with MAP_MERGES */
    uint32_t *ppn_of;    /* [lpn]; SCARP_NONE: unmapped */
    ScarpDemand *demand; /* ftl.mapping=demand; NULL: all entries are in RAM */
    uint64_t journal; /* least seq of a block that recovery reads in full */
    bool mending; /* recovery runs; the mapping's own state may be incomplete */
    bool wants; /* scarp_map_pump() has something to do */
} ScarpMap;

#endif /* SCARP_MAP_STATE_H */
