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
 * Begins recovery of a new drive that has the cells of one whose power failed:
 * its tables are made.
 */
void scarp_recovery_begin(ScarpDrive *drive);

/* True while recovery runs, and the host waits. */
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
 * Returns the die's next flash command, of any kind or of this one; NULL: none.
 */
ScarpFlashCmd *scarp_recovery_pick(ScarpDrive *drive, uint32_t die);
ScarpFlashCmd *scarp_recovery_pick_kind(ScarpDrive *drive, uint32_t die,
                                        ScarpFlashKind kind);
/* Ends and frees a flash command that recovery owns. */
void scarp_recovery_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * Returns the units that a program of recovery copies, *n of them; SCARP_PAD:
 * no data. For a power cut that meets the program.
 */
const uint32_t *scarp_recovery_sources(const ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd, uint32_t *n);

#ifdef SCARP_CHECKED
/* Marks that the power fails once more. */
void scarp_recovery_mark_cut(const ScarpDrive *drive);
#endif

#endif /* SCARP_RECOVERY_OPS_H */
