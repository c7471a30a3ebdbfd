/*
 * Saves and loads the state of a drive in an image. Each directory of ftl/
 * lists its values once, in a function that calls scarp_visit_…() for each
 * value. The same function saves and loads, so that the two cannot differ.
 * Values are little endian, without padding.
 *
 * A loaded value out of its range fails the visit. That value, and every later
 * one, becomes the least value allowed, so that callers need to check for
 * failure only at the end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_VISIT_H
#define SCARP_VISIT_H

#include "scarp.h"

typedef struct ScarpVisit {
    bool loading;
    GByteArray *out;     /* the bytes that are saved */
    const uint8_t *in;   /* the next bytes to load; not owned */
    size_t left;
    char *problem;       /* the first failure, or NULL; owned */
} ScarpVisit;

void scarp_visit_u64(ScarpVisit *visit, const char *name, uint64_t *value,
                     uint64_t min, uint64_t max);
void scarp_visit_u32(ScarpVisit *visit, const char *name, uint32_t *value,
                     uint32_t min, uint32_t max);
void scarp_visit_u8(ScarpVisit *visit, const char *name, uint8_t *value,
                    uint8_t min, uint8_t max);
void scarp_visit_bool(ScarpVisit *visit, const char *name, bool *value);
/* Save or load n values. Every value is allowed. */
void scarp_visit_u64s(ScarpVisit *visit, const char *name, uint64_t *values,
                      size_t n);
void scarp_visit_u16s(ScarpVisit *visit, const char *name, uint16_t *values,
                      size_t n);
/*
 * Fails the visit with a message: the values are in their ranges, but do not
 * fit together.
 */
void scarp_visit_fail(ScarpVisit *visit, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

#endif /* SCARP_VISIT_H */
