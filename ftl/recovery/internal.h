/*
 * Functions that the sources of recovery share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RECOVERY_INTERNAL_H
#define SCARP_RECOVERY_INTERNAL_H

#include "recovery/ops.h"

/*
 * Creates a flash command for the plane. The command waits until
 * scarp_recovery_pick() gives it to the die.
 */
void scarp_recovery_issue(ScarpDrive *drive, uint32_t plane,
                          ScarpFlashKind kind, ScarpOrigin origin,
                          uint32_t ppn, uint32_t bytes);

/* tables.c: rebuilds the tables of blocks and map from the flash cells. */
void scarp_recovery_tables(ScarpDrive *drive);

/*
 * scan.c: creates the read of the next page of the plane that has to be
 * scanned. Returns false if all such pages have been read.
 */
bool scarp_recovery_scan(ScarpDrive *drive, uint32_t plane);

/*
 * mend.c: scarp_recovery_mend() creates the plane's next read, program or
 * erase. It returns false if the plane has enough free blocks and needs no more
 * work. scarp_recovery_mended() is called when that command has ended.
 */
bool scarp_recovery_mend(ScarpDrive *drive, uint32_t plane);
void scarp_recovery_mended(ScarpDrive *drive, uint32_t plane,
                           const ScarpFlashCmd *cmd);

/*
 * mend.c: scarp_recovery_read_next() creates the read of the next page that has
 * units for the next program, and returns false if all of these are read.
 * scarp_recovery_page_units() returns how many units go into the next page.
 * scarp_recovery_erase_next() creates the next erase, and returns false if
 * there is none.
 */
bool scarp_recovery_read_next(ScarpDrive *drive, ScarpRecoveryJob *job);
bool scarp_recovery_erase_next(ScarpDrive *drive, const ScarpRecoveryJob *job);
uint32_t scarp_recovery_page_units(const ScarpDrive *drive,
                                   const ScarpRecoveryJob *job);

/*
 * mend.c: returns the plane whose work the command is: its own, or, while
 * groups of planes gain free reclaim units, its group's first one.
 */
uint32_t scarp_recovery_plane(const ScarpDrive *drive,
                              const ScarpFlashCmd *cmd);

/*
 * units.c: does for the plane's group what scarp_recovery_mend() does for a
 * plane. Planes other than the group's first have no work.
 */
bool scarp_recovery_units(ScarpDrive *drive, uint32_t plane);

/*
 * sanitize.c: scarp_recovery_sanitize() creates the erase of the plane's next
 * block that has pages, and returns false if there is none.
 * scarp_recovery_sanitized() is called when the erase has ended.
 */
bool scarp_recovery_sanitize(ScarpDrive *drive, uint32_t plane);
void scarp_recovery_sanitized(ScarpDrive *drive, const ScarpFlashCmd *cmd);

/* recovery.c: begins the step in all planes. */
void scarp_recovery_start(ScarpDrive *drive, ScarpRecoveryStep step);

#endif /* SCARP_RECOVERY_INTERNAL_H */
