/*
 * Marks: scarp_mark(drive, name) counts that the drive has met the rare state
 * of this name in ftl/marks.h; scarp_mark_if() counts it if the condition
 * holds.
 *
 * Builds without SCARP_CHECKED contain no counter and no instruction of a mark,
 * and do not compile the condition: so a condition must have no side effect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MARK_H
#define SCARP_MARK_H

#include "drive.h"

#ifdef SCARP_CHECKED
/*
 * drive is const as read-only functions set marks, too: no part of the engine
 * reads them.
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
