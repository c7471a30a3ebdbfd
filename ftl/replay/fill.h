/*
 * A drive that is written from its first byte to its last, block by block, and
 * how fast that goes on: what reviews of drives measure to find the SLC cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_FILL_H
#define REPLAY_FILL_H

#include "scarp.h"

#include <stdio.h>

/* No write is submitted for so long, once so many bytes were written. */
typedef struct {
    uint64_t at_bytes;
    int64_t ns;
} FillPause;

typedef struct {
    uint64_t block_bytes; /* of a write; a multiple of SCARP_SECTOR_BYTES */
    uint32_t passes;      /* how often the whole drive is written */
    int64_t window_ns;    /* bytes are counted for each so many */
    const FillPause *pauses; /* in the order of their places */
    uint32_t n_pauses;
} FillOptions;

/*
 * Reads "SECONDS@BYTES". False, with *error set, if text is nothing like that,
 * or if the place is not before `end` bytes.
 */
bool fill_pause_parse(const char *text, uint64_t end, FillPause *pause,
                      GError **error);
/*
 * Writes the drive, one block at a time, and prints one line of JSON to out:
 * {"schema": "scarp-fill-1", "scheme": …, "logical_bytes": …,
 *  "block_bytes": …, "passes": …, "written_bytes": …, "write_ns": …,
 *  "window_ns": …, "windows": [bytes, …], "pauses": [{"at_bytes": …,
 *  "ns": …}, …], "stats": {…}}
 * write_ns and the windows leave pauses out. False, with *error set: a write
 * did not complete.
 */
bool fill_run(ScarpDrive *drive, const FillOptions *options, FILE *out,
              GError **error);

#endif /* REPLAY_FILL_H */
