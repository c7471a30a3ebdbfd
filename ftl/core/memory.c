/*
 * Memory for tables that are looked up at random. The tables are on huge pages
 * where the system has them: on ordinary pages most look-ups would miss the TLB
 * as well as the cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/memory.h"
#include "core/geometry.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

uint64_t scarp_memory_physical_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) *
           (uint64_t)sysconf(_SC_PAGESIZE);
}

void *scarp_table_new(uint64_t bytes)
{
    uint64_t whole = (bytes + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1);
    void *table;

    /*
     * Small tables get ordinary memory. Rounded up to huge pages, a small drive
     * would waste megabytes, and a process may have many drives.
     */
    if (bytes < HUGE_PAGE / 2) {
        return aligned_alloc(SCARP_CACHE_LINE,
                             (bytes / SCARP_CACHE_LINE + 1) * SCARP_CACHE_LINE);
    }
    table = aligned_alloc(HUGE_PAGE, whole);
#ifdef MADV_HUGEPAGE
    if (table) {
        /*
         * The result does not matter: without huge pages the table is slower,
         * but works.
         */
        madvise(table, whole, MADV_HUGEPAGE);
    }
#endif
    return table;
}

void *scarp_table_zeroed(uint64_t bytes)
{
    void *table = scarp_table_new(bytes);

    g_assert(table);
    return memset(table, 0, bytes);
}

uint32_t *scarp_table_none(uint64_t n, GError **error)
{
    uint32_t *table = scarp_table_new(n * sizeof(uint32_t));

    if (!table) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "geometry.blocks_per_plane: no memory for a mapping of %"
                    G_GUINT64_FORMAT " units; fewer are allowed", n);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        table[i] = SCARP_NONE;
    }
    return table;
}

void scarp_table_free(void *table)
{
    free(table);
}
