/*
 * How long a drive takes to get ready when its power has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_READY_H
#define SCARP_READY_H

#include "scarp.h"

/*
 * Fails the power of *drive at rest, with its tables written if is_clean;
 * *drive becomes the drive that comes up, when it is ready. Writes to the file
 * (-: standard output), as JSON: the recovery's time, its bound at any moment,
 * and the pages read and programmed and blocks erased. False and *error set:
 * the drive's power cannot fail, or the file cannot be written.
 */
bool ready_report(ScarpDrive **drive, bool is_clean, const char *path,
                  GError **error);

#endif /* SCARP_READY_H */
