/*
 * blocks: the states of blocks, and the next page to program. Owns free lists,
 * write points, the full blocks in the order of filling and by valid units (the
 * candidates for a victim), and the marks of valid units. All of this is in the
 * controller's RAM; media has the cells.
 *
 * Other rooms take pages, mark units, take a victim, put it back or erase it.
 * Policies see a read-only view of the candidates. blocks asks media and core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_STATE_H
#define SCARP_BLOCKS_STATE_H

#include "media/state.h"

typedef enum {
    BLOCK_FREE, BLOCK_ACTIVE, BLOCK_FULL, BLOCK_VICTIM, BLOCK_BAD,
    BLOCK_TRANSLATION, /* full, of translation units: no policy's candidate */
    BLOCK_OWNED, /* the mapping chooses its pages (blocks/owned.c) */
    BLOCK_APART  /* recovery's: erased soon, or copied to */
} ScarpBlockState;

/*
 * All that a written or superseded unit changes in its block's record lies
 * together, in one line of the cache for blocks of up to 384 units: on a large
 * drive hardly any line, or page of memory, is cached.
 */
typedef struct {
    uint32_t valid;      /* units */
    uint16_t written;    /* next page to program */
    uint8_t state;       /* ScarpBlockState */
    int64_t modified_ns; /* last program, or last unit that became invalid */
    uint64_t is_valid[]; /* a bit per unit: the mapping names it */
} ScarpBlock;

/*
 * Links of a block in a bucket of full blocks; next serves the free list, too.
 */
typedef struct {
    uint32_t next, prev;
} ScarpBlockLink;

/* Ends of a list of blocks, or SCARP_NONE. */
typedef struct {
    uint32_t head, tail;
} ScarpBlockList;

/*
 * Write points. ALIGNED: at one page offset with the planes of the die (hpdc18
 * §4.2). From WRITE_HOST on: one for each stream of the host.
 */
enum {
    WRITE_GC, WRITE_ALIGNED, WRITE_HOST,
    WRITE__COUNT = WRITE_HOST + SCARP_MAX_STREAMS
};

typedef struct {
    uint32_t active[WRITE__COUNT]; /* the open block of a write point */
    ScarpBlockList free; /* in the order of release */
    uint32_t n_free, n_bad, n_full;
    uint32_t valid;           /* units in all blocks of the plane */
    uint32_t promised; /* pages for collections of other planes */
    uint32_t n_map;  /* blocks of translation units: open, full or a victim */
    uint32_t n_map_full;
    ScarpBlockList *bucket;   /* [units_per_block + 1] by valid units */
    uint64_t *bucket_filled;  /* a bit per bucket */
    ScarpBlockList full;      /* filled longest ago first */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpBlocksPlane;

typedef struct {
    char *records;         /* [block]: scarp_block_record() */
    uint32_t record_bytes; /* distance of two records */
    uint32_t n_free;       /* in all planes */
    ScarpBlockLink *link;  /* [block] */
    ScarpBlockLink *full;  /* [block]: full ones, in the order of filling */
    ScarpBlockList *buckets; /* [plane][units_per_block + 1] */
    ScarpBlocksPlane *plane;
    uint32_t *map_full;    /* [plane][translation_blocks], n_map_full used */
    bool *opened; /* [die]: a block was opened since the clear */
} ScarpBlocks;

#endif /* SCARP_BLOCKS_STATE_H */
