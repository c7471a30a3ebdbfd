/*
 * Strips. A strip is the activity of one die from an instant on, for the
 * report's picture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_WHY_STRIP_H
#define SCARP_WHY_STRIP_H

#include "scarp.h"

#include <stdio.h>

typedef struct {
    uint32_t die;    /* drive-wide index */
    int64_t from_ns;
    GArray *slices;  /* NULL: phases are not recorded */
} WhyStrip;

/* Begins to record phases. why_strip_clear() frees them. */
void why_strip_begin(WhyStrip *strip, uint32_t die, int64_t from_ns);
/*
 * Adds a phase, if it kept the cells of the strip's die busy after from_ns.
 * Does nothing if phases are not recorded.
 */
void why_strip_add(WhyStrip *strip, const ScarpFlashOp *op);
/*
 * Writes the strip up to until_ns as a JSON object, which docs/why.md
 * describes. Writes null if phases were not recorded.
 */
void why_strip_tell(const WhyStrip *strip, int64_t until_ns, FILE *out);
void why_strip_clear(WhyStrip *strip);

#endif /* SCARP_WHY_STRIP_H */
