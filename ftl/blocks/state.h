/*
 * blocks: the state of each flash block, and the page that the next program
 * goes to. It owns the free lists, the write points (open blocks), the lists of
 * full blocks, and a valid bit for each unit. The lists have full blocks both
 * in the order of filling and by the number of valid units. A controller has
 * all of this in RAM; media has what is on flash.
 *
 * Other directories of ftl/ take pages, set valid bits, and take a full block
 * as a victim of garbage collection, to erase it or put it back. Victim
 * policies only read the lists. blocks calls media and core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_STATE_H
#define SCARP_BLOCKS_STATE_H

#include "media/state.h"

typedef enum {
    BLOCK_FREE, BLOCK_ACTIVE, BLOCK_FULL, BLOCK_VICTIM, BLOCK_BAD,
    BLOCK_TRANSLATION, /* has translation units; never a victim of policies */
    BLOCK_OWNED, /* the mapping chooses its pages (blocks/owned.c) */
    BLOCK_APART, /* recovery erases it soon, or copies to it */
    BLOCK_CACHE  /* full, in SLC mode; never a victim of policies */
} ScarpBlockState;

/*
 * A block's record. It has everything that changes when a unit of the block is
 * written or becomes invalid. For blocks of up to 384 units that is one cache
 * line of the host CPU. On a large drive each access to a record misses the
 * CPU's cache, so one line costs one miss.
 */
typedef struct {
    uint32_t valid;      /* valid units */
    uint16_t written;    /* the next page to program */
    uint8_t state;       /* ScarpBlockState */
    int64_t modified_ns; /* last time a page was taken or a bit changed */
    uint64_t is_valid[]; /* a bit per unit: the forward map has its PPN */
} ScarpBlock;

/*
 * Neighbours of a full block in its bucket, which is the list of the plane's
 * full blocks with equally many valid units. For a free block, `next` is the
 * next one in the free list.
 */
typedef struct {
    uint32_t next, prev;
} ScarpBlockLink;

/* The ends of a list of blocks, or SCARP_NONE. */
typedef struct {
    uint32_t head, tail;
} ScarpBlockList;

/*
 * Write points; each can have one open block per plane. WRITE_GC is for copies
 * of garbage collection. WRITE_ALIGNED is for multi-plane programs: the blocks
 * of a die's planes are written at the same page offset (hpdc18 §4.2). Then
 * follows one write point for each stream of the host.
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
    uint32_t promised; /* pages reserved by scarp_plane_promise() */
    uint32_t n_map;  /* blocks of translation units: open, full or victim */
    uint32_t n_map_full;
    /* [0 to units_per_block]: the full blocks with that many valid units */
    ScarpBlockList *bucket;
    uint64_t *bucket_filled;  /* a bit per bucket: it is not empty */
    ScarpBlockList full;      /* the block filled longest ago first */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpBlocksPlane;

/*
 * A plane's blocks of the SLC cache. Static ones are SLC for ever, and never in
 * the plane's free list. Dynamic ones come from that list, and return to it.
 */
typedef struct {
    /* write points, one for each stream: open blocks, or SCARP_NONE */
    uint32_t active[SCARP_MAX_STREAMS];
    ScarpBlockList free;    /* static ones, in the order of release */
    ScarpBlockList full[2]; /* [is static]: the one filled longest ago first */
    uint32_t n_full;        /* in both lists */
    uint32_t n_static, n_dynamic; /* blocks with pages: open, full, victim */
} ScarpSlcPlane;

typedef struct {
    char *records;         /* [block]; scarp_block_record() finds one */
    uint32_t record_bytes; /* from one record to the next */
    uint32_t n_free;       /* free blocks of all planes */
    ScarpBlockLink *link;  /* [block] */
    /* [block]: neighbours of a full block in the list by time of filling */
    ScarpBlockLink *full;
    ScarpBlockList *buckets; /* [plane][units_per_block + 1] */
    ScarpBlocksPlane *plane;
    ScarpSlcPlane *slc;    /* [plane]; NULL: no SLC cache */
    uint32_t *map_full;    /* [plane][translation_blocks]: full blocks */
    bool *opened; /* [die]: a block was opened since it was cleared */
} ScarpBlocks;

#endif /* SCARP_BLOCKS_STATE_H */
