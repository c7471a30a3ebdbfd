/*
 * Memory for tables that are looked up at random.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEMORY_H
#define SCARP_MEMORY_H

#include "scarp.h"

#include <string.h>

/*
 * Returns a table, undefined, at the beginning of a line of the processor's
 * cache. NULL: there is no memory.
 */
void *scarp_table_new(uint64_t bytes);
/*
 * Returns a table of zeroes. For small tables: if there is no memory, the
 * program ends.
 */
void *scarp_table_zeroed(uint64_t bytes);
/*
 * Returns a table of n entries, each SCARP_NONE. NULL, with *error set: there
 * is no memory.
 */
uint32_t *scarp_table_none(uint64_t n, GError **error);
void scarp_table_free(void *table);

/*
 * Returns the size of the host's memory. An allocation beyond it may succeed by
 * overcommitment; the process is then killed when it fills that memory.
 */
uint64_t scarp_memory_physical_bytes(void);

/*
 * Sets `bytes` bytes at what to zero, 64 at a time. Compilers turn a longer
 * memset() into rep stos, which takes some 30 cycles to start; 64 bytes become
 * plain stores.
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
