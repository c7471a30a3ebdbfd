/*
 * Functions that the sources of drive share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_INTERNAL_H
#define SCARP_DRIVE_INTERNAL_H

#include "core/ops.h"

/*
 * Returns a drive whose rooms are all new, without a scheme. NULL, with *error
 * set: that failed.
 */
ScarpDrive *scarp_drive_blank(const ScarpDescription *desc,
                              const ScarpConfig *config, GError **error);

/*
 * Copies choices and parameters of a scheme, but not the states of its
 * policies.
 */
void scarp_scheme_copy(ScarpScheme *scheme, ScarpDrive *drive,
                       const ScarpScheme *from);

#endif /* SCARP_DRIVE_INTERNAL_H */
