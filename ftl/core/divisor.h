/*
 * Division by a number that does not change while the drive exists, done as a
 * multiplication, because addresses are divided many times for each flash
 * command.
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
 * Returns n / divisor, rounded down, exactly for every n. Not n but n + 1 is
 * multiplied, because the reciprocal is rounded down: with n alone, n = divisor
 * would give 0.
 *
 * With the exact quotient q, (n + 1) / divisor is from q + 1 / divisor up to q
 * + 1. The rounded reciprocal makes the result smaller, by more than 0 and at
 * most 2^-32. So the result is at least q and less than q + 1.
 */
static inline uint32_t scarp_divide(uint32_t n, ScarpDivisor by)
{
    return (unsigned __int128)by.reciprocal * ((uint64_t)n + 1) >> 64;
}

#endif /* SCARP_DIVISOR_H */
