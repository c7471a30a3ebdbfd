/*
 * Random numbers: xorshift64* (Vigna 2016). It is small, fast, and the same on
 * every host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RANDOM_H
#define SCARP_RANDOM_H

#include <stdint.h>

/* Returns the state of a generator with this seed. A state is never 0. */
static inline uint64_t scarp_random_state(uint64_t seed)
{
    return seed * 2 + 1;
}

static inline uint64_t scarp_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ull;
}

/* Returns a number from 0 to n - 1. */
static inline uint32_t scarp_random_below(uint64_t *state, uint64_t n)
{
    return (scarp_random(state) >> 32) * n >> 32;
}

#endif /* SCARP_RANDOM_H */
