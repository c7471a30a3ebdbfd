/*
 * A pool of records of one size: it grows to what was in use at once, and is
 * freed as a whole.
 *
 * A record's first member is a pointer, which is the pool's while the record
 * is not in use.
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

/* Contents are undefined. */
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
