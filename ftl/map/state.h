/*
 * map: where a logical unit lies.  Owns the forward map and what the mapping of
 * the drive (ftl.mapping) holds besides; which units are valid follows from it,
 * and is marked in blocks.
 *
 * Others look up, commit what was programmed, relocate and unmap.  It asks
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

/* What a mapping can: bits of its table's `can`. */
typedef enum {
    /* It says which page of its plane a unit gets; else: any. */
    MAP_PLACES_PAGES = 1 << 0,
    /* It plans what is reclaimed, merges; else the scheme chooses victims. */
    MAP_MERGES = 1 << 1,
    /* Blocks in use are its own, and in no list of full ones. */
    MAP_OWNS_BLOCKS = 1 << 2,
    /* Entries may be on flash: who needs one may have to wait. */
    MAP_FETCHES = 1 << 3,
    /* Something of it lies in the planes that ftl.allocation says. */
    MAP_KEEPS_ORDER = 1 << 4,
} ScarpMapCan;

/* What a plane merges now, of a mapping that says where pages go. */
typedef struct {
    ScarpMergeKind kind; /* NONE: nothing */
    uint32_t group;      /* logical block, or superblock, of the drive */
    uint32_t victim;     /* block that is reclaimed */
    uint32_t target;     /* that is copied to, or SCARP_NONE */
    uint32_t next, end;  /* pages that are still to be looked at */
    uint32_t dead[3];    /* blocks to be erased then, the last one first */
    uint32_t n_dead;
    uint32_t erasing;    /* the one of them that is erased, or SCARP_NONE */
    bool switched;       /* target has taken the place of the dead */
} ScarpMerge;

/*
 * What is to be mended of a plane whose power failed: units that are copied one
 * after the other to blocks that are opened for it, then blocks to be erased.
 */
typedef struct {
    uint32_t *unit;   /* [room]: where they lie, or SCARP_PAD: nothing */
    uint32_t n_units, room;
    uint32_t *dead;   /* [blocks_per_plane]: the last one first */
    uint32_t n_dead;
    uint32_t next;    /* block of the plane, to be looked at */
    uint32_t group;   /* logical block, or superblock, whose units they are */
    bool open;        /* a block that they go to has room for more of it */
} ScarpMend;

typedef struct {
    const ScarpMappingOps *ops;
    uint32_t can;        /* of ops */
    void *state;         /* the mapping's own */
    ScarpMerge *merge;   /* [plane], of MAP_MERGES */
    uint32_t *ppn_of;    /* [lpn]; SCARP_NONE: unmapped */
    ScarpDemand *demand; /* entries that are in RAM; NULL: all of them */
    uint64_t journal; /* after a power cut: seq of the first block that is read */
    bool mending; /* after a power cut: its own laws do not hold yet */
    bool wants; /* scarp_map_pump() has something to do */
} ScarpMap;

#endif /* SCARP_MAP_STATE_H */
