/*
 * Functions that the sources of recovery share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RECOVERY_INTERNAL_H
#define SCARP_RECOVERY_INTERNAL_H

#include "recovery/ops.h"

/*
 * Issues a flash command of the plane. It waits until flow takes it for its
 * die.
 */
void scarp_recovery_issue(ScarpDrive *drive, uint32_t plane,
                          ScarpFlashKind kind, ScarpOrigin origin,
                          uint32_t ppn, uint32_t bytes);

/* tables.c: makes the tables of blocks and units from the cells. */
void scarp_recovery_tables(ScarpDrive *drive);

/*
 * scan.c: issues the read of the plane's next page. Returns false if the
 * plane's scan is complete.
 */
bool scarp_recovery_scan(ScarpDrive *drive, uint32_t plane);

/*
 * mend.c: scarp_recovery_mend() issues the plane's next flash command, and
 * returns false if the plane is sound. scarp_recovery_mended() is called when
 * the command has ended.
 */
bool scarp_recovery_mend(ScarpDrive *drive, uint32_t plane);
void scarp_recovery_mended(ScarpDrive *drive, uint32_t plane,
                           const ScarpFlashCmd *cmd);

#endif /* SCARP_RECOVERY_INTERNAL_H */
