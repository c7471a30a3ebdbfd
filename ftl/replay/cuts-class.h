/*
 * Kinds of moments, by what a power cut meets: which flash commands are at work
 * and whose they are, what the mapping reclaims, and what is in RAM alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_CLASS_H
#define SCARP_CUTS_CLASS_H

#include "cuts-walk.h"

typedef uint32_t CutsClass; /* a set of what there is */

enum { CUTS_CLASS_BITS = 17 };

/* In any of the drives. */
CutsClass cuts_class(const CutsWalk *walk);
/* "program of the host, erase; collection; buffered"; g_free() it. */
char *cuts_class_text(CutsClass class);

#endif /* SCARP_CUTS_CLASS_H */
