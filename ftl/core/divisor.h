/*
 * Division by a number that does not change while the drive exists, as a
 * multiplication: addresses are divided many times for each flash command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DIVISOR_H
#define SCARP_DIVISOR_H

#include <stdint.h>

typedef struct {
    uint64_t reciprocal; /* floor((2^64 - 1) / divisor) */
} ScarpDivisor;

static inline ScarpDivisor scarp_divisor(uint32_t divisor)
{
    return (ScarpDivisor) { UINT64_MAX / divisor };
}

/*
 * Returns n / divisor, rounded down, exactly for every n. n + 1 is multiplied
 * instead of n because the reciprocal is rounded down: with n alone, n =
 * divisor would give 0.
 *
 * For the right quotient q, (n + 1) / divisor lies from q + 1 / divisor to q +
 * 1. The rounded reciprocal takes off more than 0 and at most 2^-32, so the
 * result is below q + 1 and not below q.
 */
static inline uint32_t scarp_divide(uint32_t n, ScarpDivisor by)
{
    return (unsigned __int128)by.reciprocal * ((uint64_t)n + 1) >> 64;
}

#endif /* SCARP_DIVISOR_H */
