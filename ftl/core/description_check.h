/*
 * What the sources of descriptions share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DESCRIPTION_CHECK_H
#define SCARP_DESCRIPTION_CHECK_H

#include "core/description.h"

/* As in ftl.mapping: [ScarpMappingKind]. */
extern const char *const scarp_mapping_names[MAPPING__COUNT];
/* As in ftl.paired_pages: [ScarpPaired]. */
extern const char *const scarp_paired_names[PAIRED__COUNT];

/* The values can work together; else *error says which cannot, and why. */
bool scarp_description_check(const ScarpDescription *d, GError **error);

#endif /* SCARP_DESCRIPTION_CHECK_H */
