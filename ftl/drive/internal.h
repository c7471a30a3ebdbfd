/*
 * Functions that the sources of drive share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_INTERNAL_H
#define SCARP_DRIVE_INTERNAL_H

#include "core/ops.h"

/*
 * Returns a drive without a scheme, all rooms new; NULL and *error set on
 * failure.
 */
ScarpDrive *scarp_drive_blank(const ScarpDescription *desc,
                              const ScarpConfig *config, GError **error);

/* Copies the choices and parameters of from, but not the policies' states. */
void scarp_scheme_copy(ScarpScheme *scheme, ScarpDrive *drive,
                       const ScarpScheme *from);

#endif /* SCARP_DRIVE_INTERNAL_H */
