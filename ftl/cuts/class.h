/*
 * The class of a moment of a run says what a power cut at that moment would
 * meet: which flash commands run and for whom, what the mapping reclaims, and
 * which data is in RAM only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_CLASS_H
#define SCARP_CUTS_CLASS_H

#include "cuts/walk.h"

typedef uint32_t CutsClass; /* a bit for each kind of work that a cut meets */

enum { CUTS_CLASS_BITS = 17 };

/*
 * Returns the class of a cut at this moment: all kinds of work that the cut
 * meets in any drive.
 */
CutsClass cuts_class(const CutsWalk *walk);
/*
 * Returns the class as text, such as "program of the host, erase; collection;
 * buffered". The caller frees it with g_free().
 */
char *cuts_class_text(CutsClass class);

#endif /* SCARP_CUTS_CLASS_H */
