/*
 * media: the flash cells. Owns all that survives a power cut: the spare area of
 * each unit (its LPN and, with ftl.recovery, its version), what a block's own
 * pages tell of it (who opened it, when in the order of openings), wear and
 * marks of bad blocks, and the contents.
 *
 * With nand.power_cuts media also keeps the state of each page, and contents
 * until their block is erased: a superseded unit is still there.
 *
 * Other rooms ask it to program, to read, to erase, and to tear. It asks core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEDIA_STATE_H
#define SCARP_MEDIA_STATE_H

#include "core/state.h"

typedef struct {
    uint64_t seq;        /* of the drive's block openings: age, recovery */
    void **contents;     /* [units_per_block], NULL until one is stored */
    uint32_t erases;
    uint16_t programmed; /* pages, since the last erase */
    uint8_t origin;      /* ScarpOrigin that opened the block */
    uint8_t stream:7;    /* stream that opened it; GC's copies: 0 */
    bool bad:1;          /* the mark of a bad block */
} ScarpMediaBlock;

/* State of a page's cells (nand.power_cuts), two bits each. */
typedef enum {
    PAGE_ERASED,
    PAGE_PROGRAMMED, /* each of its units has a spare area */
    PAGE_TORN,       /* cut short: unreadable */
} ScarpPageState;

/*
 * A unit of the buffer that energy saved, in the order in which the host gave
 * it.
 */
typedef struct {
    void *data;           /* a unit, owned; NULL: zeroes, or not stored */
    uint64_t deallocated; /* at this version; 0: it was written */
    uint32_t lpn;
    uint16_t stream;
} ScarpSavedUnit;

typedef struct {
    uint32_t *lpn_of;     /* [unit], SCARP_NONE: erased */
    uint64_t *version_of; /* [unit]; NULL without ftl.recovery */
    uint8_t *page_state;  /* four pages a byte; NULL without nand.power_cuts */
    GArray *saved;        /* ScarpSavedUnit (controller.plp_bytes), or NULL */
    GArray *saved_stripes; /* uint32_t: stripes whose parity was in RAM */
    bool keeps_contents;  /* units of any kind have contents */
    bool is_clean;        /* tables are on flash, and nothing since */
    ScarpMediaBlock *block;
    uint64_t next_block_seq;
    GPtrArray *spare;     /* buffers of a unit's size, to be used again */
} ScarpMedia;

#endif /* SCARP_MEDIA_STATE_H */
