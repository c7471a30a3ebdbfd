/*
 * Writes a drive from its first byte to its last, block by block, and counts
 * the bytes of each window of time. Reviews of drives use this method to find
 * an SLC cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_FILL_H
#define REPLAY_FILL_H

#include "scarp.h"

#include <stdio.h>

/*
 * A pause: when at_bytes bytes were written, no write is submitted for `ns` ns.
 */
typedef struct {
    uint64_t at_bytes;
    int64_t ns;
} FillPause;

typedef struct {
    uint64_t block_bytes; /* of a write; a multiple of SCARP_SECTOR_BYTES */
    uint32_t passes;      /* how often the whole drive is written */
    int64_t window_ns;    /* length of a window whose bytes are counted */
    const FillPause *pauses; /* in ascending order of at_bytes */
    uint32_t n_pauses;
} FillOptions;

/*
 * Parses "SECONDS@BYTES". Returns false, with *error set, if the text has
 * another form, or if BYTES is not below `end`.
 */
bool fill_pause_parse(const char *text, uint64_t end, FillPause *pause,
                      GError **error);
/*
 * Writes the drive, one block at a time, and prints one line of JSON to out:
 * {"schema": "scarp-fill-1", "scheme": …, "logical_bytes": …, "block_bytes": …,
 * "passes": …, "written_bytes": …, "write_ns": …, "window_ns": …, "windows":
 * [bytes, …], "pauses": [{"at_bytes": …, "ns": …}, …], "stats": {…}} write_ns
 * and the windows leave pauses out. Returns false, with *error set, if a write
 * did not complete.
 */
bool fill_run(ScarpDrive *drive, const FillOptions *options, FILE *out,
              GError **error);

#endif /* REPLAY_FILL_H */
