/*
 * media: what is in the flash cells.  Owns all that would survive a power cut:
 * the spare area of each unit (its LPN and, with ftl.recovery, its version),
 * what is known of each block by its own pages (who opened it, when in the
 * order of openings), wear, and the contents.
 *
 * Others ask it to program, to read and to erase.  It asks core.
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
    uint8_t origin;      /* that opened it: ScarpOrigin */
    uint8_t stream;      /* ditto; GC's copies: 0 */
} ScarpMediaBlock;

typedef struct {
    uint32_t *lpn_of;     /* [unit], SCARP_NONE: erased */
    uint64_t *version_of; /* [unit]; NULL without ftl.recovery */
    ScarpMediaBlock *block;
    uint64_t next_block_seq;
    GPtrArray *spare;     /* buffers of a unit's size, to be used again */
} ScarpMedia;

#endif /* SCARP_MEDIA_STATE_H */
