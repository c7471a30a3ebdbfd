/*
 * How long a drive takes to get ready when its power has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_READY_H
#define SCARP_READY_H

#include "scarp.h"

/*
 * Cuts the power of *drive, which is at rest; is_clean: it writes its tables
 * before. *drive becomes the drive that comes up, when it is ready. Writes a
 * report as JSON to the file at path (-: standard output): the time of the
 * recovery, the longest that it may take, and the pages read and programmed and
 * blocks erased meanwhile. False, with *error set: the power of the drive
 * cannot fail, or the file cannot be written.
 */
bool ready_report(ScarpDrive **drive, bool is_clean, const char *path,
                  GError **error);

#endif /* SCARP_READY_H */
