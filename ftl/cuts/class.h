/*
 * Kinds of moments, by what a power cut meets: which flash commands run and
 * whose they are, what the mapping reclaims, and what is in RAM alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_CLASS_H
#define SCARP_CUTS_CLASS_H

#include "cuts/walk.h"

typedef uint32_t CutsClass; /* a bit for each thing that a cut meets */

enum { CUTS_CLASS_BITS = 17 };

/* Returns what a cut would meet now, in any of the drives. */
CutsClass cuts_class(const CutsWalk *walk);
/*
 * Returns text such as "program of the host, erase; collection; buffered";
 * g_free() it.
 */
char *cuts_class_text(CutsClass class);

#endif /* SCARP_CUTS_CLASS_H */
