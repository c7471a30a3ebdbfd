/*
 * Log-linear buckets: each power of two is split into 1 << `bits` buckets, so
 * that all buckets have about the same relative width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUCKETS_H
#define SCARP_BUCKETS_H

#include <stdint.h>

/* The number of buckets for all values of a uint64_t. */
#define SCARP_BUCKETS(bits) ((64 - (bits)) << (bits))

static inline uint32_t scarp_bucket_of(uint64_t value, int bits)
{
    int shift;

    if (value >> bits == 0) {
        return value;
    }
    shift = 63 - __builtin_clzll(value) - bits;
    return (shift << bits) + (value >> shift);
}

/* Returns the largest value that falls into the bucket. */
static inline uint64_t scarp_bucket_last(uint32_t bucket, int bits)
{
    uint32_t shift = bucket >> bits;

    if (!shift) {
        return bucket;
    }
    return ((uint64_t)((bucket & ((1u << bits) - 1)) + (1u << bits) + 1)
            << (shift - 1)) - 1;
}

#endif /* SCARP_BUCKETS_H */
