/*
 * Zipf weights, computed without libm, so that a Zipf table is the same on
 * every host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace.h"

/* Returns log2(x) in units of 1/2^32, for x >= 1, by repeated squaring. */
static uint64_t log2_q32(uint64_t x)
{
    int whole = 63 - __builtin_clzll(x);
    /* a fixed-point number: 1 bit before the binary point, 63 behind it */
    uint64_t mantissa = x << (63 - whole);
    uint64_t result = (uint64_t)whole << 32;

    for (int bit = 31; bit >= 0; bit--) {
        unsigned __int128 square = (unsigned __int128)mantissa * mantissa;

        if (square >> 127) {
            mantissa = square >> 64;
            result |= 1ull << bit;
        } else {
            mantissa = square >> 63;
        }
    }
    return result;
}

/* Returns floor(sqrt(x)) for x below 2^126. */
static uint64_t root(unsigned __int128 x)
{
    uint64_t result = 0;

    for (int bit = 62; bit >= 0; bit--) {
        uint64_t next = result | 1ull << bit;

        if ((unsigned __int128)next * next <= x) {
            result = next;
        }
    }
    return result;
}

/* Returns 2^-(x / 2^32) in units of 1/2^62. */
static uint64_t exp2_minus_q32(uint64_t x, const uint64_t *power)
{
    uint64_t result = 1ull << 62;

    for (int bit = 31; bit >= 0; bit--) {
        if (x >> bit & 1) {
            result = (unsigned __int128)result * power[bit] >> 62;
        }
    }
    return x >> 32 > 61 ? 0 : result >> (x >> 32);
}

void zipf_init(Zipf *zipf, uint32_t n, uint32_t theta_permille)
{
    uint64_t power[32]; /* power[i] = 2^-(2^i / 2^32) in units of 1/2^62 */
    uint64_t sum = 0;

    power[31] = root((unsigned __int128)1 << 123);
    for (int i = 30; i >= 0; i--) {
        power[i] = root((unsigned __int128)power[i + 1] << 62);
    }
    zipf->n = n;
    zipf->cumulative = g_new(uint64_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t exponent = (unsigned __int128)log2_q32(i + 1) *
                            theta_permille / 1000;

        sum += MAX(1, exp2_minus_q32(exponent, power) >> 20);
        zipf->cumulative[i] = sum;
    }
}

void zipf_clear(Zipf *zipf)
{
    g_clear_pointer(&zipf->cumulative, g_free);
}

uint32_t zipf_rank(const Zipf *zipf, uint64_t random)
{
    uint64_t at = (unsigned __int128)random * zipf->cumulative[zipf->n - 1] >>
                  64;
    uint32_t low = 0, high = zipf->n - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (zipf->cumulative[middle] <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
