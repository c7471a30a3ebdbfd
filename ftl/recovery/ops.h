/*
 * Functions of recovery for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RECOVERY_OPS_H
#define SCARP_RECOVERY_OPS_H

#include "buffer/ops.h"
#include "hil/ops.h"

bool scarp_recovery_init(ScarpDrive *drive, const ScarpConfig *config,
                         GError **error);
void scarp_recovery_clear(ScarpDrive *drive);

/*
 * Begins the recovery of a new drive, which has the cells of one whose power
 * failed, and makes its tables.
 */
void scarp_recovery_begin(ScarpDrive *drive);

/* True while recovery runs, for which the host has to wait. */
static inline bool scarp_recovery_runs(const ScarpDrive *drive)
{
    return G_UNLIKELY(drive->recovery.step != RECOVERY_READY);
}

/* True while recovery only reads, and changes nothing yet. */
static inline bool scarp_recovery_scans(const ScarpDrive *drive)
{
    return drive->recovery.step == RECOVERY_SCAN;
}

/*
 * Return the die's next flash command, the second one only if it is of this
 * kind, or NULL.
 */
ScarpFlashCmd *scarp_recovery_pick(ScarpDrive *drive, uint32_t die);
ScarpFlashCmd *scarp_recovery_pick_kind(ScarpDrive *drive, uint32_t die,
                                        ScarpFlashKind kind);
/*
 * Called when a flash command that recovery owns has ended: frees it, and goes
 * on.
 */
void scarp_recovery_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * For a power cut that meets a program of recovery: returns the PPNs of the
 * units that it copies (SCARP_PAD: no data), and sets *n to their number.
 */
const uint32_t *scarp_recovery_sources(const ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd, uint32_t *n);

#ifdef SCARP_CHECKED
/* Marks what recovery does when the power fails once more. */
void scarp_recovery_mark_cut(const ScarpDrive *drive);
#endif

#endif /* SCARP_RECOVERY_OPS_H */
