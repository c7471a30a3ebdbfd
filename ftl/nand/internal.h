/*
 * Declarations that the sources of nand share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NAND_INTERNAL_H
#define SCARP_NAND_INTERNAL_H

#include "nand/ops.h"

/*
 * Lanes of events that come in the order in which they are set: array times and
 * transfers of one length each, and waits for channels.
 */
enum {
    SCARP_LANE_READ, SCARP_LANE_PROGRAM, SCARP_LANE_OUT, SCARP_LANE_CHANNEL,
    SCARP_LANE__COUNT
};
G_STATIC_ASSERT(SCARP_LANE__COUNT == SCARP_EVENTS_LANES);

/* Returns the longest array time in a group, which is not empty (timing.c). */
int64_t scarp_array_ns(const ScarpDrive *drive, const ScarpFlashCmd *group);

/*
 * Requests the channel for a waiter: die * 2, or die * 2 + 1 for the command
 * behind the current one. The waiter gets it at once, or when it is free.
 * Returns what scarp_nand_run() returns.
 */
bool scarp_channel_request(ScarpDrive *drive, uint32_t waiter);
bool scarp_channel_granted(ScarpDrive *drive, uint32_t waiter);

static inline void scarp_channel_busy_until(ScarpDrive *drive, uint32_t die,
                                            int64_t until_ns)
{
    drive->nand.channel[scarp_die_channel(drive, die)].free_ns = until_ns;
}

/* Lets the array work until end_ns, which is the die's next event (die.c). */
void scarp_array_until(ScarpDrive *drive, uint32_t die, int64_t end_ns);
ScarpDieActivity scarp_activity_of(const ScarpFlashCmd *cmd);
/* Accounts the time until until_ns to cause, in each command of the group. */
void scarp_group_own(ScarpFlashCmd *group, ScarpOwnCause cause,
                     int64_t until_ns);

/* nand/suspend.c */
bool scarp_may_suspend(const ScarpDrive *drive, uint32_t die);
void scarp_suspend(ScarpDrive *drive, uint32_t die);

/*
 * Remembers a phase of cmd, which is one of group, for observers. Call only
 * while there are observers of phases.
 */
void scarp_see_phase(ScarpDrive *drive, const ScarpFlashCmd *group,
                     const ScarpFlashCmd *cmd, ScarpFlashPhase phase,
                     int64_t begin_ns, int64_t end_ns);
/* Remembers the array time of the current commands, up to until_ns. */
void scarp_see_array(ScarpDrive *drive, const ScarpDie *die, int64_t until_ns);

#endif /* SCARP_NAND_INTERNAL_H */
