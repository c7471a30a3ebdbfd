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
 * Returns floor(n / divisor), exactly. With n = q divisor + s, the quotient (n
 * + 1) / divisor is at most q + 1, and at least q + 1 / divisor. The reciprocal
 * is a little too small: times n + 1 this takes off more than 0, and at most
 * 2^-32.
 */
static inline uint32_t scarp_divide(uint32_t n, ScarpDivisor by)
{
    return (unsigned __int128)by.reciprocal * ((uint64_t)n + 1) >> 64;
}

#endif /* SCARP_DIVISOR_H */
