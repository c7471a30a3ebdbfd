/*
 * Saves and loads the values of an image one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/visit.h"

#include <string.h>

void scarp_visit_fail(ScarpVisit *visit, const char *format, ...)
{
    va_list args;

    if (visit->problem) {
        return;
    }
    va_start(args, format);
    visit->problem = g_strdup_vprintf(format, args);
    va_end(args);
    visit->left = 0;
}

static bool take(ScarpVisit *visit, const char *name, void *to, size_t n)
{
    if (visit->problem || visit->left < n) {
        scarp_visit_fail(visit, "%s is missing", name);
        return false;
    }
    memcpy(to, visit->in, n);
    visit->in += n;
    visit->left -= n;
    return true;
}

static uint64_t checked(ScarpVisit *visit, const char *name, uint64_t value,
                        uint64_t min, uint64_t max)
{
    if (visit->problem || value < min || value > max) {
        scarp_visit_fail(visit, "%s is %" G_GUINT64_FORMAT "; allowed are %"
                         G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, name,
                         value, min, max);
        return min;
    }
    return value;
}

void scarp_visit_u64(ScarpVisit *visit, const char *name, uint64_t *value,
                     uint64_t min, uint64_t max)
{
    uint64_t le = GUINT64_TO_LE(*value);

    if (!visit->loading) {
        g_byte_array_append(visit->out, (const guint8 *)&le, sizeof(le));
        return;
    }
    le = 0;
    take(visit, name, &le, sizeof(le));
    *value = checked(visit, name, GUINT64_FROM_LE(le), min, max);
}

void scarp_visit_u32(ScarpVisit *visit, const char *name, uint32_t *value,
                     uint32_t min, uint32_t max)
{
    uint32_t le = GUINT32_TO_LE(*value);

    if (!visit->loading) {
        g_byte_array_append(visit->out, (const guint8 *)&le, sizeof(le));
        return;
    }
    le = 0;
    take(visit, name, &le, sizeof(le));
    *value = checked(visit, name, GUINT32_FROM_LE(le), min, max);
}

void scarp_visit_u8(ScarpVisit *visit, const char *name, uint8_t *value,
                    uint8_t min, uint8_t max)
{
    uint8_t byte = 0;

    if (!visit->loading) {
        g_byte_array_append(visit->out, value, 1);
        return;
    }
    take(visit, name, &byte, 1);
    *value = checked(visit, name, byte, min, max);
}

void scarp_visit_bool(ScarpVisit *visit, const char *name, bool *value)
{
    uint8_t byte = *value;

    scarp_visit_u8(visit, name, &byte, 0, 1);
    *value = byte;
}

void scarp_visit_u64s(ScarpVisit *visit, const char *name, uint64_t *values,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scarp_visit_u64(visit, name, &values[i], 0, UINT64_MAX);
    }
}

/*
 * Visits n 16-bit values as one piece of memory, because they may outnumber all
 * other values of a small drive: the scheme paragc saves a table of many read
 * counters.
 */
void scarp_visit_u16s(ScarpVisit *visit, const char *name, uint16_t *values,
                      size_t n)
{
    size_t bytes = n * sizeof(*values);

    if (visit->loading) {
        memset(values, 0, bytes);
        take(visit, name, values, bytes);
        for (size_t i = 0; i < n; i++) {
            values[i] = GUINT16_FROM_LE(values[i]);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = GUINT16_TO_LE(values[i]);
    }
    g_byte_array_append(visit->out, (const guint8 *)values, bytes);
    for (size_t i = 0; i < n; i++) {
        values[i] = GUINT16_FROM_LE(values[i]);
    }
}
