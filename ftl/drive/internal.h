/*
 * Functions that the sources of drive share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_INTERNAL_H
#define SCARP_DRIVE_INTERNAL_H

#include "core/ops.h"
#include "heat/ops.h"

/*
 * Returns a new drive that has no scheme yet, and thus no policies. Returns
 * NULL, with *error set, if a part of the drive could not be made.
 */
ScarpDrive *scarp_drive_blank(const ScarpDescription *desc,
                              const ScarpConfig *config, GError **error);

/*
 * Makes `scheme` for `drive` with the policies and parameters of `from`. The
 * policies start anew: their states are not copied.
 */
void scarp_scheme_copy(ScarpScheme *scheme, ScarpDrive *drive,
                       const ScarpScheme *from);

#endif /* SCARP_DRIVE_INTERNAL_H */
