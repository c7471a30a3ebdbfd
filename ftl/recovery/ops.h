/*
 * What other rooms may ask of recovery.
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

/* A new drive has the cells of one whose power failed: its tables are made. */
void scarp_recovery_begin(ScarpDrive *drive);

/* The host waits until it is over. */
static inline bool scarp_recovery_runs(const ScarpDrive *drive)
{
    return G_UNLIKELY(drive->recovery.step != RECOVERY_READY);
}

/* It reads, and has nothing to change yet. */
static inline bool scarp_recovery_scans(const ScarpDrive *drive)
{
    return drive->recovery.step == RECOVERY_SCAN;
}

/* What the die does next: any kind, or this one; NULL: nothing. */
ScarpFlashCmd *scarp_recovery_pick(ScarpDrive *drive, uint32_t die);
ScarpFlashCmd *scarp_recovery_pick_kind(ScarpDrive *drive, uint32_t die,
                                        ScarpFlashKind kind);
/* A flash command that it owns has ended; it is freed. */
void scarp_recovery_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * Of a program of it: the units that it copies, *n of them; SCARP_PAD: nothing.
 * For who wants to know what was on its way.
 */
const uint32_t *scarp_recovery_sources(const ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd, uint32_t *n);

#ifdef SCARP_CHECKED
/* For marks: the power fails once more. */
void scarp_recovery_mark_cut(const ScarpDrive *drive);
#endif

#endif /* SCARP_RECOVERY_OPS_H */
