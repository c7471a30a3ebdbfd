/*
 * How long a drive takes to get ready after its power has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_READY_H
#define SCARP_READY_H

#include "scarp.h"

/*
 * Cuts the power of *drive, which must be at rest. With is_clean the drive
 * first shuts down, and so writes its tables. Sets *drive to the drive as it is
 * when power is back, and runs it until it is ready. Writes a report as JSON to
 * the file at `path` (-: standard output): the time of the recovery, the
 * longest time that it may take, and the pages read and programmed. Returns
 * false, with *error set, if the power of the drive cannot fail, or if the file
 * cannot be written.
 */
bool ready_report(ScarpDrive **drive, bool is_clean, const char *path,
                  GError **error);

#endif /* SCARP_READY_H */
