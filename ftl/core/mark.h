/*
 * Marks count how often a drive meets rare states, so that tests can see which
 * rare states they have reached. scarp_mark(drive, name) counts the state that
 * ftl/marks.h lists under this name. scarp_mark_if() counts it if a condition
 * holds.
 *
 * In a build without SCARP_CHECKED a mark is no code at all, and its condition
 * is not evaluated. So a condition must have no side effect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MARK_H
#define SCARP_MARK_H

#include "drive.h"

#ifdef SCARP_CHECKED
/*
 * Counts a mark. `drive` is const because functions that change nothing set
 * marks, too. The cast is safe, as the engine never reads a mark.
 */
static inline void scarp_mark_at(const ScarpDrive *drive, unsigned mark,
                                 bool is)
{
    ((ScarpDrive *)drive)->core.marks[mark] += is;
}

#define scarp_mark_if(drive, name, is) \
    scarp_mark_at(drive, SCARP_MARK_##name, is)
#else
#define scarp_mark_if(drive, name, is) ((void)(drive))
#endif
#define scarp_mark(drive, name) scarp_mark_if(drive, name, true)

#endif /* SCARP_MARK_H */
