/*
 * The functions of recovery that other directories of ftl/ may call.
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
 * Begins the recovery of a drive after a power cut: rebuilds its tables from
 * the flash cells, and begins to read spare areas.
 */
void scarp_recovery_begin(ScarpDrive *drive);

/*
 * Begins to erase every block that has pages. The drive is a new one, which has
 * got the cells of another one that was at rest.
 */
void scarp_sanitize_begin(ScarpDrive *drive);

/*
 * True while recovery or Sanitize runs. Until it ends, host commands have to
 * wait.
 */
static inline bool scarp_recovery_runs(const ScarpDrive *drive)
{
    return G_UNLIKELY(drive->recovery.step != RECOVERY_READY);
}

/*
 * True while Sanitize erases. Nothing is mapped then, and blocks that are not
 * erased yet contain units that a recovery would find.
 */
static inline bool scarp_sanitize_runs(const ScarpDrive *drive)
{
    return drive->recovery.step == RECOVERY_SANITIZE;
}

/*
 * True while recovery only reads spare areas. Later it also programs and
 * erases.
 */
static inline bool scarp_recovery_scans(const ScarpDrive *drive)
{
    return drive->recovery.step == RECOVERY_SCAN;
}

/*
 * Take recovery's oldest flash command that waits for the die, or return NULL.
 * scarp_recovery_pick_kind() also returns NULL if that command is not of the
 * kind `kind`.
 */
ScarpFlashCmd *scarp_recovery_pick(ScarpDrive *drive, uint32_t die);
ScarpFlashCmd *scarp_recovery_pick_kind(ScarpDrive *drive, uint32_t die,
                                        ScarpFlashKind kind);
/*
 * Called when a flash command of recovery has ended. Frees cmd, and creates the
 * next command of its plane.
 */
void scarp_recovery_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * Called when power fails during a program of recovery. Returns the PPNs from
 * which the program's units were copied, with SCARP_PAD for a part of the page
 * without data. Sets *n to the number of these PPNs.
 */
const uint32_t *scarp_recovery_sources(const ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd, uint32_t *n);

#ifdef SCARP_CHECKED
/* Counts, for tests, what recovery was doing when power failed again. */
void scarp_recovery_mark_cut(const ScarpDrive *drive);
#endif

#endif /* SCARP_RECOVERY_OPS_H */
