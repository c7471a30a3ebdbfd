/*
 * The functions of stat (statistics) that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_STAT_OPS_H
#define SCARP_STAT_OPS_H

#include "core/ops.h"

/*
 * Called at a power cut, and at a Sanitize: moves counters and latencies from
 * the old drive to the new drive that gets its flash.
 */
void scarp_stat_hand_over(ScarpDrive *from, ScarpDrive *to);
bool scarp_stat_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);
void scarp_stat_clear(ScarpDrive *drive);

/* Adds a completed command to the statistics: its latency and its causes. */
void scarp_stat_completed(ScarpDrive *drive, const ScarpCmd *cmd);
/*
 * Counts the command as one that missed its deadline (missed_reads,
 * missed_writes or missed_others) if it completed after deadline_ns.
 */
void scarp_stat_deadline(ScarpDrive *drive, const ScarpCmd *cmd,
                         int64_t deadline_ns);
/*
 * Returns the part of the time from begin_ns until now that lies after the last
 * reset of the statistics, as time before the reset must not be counted.
 */
static inline int64_t scarp_stat_since(const ScarpDrive *drive,
                                       int64_t begin_ns)
{
    return scarp_time_ns(drive) - MAX(begin_ns, drive->stat.counted_from_ns);
}
/*
 * Called when ageing, which fills and overwrites a new drive before its use,
 * has ended. Sets to zero what ageing has counted. Counts of a present state,
 * such as bad_blocks, stay.
 */
void scarp_stat_forget(ScarpDrive *drive);

#endif /* SCARP_STAT_OPS_H */
