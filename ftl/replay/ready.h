/*
 * How long a drive takes to get ready when its power has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_READY_H
#define SCARP_READY_H

#include "scarp.h"

/*
 * The power of *drive fails, when it is at rest and has written its tables if
 * is_clean; *drive is the one that comes up, when it is ready.  Writes to the
 * file (-: standard output), as JSON: how long that took, how long it may take
 * at any moment, and what was read, programmed and erased for it.  False and
 * *error set: its power cannot fail, or the file cannot be written.
 */
bool ready_report(ScarpDrive **drive, bool is_clean, const char *path,
                  GError **error);

#endif /* SCARP_READY_H */
