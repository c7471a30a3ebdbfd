/*
 * Memory of the tables that are looked up all over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEMORY_H
#define SCARP_MEMORY_H

#include "scarp.h"

#include <string.h>

/*
 * Begins a line of the processor's cache; contents undefined.  NULL when there
 * is no memory for it.
 */
void *scarp_table_new(uint64_t bytes);
/* The same, zeroed; for tables that are small beside those of the mapping. */
void *scarp_table_zeroed(uint64_t bytes);
/* n entries of SCARP_NONE; NULL and *error when there is no memory. */
uint32_t *scarp_table_none(uint64_t n, GError **error);
void scarp_table_free(void *table);

/* What this host has.  Overcommitting gives more, and kills who fills it. */
uint64_t scarp_memory_physical_bytes(void);

/*
 * Zeroes in steps that become plain stores: what compilers make of a longer
 * memset() (rep stos) takes some 30 cycles to start.
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
