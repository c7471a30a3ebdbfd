/*
 * Pools of records of one size. Memory is allocated for a chunk of records at a
 * time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/pool.h"
#include "core/memory.h"

#define CHUNK 256 /* records in a chunk */

void scarp_pool_init(ScarpPool *pool, size_t record_bytes)
{
    *pool = (ScarpPool) { .bytes = record_bytes };
    pool->chunks = g_ptr_array_new_with_free_func(scarp_table_free);
}

void scarp_pool_clear(ScarpPool *pool)
{
    g_clear_pointer(&pool->chunks, g_ptr_array_unref);
    pool->free = NULL;
}

void scarp_pool_grow(ScarpPool *pool)
{
    char *chunk = scarp_table_zeroed(CHUNK * pool->bytes);

    g_ptr_array_add(pool->chunks, chunk);
    for (int i = 0; i < CHUNK; i++) {
        scarp_pool_give(pool, chunk + i * pool->bytes);
    }
}
