/*
 * Memory for tables that are looked up at random, such as the mapping.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEMORY_H
#define SCARP_MEMORY_H

#include "scarp.h"

#include <string.h>

/*
 * Returns uninitialised memory for a table, aligned to a line of the
 * processor's cache. NULL: there is not enough memory.
 */
void *scarp_table_new(uint64_t bytes);
/*
 * Returns a small table of zeroes. The program ends if there is not enough
 * memory.
 */
void *scarp_table_zeroed(uint64_t bytes);
/*
 * Returns a table of n entries that are all SCARP_NONE. Returns NULL, with
 * *error set, if there is not enough memory.
 */
uint32_t *scarp_table_none(uint64_t n, GError **error);
void scarp_table_free(void *table);

/*
 * Returns how much physical memory this computer has. Linux may grant a process
 * more (overcommitment), but kills a process that uses more.
 */
uint64_t scarp_memory_physical_bytes(void);

/*
 * Sets the `bytes` bytes at `what` to zero, 64 at a time. Compilers turn a
 * longer memset() into rep stos, which takes some 30 cycles to start; 64 bytes
 * become plain stores.
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
