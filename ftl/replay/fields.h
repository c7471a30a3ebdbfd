/*
 * Parsers for the fields of a trace's line: numbers, devices, operations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FIELDS_H
#define SCARP_FIELDS_H

#include "trace.h"

#include <string.h>

#define NS_PER_S G_GINT64_CONSTANT(1000000000)
/*
 * Seconds to 1970, from 1601, where Windows begins to count, and from the year
 * 1, where .NET does.
 */
#define S_FROM_1601 G_GINT64_CONSTANT(11644473600)
#define S_FROM_1 G_GINT64_CONSTANT(62135596800)

static inline bool whole(const char *text, uint64_t *value)
{
    return g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, value, NULL);
}

/* Parses a whole number; behind 0x it is hexadecimal. */
static inline bool whole_or_hex(const char *text, uint64_t *value)
{
    bool hex = g_str_has_prefix(text, "0x");

    return g_ascii_string_to_unsigned(hex ? text + 2 : text, hex ? 16 : 10, 0,
                                      G_MAXINT64, value, NULL);
}

/*
 * Parses a decimal number, and multiplies it by `scale`, a power of ten,
 * without floating point. Nanoseconds since 1601, or since the year 1, do not
 * fit into 63 bits, so they are turned into nanoseconds since 1970.
 */
static inline bool decimal(const char *text, int64_t scale, int64_t *value)
{
    uint64_t number = 0, fraction = 0, unit = scale;
    unsigned __int128 all;
    bool digits = false;

    for (; g_ascii_isdigit(*text); text++, digits = true) {
        if (number > G_MAXUINT64 / 10 - 1) {
            return false;
        }
        number = number * 10 + (*text - '0');
    }
    if (*text == '.') {
        for (text++; g_ascii_isdigit(*text); text++, digits = true) {
            unit /= 10;
            fraction += unit * (*text - '0');
        }
    }
    all = (unsigned __int128)number * scale + fraction;
    if (all > G_MAXINT64) {
        unsigned __int128 epoch = (unsigned __int128)S_FROM_1 * NS_PER_S;

        epoch = all >= epoch ? epoch
                             : (unsigned __int128)S_FROM_1601 * NS_PER_S;
        if (all < epoch) {
            return false;
        }
        all -= epoch;
    }
    *value = all;
    return digits && !*text && all <= G_MAXINT64;
}

/*
 * Splits text at any of the separators, and returns the number of fields. With
 * `blanks`, several separators in a row count as one. Otherwise a field may be
 * empty, and blanks around a field are stripped.
 */
static inline int split(char *text, const char *separators, bool blanks,
                        char **field, int max)
{
    int n = 0;

    while (n < max) {
        char *end;

        if (blanks) {
            text += strspn(text, separators);
        }
        if (!*text) {
            break;
        }
        end = text + strcspn(text, separators);
        field[n] = text;
        text = end + (*end != '\0');
        *end = '\0';
        if (!blanks) {
            g_strstrip(field[n]);
        }
        n++;
    }
    return n;
}

static inline bool sectors(const char *first, const char *count,
                           TraceRecord *record)
{
    uint64_t n;

    if (!whole(first, &record->offset_bytes) || !whole(count, &n) ||
        record->offset_bytes > G_MAXINT64 / SCARP_SECTOR_BYTES ||
        n > G_MAXUINT32) {
        return false;
    }
    record->offset_bytes *= SCARP_SECTOR_BYTES;
    record->length_bytes = n * SCARP_SECTOR_BYTES;
    return true;
}

static inline bool bytes(const char *first, const char *count,
                         TraceRecord *record)
{
    return whole(first, &record->offset_bytes) &&
           whole(count, &record->length_bytes);
}

static inline bool device(const char *text, TraceRecord *record)
{
    uint64_t number;

    if (!whole(text, &number) || number > G_MAXUINT32) {
        return false;
    }
    record->device = number;
    return true;
}

/*
 * Parses the major and minor number of a device into one number, as Linux does.
 */
static inline bool major_minor(const char *major, const char *minor,
                               TraceRecord *record)
{
    uint64_t high, low;

    if (!whole(major, &high) || !whole(minor, &low) || high > 4095 ||
        low > 0xfffff) {
        return false;
    }
    record->device = high << 20 | low;
    return true;
}

static inline bool direction(const char *text, TraceRecord *record)
{
    char letter = g_ascii_toupper(*text);

    record->op = letter == 'R' ? SCARP_OP_READ : SCARP_OP_WRITE;
    return letter == 'R' || letter == 'W';
}

/* Parses an operation that is a single character: `write` or `read`. */
static inline bool flag(const char *text, char write, char read,
                        TraceRecord *record)
{
    record->op = *text == read ? SCARP_OP_READ : SCARP_OP_WRITE;
    return (*text == write || *text == read) && !text[1];
}

#endif /* SCARP_FIELDS_H */
