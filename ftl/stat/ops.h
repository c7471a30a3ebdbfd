/*
 * Functions of stat for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_STAT_OPS_H
#define SCARP_STAT_OPS_H

#include "core/ops.h"

/*
 * Hands counters and latencies of a drive whose power failed to its successor.
 */
void scarp_stat_hand_over(ScarpDrive *from, ScarpDrive *to);
bool scarp_stat_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);
void scarp_stat_clear(ScarpDrive *drive);

/* Counts a completed command, its latency and its causes. */
void scarp_stat_completed(ScarpDrive *drive, const ScarpCmd *cmd);
/* Counts a completed command as missed if it ended after its deadline. */
void scarp_stat_deadline(ScarpDrive *drive, const ScarpCmd *cmd,
                         int64_t deadline_ns);
/*
 * Returns how long something has lasted that began at begin_ns and ends now,
 * without the time before the last reset.
 */
static inline int64_t scarp_stat_since(const ScarpDrive *drive,
                                       int64_t begin_ns)
{
    return scarp_time_ns(drive) - MAX(begin_ns, drive->stat.counted_from_ns);
}
/* Sets the counters to zero after ageing, but for states such as bad blocks. */
void scarp_stat_forget(ScarpDrive *drive);

#endif /* SCARP_STAT_OPS_H */
