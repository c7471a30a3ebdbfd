/*
 * map: where a logical unit lies. Owns the forward map and the other state of
 * the drive's mapping (ftl.mapping); the valid marks in blocks follow from it.
 *
 * Other rooms look up, commit programmed units, relocate and unmap. It asks
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

/* Abilities of a mapping: bits of its table's `can`. */
typedef enum {
    /* The mapping chooses a unit's page in its plane; else any page will do. */
    MAP_PLACES_PAGES = 1 << 0,
    /*
     * The mapping plans merges to reclaim blocks; else the scheme chooses
     * victims.
     */
    MAP_MERGES = 1 << 1,
    /* Blocks in use belong to the mapping, and are in no list of full ones. */
    MAP_OWNS_BLOCKS = 1 << 2,
    /* Entries may be on flash: a read or write may have to wait for one. */
    MAP_FETCHES = 1 << 3,
    /* Units or translation units lie in the planes that ftl.allocation says. */
    MAP_KEEPS_ORDER = 1 << 4,
} ScarpMapCan;

/* A plane's merge, of a mapping that says where pages go. */
typedef struct {
    ScarpMergeKind kind; /* NONE: the plane merges nothing */
    uint32_t group;      /* logical block, or superblock */
    uint32_t victim;     /* block that is reclaimed */
    uint32_t target;     /* copies go there; or SCARP_NONE */
    uint32_t next, end;  /* pages still to be looked at */
    uint32_t dead[3];    /* blocks to be erased, the last one first */
    uint32_t n_dead;
    uint32_t erasing;    /* the block being erased, or SCARP_NONE */
    bool switched;       /* target has taken the place of the dead */
} ScarpMerge;

/*
 * Work to mend a plane whose power failed: units to be copied one after the
 * other to newly opened blocks, then blocks to be erased.
 */
typedef struct {
    uint32_t *unit;   /* [room]: PPNs; SCARP_PAD: no data */
    uint32_t n_units, room;
    uint32_t *dead;   /* [blocks_per_plane]: the last one first */
    uint32_t n_dead;
    uint32_t next;    /* block of the plane to be looked at next */
    uint32_t group;   /* logical block, or superblock, of the units */
    bool open;        /* the target has room for more of group */
} ScarpMend;

typedef struct {
    const ScarpMappingOps *ops;
    uint32_t can;        /* ops->can */
    void *state;         /* the mapping's own */
    ScarpMerge *merge;   /* [plane], with MAP_MERGES */
    uint32_t *ppn_of;    /* [lpn]; SCARP_NONE: unmapped */
    ScarpDemand *demand; /* cached entries; NULL: all are in RAM */
    uint64_t journal; /* seq of the first block that recovery reads */
    bool mending; /* in recovery, when laws do not hold yet */
    bool wants; /* scarp_map_pump() has something to do */
} ScarpMap;

#endif /* SCARP_MAP_STATE_H */
