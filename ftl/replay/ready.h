/*
 * How long a drive takes to get ready after its power has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_READY_H
#define SCARP_READY_H

#include "scarp.h"

/*
 * Cuts the power of *drive, which is at rest. With is_clean the drive writes
 * its tables first. *drive becomes the drive that comes up, when it is ready.
 * Writes a report as JSON to the file at `path` (-: standard output): the time
 * of the recovery, the longest time that it may take, the pages read and
 * programmed, and the blocks erased. Returns false, with *error set, if the
 * power of the drive cannot fail, or if the file cannot be written.
 */
bool ready_report(ScarpDrive **drive, bool is_clean, const char *path,
                  GError **error);

#endif /* SCARP_READY_H */
