/*
 * A pool of records of one size, such as flash commands. A pool grows to the
 * largest number of records in use at once, and is freed as a whole.
 *
 * Each record must begin with a pointer. While a record is free, this pointer
 * links it to the next free record.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_POOL_H
#define SCARP_POOL_H

#include "scarp.h"

typedef struct {
    void *free;        /* the first free record */
    size_t bytes;      /* of a record: a multiple or a part of a cache line */
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
