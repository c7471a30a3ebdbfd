/*
 * A copy routine for pages that takes few instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

#include <string.h>

enum { BLOCK_BYTES = 128 };

/* A vector of 16 bytes, which may lie anywhere and alias any type. */
typedef unsigned char Vector
    __attribute__((vector_size(16), aligned(1), may_alias));

/*
 * Copies bytes. The C library copies a page by one instruction that repeats
 * itself, and an emulator that counts instructions counts each repetition. This
 * loop takes fewer. It copies several vectors a round, because the compiler
 * would turn a simpler loop into a call of memcpy().
 */
void array_copy(void *to, const void *from, size_t bytes)
{
    Vector *t = to;
    const Vector *f = from;

    for (; bytes >= BLOCK_BYTES; bytes -= BLOCK_BYTES) {
        Vector a = f[0], b = f[1], c = f[2], d = f[3];
        Vector e = f[4], g = f[5], h = f[6], i = f[7];

        t[0] = a;
        t[1] = b;
        t[2] = c;
        t[3] = d;
        t[4] = e;
        t[5] = g;
        t[6] = h;
        t[7] = i;
        t += BLOCK_BYTES / sizeof(*t);
        f += BLOCK_BYTES / sizeof(*f);
    }
    memcpy(t, f, bytes);
}
