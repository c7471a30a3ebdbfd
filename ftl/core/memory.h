/*
 * Memory of the tables that are looked up at random.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEMORY_H
#define SCARP_MEMORY_H

#include "scarp.h"

#include <string.h>

/*
 * Returns a table that begins a line of the processor's cache, contents
 * undefined; NULL when there is no memory.
 */
void *scarp_table_new(uint64_t bytes);
/* Returns a zeroed table; small ones only: lack of memory ends the program. */
void *scarp_table_zeroed(uint64_t bytes);
/*
 * Returns n entries of SCARP_NONE; NULL and *error set when there is no memory.
 */
uint32_t *scarp_table_none(uint64_t n, GError **error);
void scarp_table_free(void *table);

/*
 * Returns the host's physical memory. A larger allocation may succeed by
 * overcommitment, and gets the process killed when it is filled.
 */
uint64_t scarp_memory_physical_bytes(void);

/*
 * Zeroes bytes in steps that become plain stores: the rep stos that compilers
 * make of a longer memset() takes some 30 cycles to start.
 */
static inline void scarp_clear(void *what, size_t bytes)
{
    char *at = what;

    for (; bytes >= 64; bytes -= 64, at += 64) {
        memset(at, 0, 64);
    }
    memset(at, 0, bytes);
}

#endif /* SCARP_MEMORY_H */
