/*
 * blocks: the states of blocks, and the next page to program. Owns free lists,
 * write points, the full blocks (in the order of filling, and by valid units as
 * candidates for a victim), and the marks of valid units. All of this is in the
 * controller's RAM. media has the cells.
 *
 * Other rooms take pages, mark units, take a victim, put it back or erase it.
 * Policies have a read-only view of the candidates. blocks asks media and core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_STATE_H
#define SCARP_BLOCKS_STATE_H

#include "media/state.h"

typedef enum {
    BLOCK_FREE, BLOCK_ACTIVE, BLOCK_FULL, BLOCK_VICTIM, BLOCK_BAD,
    BLOCK_TRANSLATION, /* full of translation units: no policy's candidate */
    BLOCK_OWNED, /* the mapping chooses its pages (blocks/owned.c) */
    BLOCK_APART  /* recovery erases it soon, or copies to it */
} ScarpBlockState;

/*
 * A block's record. It has all members that change when a unit is written or
 * superseded, in one line of the processor's cache for blocks of up to 384
 * units: on a large drive hardly any line, or page of memory, is cached.
 */
typedef struct {
    uint32_t valid;      /* valid units */
    uint16_t written;    /* the next page to program */
    uint8_t state;       /* ScarpBlockState */
    int64_t modified_ns; /* when a page was last taken or a unit marked */
    uint64_t is_valid[]; /* a bit per unit: the forward map names it */
} ScarpBlock;

/*
 * Links of a block in its bucket of full blocks. The free list uses `next`,
 * too.
 */
typedef struct {
    uint32_t next, prev;
} ScarpBlockLink;

/* The ends of a list of blocks, or SCARP_NONE. */
typedef struct {
    uint32_t head, tail;
} ScarpBlockList;

/*
 * Write points. The aligned blocks of a die's planes are written at the same
 * page offset (hpdc18 §4.2). From WRITE_HOST on there is one for each stream.
 */
enum {
    WRITE_GC, WRITE_ALIGNED, WRITE_HOST,
    WRITE__COUNT = WRITE_HOST + SCARP_MAX_STREAMS
};

typedef struct {
    uint32_t active[WRITE__COUNT]; /* open blocks, or SCARP_NONE */
    ScarpBlockList free; /* in the order of release */
    uint32_t n_free, n_bad, n_full;
    uint32_t valid;           /* valid units in all blocks of the plane */
    uint32_t promised; /* promised pages */
    uint32_t n_map;  /* blocks of translation units: open, full or victim */
    uint32_t n_map_full;
    /* [units_per_block + 1]: full blocks by valid units */
    ScarpBlockList *bucket;
    uint64_t *bucket_filled;  /* a bit per bucket: it is not empty */
    ScarpBlockList full;      /* the block filled longest ago first */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpBlocksPlane;

typedef struct {
    char *records;         /* [block]; scarp_block_record() finds one */
    uint32_t record_bytes; /* from one record to the next */
    uint32_t n_free;       /* free blocks of all planes */
    ScarpBlockLink *link;  /* [block] */
    /* [block]: links of full blocks in the order of filling */
    ScarpBlockLink *full;
    ScarpBlockList *buckets; /* [plane][units_per_block + 1] */
    ScarpBlocksPlane *plane;
    uint32_t *map_full;    /* [plane][translation_blocks]: full ones */
    bool *opened; /* [die]: a block was opened since it was cleared */
} ScarpBlocks;

#endif /* SCARP_BLOCKS_STATE_H */
