/*
 * The hunt's own random numbers: a scenario is a number, on every host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_DRAW_H
#define HUNT_DRAW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t state;
} Draw;

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline uint64_t draw_next(Draw *draw)
{
    uint64_t z = draw->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* 0 … n - 1 */
static inline uint64_t draw_below(Draw *draw, uint64_t n)
{
    return (unsigned __int128)draw_next(draw) * n >> 64;
}

static inline uint64_t draw_from(Draw *draw, uint64_t min, uint64_t max)
{
    return min + draw_below(draw, max - min + 1);
}

static inline bool draw_chance(Draw *draw, unsigned percent)
{
    return draw_below(draw, 100) < percent;
}

/* Each doubling is as likely as another. */
static inline uint64_t draw_scale(Draw *draw, uint64_t min, uint64_t max)
{
    unsigned low = g_bit_storage(min), high = g_bit_storage(max);
    uint64_t top = 1ull << draw_from(draw, low, high);

    return CLAMP(draw_from(draw, top / 2, top - 1), min, max);
}

#define DRAW_OF(draw, ...) \
    ((const uint64_t[]) { __VA_ARGS__ })[draw_below(draw, \
        G_N_ELEMENTS(((const uint64_t[]) { __VA_ARGS__ })))]
#define DRAW_TEXT(draw, ...) \
    ((const char *const[]) { __VA_ARGS__ })[draw_below(draw, \
        G_N_ELEMENTS(((const char *const[]) { __VA_ARGS__ })))]

#endif /* HUNT_DRAW_H */
