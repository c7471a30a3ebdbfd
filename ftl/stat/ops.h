/*
 * What other rooms may ask of stat.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_STAT_OPS_H
#define SCARP_STAT_OPS_H

#include "core/ops.h"

/* A drive whose power failed: its counters and latencies go on in to. */
void scarp_stat_pass(ScarpDrive *from, ScarpDrive *to);
bool scarp_stat_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);
void scarp_stat_clear(ScarpDrive *drive);

/* The command has completed: counts it, its latency and its causes. */
void scarp_stat_completed(ScarpDrive *drive, const ScarpCmd *cmd);
/* It did, when it should have by deadline_ns: counts it if that was missed. */
void scarp_stat_deadline(ScarpDrive *drive, const ScarpCmd *cmd,
                         int64_t deadline_ns);
/*
 * For a statistic of time that ends now: how long it has lasted.  What began
 * before a reset counts from there on.
 */
static inline int64_t scarp_stat_since(const ScarpDrive *drive,
                                       int64_t begin_ns)
{
    return scarp_time_ns(drive) - MAX(begin_ns, drive->stat.counted_from_ns);
}
/* What ageing did is not the drive's: zero but for what is there, now. */
void scarp_stat_forget(ScarpDrive *drive);

#endif /* SCARP_STAT_OPS_H */
