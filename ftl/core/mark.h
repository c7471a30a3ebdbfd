/*
 * Marks: scarp_mark(drive, name) counts that the drive has met the rare state
 * of this name in ftl/marks.h, scarp_mark_if() that it did if the condition
 * holds.
 *
 * In builds without SCARP_CHECKED there is nothing of it: no counter, no
 * instruction, and the condition is not compiled.  So a condition asks, and
 * changes nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MARK_H
#define SCARP_MARK_H

#include "drive.h"

#ifdef SCARP_CHECKED
/* Also where a drive is only looked at: no part of the engine reads these. */
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
