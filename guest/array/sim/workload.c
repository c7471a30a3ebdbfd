/*
 * Random numbers: uniform, and by Zipf's law.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

uint64_t sim_random(SimRandom *random)
{
    /* splitmix64 (Steele, Lea and Flood 2014) */
    uint64_t z = random->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint64_t sim_below(SimRandom *random, uint64_t n)
{
    return (unsigned __int128)sim_random(random) * n >> 64;
}

uint64_t sim_zipf(SimRandom *random, uint64_t n)
{
    uint32_t octaves = 63 - __builtin_clzll(n);
    /* first value of rank in the last octave */
    uint64_t last = 1ull << octaves;
    uint64_t rest = n - last + 1;    /* number of values in the last octave */

    /*
     * Rejection sampling. Octave k has the ranks 2^k to 2^(k+1) - 1, counted
     * from 1, each with a weight 1/rank of at most 2^-k. If each rank of octave
     * k had the weight 2^-k, all octaves would have the same weight, except for
     * the last one, which n cuts off. So a rank is drawn by these weights, and
     * accepted with the chance 2^k / rank.
     */
    for (;;) {
        uint64_t at = sim_below(random, octaves * last + rest);
        uint32_t octave = at / last;
        uint64_t first = 1ull << octave, rank;

        if (octave == octaves) {
            rank = first + (at - octaves * last);
        } else {
            rank = first + (at % last >> (octaves - octave));
        }
        if (sim_below(random, rank) < first) {
            return rank - 1;
        }
    }
}

uint64_t sim_scatter(uint64_t rank, uint64_t n)
{
    /* a prime above any n in use: no two ranks get the same place */
    return (unsigned __int128)rank * 2654435761u % n;
}
