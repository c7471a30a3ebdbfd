/*
 * What the sources of drive share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_INTERNAL_H
#define SCARP_DRIVE_INTERNAL_H

#include "core/ops.h"

/* A drive without a scheme, every room as it is made; NULL and *error. */
ScarpDrive *scarp_drive_blank(const ScarpDescription *desc,
                              const ScarpConfig *config, GError **error);

/* The choices and parameters of from, for drive; none of what they remember. */
void scarp_scheme_copy(ScarpScheme *scheme, ScarpDrive *drive,
                       const ScarpScheme *from);

#endif /* SCARP_DRIVE_INTERNAL_H */
