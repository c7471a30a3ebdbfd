/*
 * map: the places of logical units. Owns the forward map, and the other state
 * of the drive's mapping (ftl.mapping). The valid marks in blocks follow from
 * the forward map.
 *
 * Other rooms look up units, commit programmed ones, relocate and unmap them.
 * map asks allocation, blocks, media, nand and pack.
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
     * The mapping chooses a unit's page in its plane. Without this, any page
     * will do.
     */
    MAP_PLACES_PAGES = 1 << 0,
    /*
     * The mapping plans merges to reclaim blocks. Without this, the scheme
     * chooses victims.
     */
    MAP_MERGES = 1 << 1,
    /*
     * The mapping has the blocks in use, and no list of full blocks has them.
     */
    MAP_OWNS_BLOCKS = 1 << 2,
    /*
     * Entries may be on flash, so that a read or write may have to wait for
     * one.
     */
    MAP_FETCHES = 1 << 3,
    /*
     * Units, or translation units, lie in the planes that ftl.allocation gives
     * them.
     */
    MAP_KEEPS_ORDER = 1 << 4,
} ScarpMapCan;

/* A plane's merge, with MAP_MERGES. */
typedef struct {
    ScarpMergeKind kind; /* SCARP_MERGE_NONE: the plane merges nothing */
    uint32_t group;      /* logical block, or superblock */
    uint32_t victim;     /* the block that is reclaimed */
    uint32_t target;     /* the block that copies go to, or SCARP_NONE */
    uint32_t next, end;  /* offsets of the pages still to be looked at */
    uint32_t dead[3];    /* blocks to be erased, the last one first */
    uint32_t n_dead;
    uint32_t erasing;    /* the block being erased, or SCARP_NONE */
    bool switched;       /* the mapping has changed: finish was called */
} ScarpMerge;

/*
 * Work that mends a plane after a power cut: units to be copied, one after the
 * other, to newly opened blocks, and then blocks to be erased.
 */
typedef struct {
    uint32_t *unit;   /* [room]: PPNs; SCARP_PAD: a page without data */
    uint32_t n_units, room;
    uint32_t *dead;   /* [blocks_per_plane]: the last one first */
    uint32_t n_dead;
    uint32_t next;    /* the block of the plane to be looked at next */
    uint32_t group;   /* logical block, or superblock, of the units */
    bool open;        /* the target has room for more of group */
} ScarpMend;

typedef struct {
    const ScarpMappingOps *ops;
    uint32_t can;        /* ops->can */
    void *state;         /* the mapping's own state */
    ScarpMerge *merge;   /* [plane], with MAP_MERGES */
    uint32_t *ppn_of;    /* [lpn]; SCARP_NONE: unmapped */
    ScarpDemand *demand; /* ftl.mapping=demand; NULL: all entries are in RAM */
    uint64_t journal; /* seq of the first block that recovery reads */
    bool mending; /* recovery runs, and laws do not hold yet */
    bool wants; /* scarp_map_pump() has something to do */
} ScarpMap;

#endif /* SCARP_MAP_STATE_H */
