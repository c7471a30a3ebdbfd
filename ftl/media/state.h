/*
 * media: the flash cells. This directory owns all that survives a power cut:
 * the spare area of each unit (its LPN and, with ftl.recovery, its version),
 * the record of each block, the mode of its cells, and the data. The record of
 * a block has its wear, its bad-block mark, who opened the block, and its place
 * in the order of openings.
 *
 * With nand.power_cuts each page also has a state, and data stays until its
 * block is erased, as in real flash: even an overwritten unit is still there.
 *
 * Other directories of ftl/ call media when a page is programmed or read, or a
 * block erased. media calls only functions of core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEDIA_STATE_H
#define SCARP_MEDIA_STATE_H

#include "core/state.h"

typedef struct {
    uint64_t seq;        /* place in the drive's order of openings */
    void **contents;     /* [units_per_block]; NULL: no contents yet */
    uint32_t erases;
    uint16_t programmed; /* pages programmed since the last erase */
    uint8_t origin;      /* ScarpOrigin of the first page */
    /* stream of the first page; 0 for GC's copies of the host's data */
    uint8_t stream:7;
    bool bad:1;          /* the mark of a bad block */
} ScarpMediaBlock;

/*
 * How the cells of a block are programmed: with nand.cell_bits bits each, or
 * with one bit each (SLC). A block in SLC mode has fewer pages.
 */
typedef enum {
    MODE_REAL,
    MODE_SLC,    /* until the block is erased */
    MODE_STATIC, /* SLC for ever (slc.static_blocks) */
} ScarpCellMode;

/* State of a page, kept with nand.power_cuts alone, in two bits a page. */
typedef enum {
    PAGE_ERASED,
    PAGE_PROGRAMMED, /* each unit of the page has a spare area */
    PAGE_TORN,       /* a program or erase was cut short: unreadable */
} ScarpPageState;

/*
 * A unit of the write buffer that was saved when power failed
 * (controller.plp_bytes). Saved units are in the order in which the host wrote
 * them.
 */
typedef struct {
    void *data;           /* contents, owned; NULL: zeroes, or not stored */
    /* version of the unit's deallocation; 0: the unit was written */
    uint64_t deallocated;
    uint32_t lpn;
    uint16_t stream;
} ScarpSavedUnit;

typedef struct {
    uint32_t *lpn_of;     /* [unit], SCARP_NONE: erased */
    uint64_t *version_of; /* [unit]; NULL without ftl.recovery */
    uint8_t *page_state;  /* two bits a page; NULL: no nand.power_cuts */
    GArray *saved;        /* ScarpSavedUnit (controller.plp_bytes), or NULL */
    GArray *saved_stripes; /* uint32_t: stripes whose parity was in RAM */
    bool keeps_contents;  /* the bytes of some units, or of all, are stored */
    bool is_clean;        /* tables are on flash, and no page changed since */
    ScarpMediaBlock *block;
    /* [block]: erases in SLC mode; NULL without slc.endurance_erases */
    uint32_t *slc_erases;
    uint8_t *mode;        /* [block] ScarpCellMode; NULL: no SLC cache */
    uint64_t next_block_seq;
    GPtrArray *spare;     /* unit-sized buffers without contents, for reuse */
} ScarpMedia;

#endif /* SCARP_MEDIA_STATE_H */
