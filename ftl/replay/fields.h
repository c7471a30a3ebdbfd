/*
 * Numbers in the fields of a trace's line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FIELDS_H
#define SCARP_FIELDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool whole(const char *text, uint64_t *value)
{
    return g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, value, NULL);
}

/*
 * Parses a decimal number times scale, a power of ten, without floating point.
 */
static inline bool decimal(const char *text, int64_t scale, int64_t *value)
{
    uint64_t number = 0, limit = G_MAXINT64 / 10 / MAX(scale, 1);
    bool digits = false;

    for (; g_ascii_isdigit(*text); text++, digits = true) {
        if (number > limit) {
            return false;
        }
        number = number * 10 + (*text - '0');
    }
    number *= scale;
    if (*text == '.') {
        for (text++; g_ascii_isdigit(*text); text++, digits = true) {
            scale /= 10;
            number += scale * (*text - '0');
        }
    }
    *value = number;
    return digits && !*text && number <= G_MAXINT64;
}

#endif /* SCARP_FIELDS_H */
