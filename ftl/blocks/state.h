/*
 * blocks: the state of each flash block, and the page that the next program
 * goes to. This directory owns the free lists, the write points (open blocks),
 * the lists of full blocks, and a valid bit for each unit. The lists have full
 * blocks both in the order of filling and by the number of valid units. A
 * controller has all of this in RAM; media has what is on flash.
 *
 * Other directories of ftl/ take pages, set valid bits, and take a full block
 * as a victim of garbage collection, to erase it or put it back. Victim
 * policies only read the lists. blocks calls media, core, and nand, which it
 * tells when a plane has one more free block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BLOCKS_STATE_H
#define SCARP_BLOCKS_STATE_H

#include "media/state.h"

typedef enum {
    BLOCK_FREE, BLOCK_ACTIVE, BLOCK_FULL, BLOCK_VICTIM, BLOCK_BAD,
    BLOCK_TRANSLATION, /* full of translation units; no victim policy sees it */
    BLOCK_OWNED, /* the mapping chooses its pages (blocks/owned.c) */
    BLOCK_APART, /* recovery erases it soon, or copies units to it */
    BLOCK_CACHE  /* full, in SLC mode; no victim policy sees it */
} ScarpBlockState;

/*
 * A block's record: everything that changes when a unit of the block is written
 * or becomes invalid. For blocks of up to 384 units a record fits into one
 * cache line of the host CPU. On a large drive each access to a record misses
 * the CPU's cache, so one line costs one miss.
 */
typedef struct {
    uint32_t valid;      /* valid units */
    uint16_t written;    /* offset of the next page to program */
    uint8_t state;       /* ScarpBlockState */
    int64_t modified_ns; /* last time a page was taken or a valid bit changed */
    uint64_t is_valid[]; /* a bit per unit: the forward map has its PPN */
} ScarpBlock;

/*
 * Neighbours of a full block in its bucket, which is the list of the plane's
 * full blocks with equally many valid units. For a free block, `next` is the
 * next block of the free list.
 */
typedef struct {
    uint32_t next, prev;
} ScarpBlockLink;

/* A list of blocks. `head` is SCARP_NONE if the list is empty. */
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
    ScarpBlockList free; /* in the order of their erases */
    uint32_t n_free, n_bad, n_full;
    uint32_t valid;           /* valid units in all blocks of the plane */
    uint32_t promised; /* pages reserved by scarp_plane_promise() */
    uint32_t n_map;  /* blocks of translation units: open, full or victim */
    uint32_t n_map_full;
    /* [0 to units_per_block]: the full blocks with that many valid units */
    ScarpBlockList *bucket;
    uint64_t *bucket_filled;  /* a bit per bucket: set if it has a block */
    ScarpBlockList full;      /* in the order of filling */
} __attribute__((aligned(SCARP_CACHE_LINE))) ScarpBlocksPlane;

/*
 * A plane's blocks of the SLC cache. Static blocks are in SLC mode for ever,
 * and never in the plane's free list. Dynamic blocks are taken from the plane's
 * free list, and return to it when they are erased.
 */
typedef struct {
    /* the open block of each stream, or SCARP_NONE */
    uint32_t active[SCARP_MAX_STREAMS];
    ScarpBlockList free;    /* free static blocks, in the order of erases */
    ScarpBlockList full[2]; /* [is static]: in the order of filling */
    uint32_t n_full;        /* full blocks, static and dynamic */
    uint32_t n_static, n_dynamic; /* blocks with pages: open, full, victim */
} ScarpSlcPlane;

/*
 * A reclaim unit of several planes: a block of each plane of a group, opened,
 * filled, collected and freed together. Its number is that of its block in the
 * group's first plane, counted through all groups.
 */
typedef enum { RU_NONE, RU_OPEN, RU_FULL, RU_VICTIM } ScarpRuState;

typedef struct {
    uint32_t valid;      /* valid mapping units of all its blocks */
    /* pages given to programs; an erase does not change it */
    uint32_t written;
    uint32_t end;        /* pages that it gets: all, or those until its close */
    uint32_t n_blocks;   /* blocks that are not erased yet */
    uint16_t point;      /* the write point that opened it */
    uint8_t state;       /* ScarpRuState */
    int64_t modified_ns; /* last time a page was taken or a bit changed */
} ScarpRu;

/*
 * Write points of a group of planes: RU_POINT_GC for the copies of all streams
 * that are not isolated, one for each stream of the host, and one for the
 * copies of each isolated stream.
 *
 * The planes of the group take turns, so a unit gives each of them equally many
 * pages, unless the host closes it before it is full. A write point may have
 * two open units. A plane's next page is in the older one until that has no
 * page left in this plane.
 */
enum {
    RU_POINT_GC, RU_POINT_HOST,
    RU_POINT_ISOLATED = RU_POINT_HOST + SCARP_MAX_RU_STREAMS,
    RU_POINTS = RU_POINT_ISOLATED + SCARP_MAX_RU_STREAMS
};

typedef struct {
    uint32_t older, newer; /* open units, or SCARP_NONE */
    /* pages of the unit that the next program goes to which have programs */
    uint32_t reserved;
    bool begun; /* that unit is open: it is `newer` */
    /*
     * How many pages each unit gets that gets no more programs and is not open
     * yet (uint32_t), oldest first. NULL: there was no such unit yet.
     */
    GArray *ended;
} ScarpRuPoint;

typedef struct {
    ScarpRuPoint point[RU_POINTS];
    uint32_t valid;    /* valid mapping units of all planes */
    uint32_t victim;   /* the unit that is collected, while `collected` */
    bool collected;    /* the victim has blocks that are not erased */
} ScarpRuGroup;

typedef struct {
    ScarpRuGroup *group; /* [geo.reclaim_groups] */
    ScarpRu *unit;       /* [number] */
    uint32_t *block;     /* [number][ftl.reclaim_planes]; SCARP_NONE: erased */
    uint32_t *unit_of;   /* [block]: number, or SCARP_NONE */
    uint32_t *plane_of;  /* [group][turn]: the planes in stripe order */
    uint32_t *turn_of;   /* [plane]: its turn in the stripe of its group */
    /* [plane]: free blocks; ScarpBlocksPlane.n_free has the group's units */
    uint32_t *n_free;
    /*
     * [plane]: the newest free block is of a victim that has other blocks to be
     * erased
     */
    bool *early;
    ScarpBlockList *buckets; /* [group][geo.victim_units + 1] */
    bool recovers;       /* a power cut has left groups that lack free units */
    /* [LPN]: stream that wrote it; NULL but in checked builds */
    uint8_t *stream_of;
} ScarpRus;

typedef struct {
    char *records;         /* [block]; use scarp_block_record() */
    uint32_t record_bytes; /* bytes from one record to the next */
    uint32_t n_free;       /* free blocks of all planes */
    ScarpBlockLink *link;  /* [block] */
    /* [block]: neighbours of a full block in the list by time of filling */
    ScarpBlockLink *full;
    ScarpBlockList *buckets; /* [plane][units_per_block + 1] */
    ScarpBlocksPlane *plane;
    ScarpSlcPlane *slc;    /* [plane]; NULL: no SLC cache */
    ScarpRus *rus;         /* NULL: a block is its own reclaim unit */
    uint32_t *map_full;    /* [plane][translation_blocks]: full blocks */
    bool *opened; /* [die]: scarp_blocks_opened() */
} ScarpBlocks;

#endif /* SCARP_BLOCKS_STATE_H */
