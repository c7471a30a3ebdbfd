/*
 * A pool of records of one size: it grows to the most that were in use at once,
 * and is freed as a whole.
 *
 * A record's first member is a pointer, which belongs to the pool while the
 * record is free.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_POOL_H
#define SCARP_POOL_H

#include "scarp.h"

typedef struct {
    void *free;        /* the first of a list */
    size_t bytes;      /* of a record: whole lines of the cache, or less */
    GPtrArray *chunks;
} ScarpPool;

void scarp_pool_init(ScarpPool *pool, size_t record_bytes);
void scarp_pool_clear(ScarpPool *pool);
void scarp_pool_grow(ScarpPool *pool);

/* Returns a record with undefined contents. */
static inline void *scarp_pool_take(ScarpPool *pool)
{
    void *record;

    if (!pool->free) {
        scarp_pool_grow(pool);
    }
    record = pool->free;
    pool->free = *(void **)record;
    return record;
}

static inline void scarp_pool_give(ScarpPool *pool, void *record)
{
    *(void **)record = pool->free;
    pool->free = record;
}

#endif /* SCARP_POOL_H */
