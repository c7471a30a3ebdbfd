/*
 * Memory of the tables that are looked up all over: on huge pages where the
 * system has them, as most look-ups would else miss the TLB besides the cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *scarp_table_new(uint64_t bytes)
{
    uint64_t whole = (bytes + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1);
    void *table;

    /* A small drive, of which there may be many, takes no more than it needs. */
    if (bytes < HUGE_PAGE / 2) {
        return aligned_alloc(SCARP_CACHE_LINE,
                             (bytes / SCARP_CACHE_LINE + 1) * SCARP_CACHE_LINE);
    }
    table = aligned_alloc(HUGE_PAGE, whole);
#ifdef MADV_HUGEPAGE
    if (table) {
        /* Advice: a system that cannot follow it is as right, and slower. */
        madvise(table, whole, MADV_HUGEPAGE);
    }
#endif
    return table;
}

void scarp_table_free(void *table)
{
    free(table);
}
