/*
 * Declarations that the sources of nand share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NAND_INTERNAL_H
#define SCARP_NAND_INTERNAL_H

#include "nand/ops.h"

/* Lanes of events: arrays and transfers that take equally long, and waits. */
enum {
    SCARP_LANE_READ, SCARP_LANE_PROGRAM, SCARP_LANE_OUT, SCARP_LANE_CHANNEL,
    SCARP_LANE__COUNT
};
G_STATIC_ASSERT(SCARP_LANE__COUNT == SCARP_EVENTS_LANES);

/* The longest array time in a group, which is not empty: nand/timing.c */
int64_t scarp_array_ns(const ScarpDrive *drive, const ScarpFlashCmd *group);

/*
 * A waiter is die * 2, or die * 2 + 1 for its command behind the current: it
 * has the channel now, or will when it is free.  True: see scarp_nand_run().
 */
bool scarp_channel_request(ScarpDrive *drive, uint32_t waiter);
bool scarp_channel_granted(ScarpDrive *drive, uint32_t waiter);

static inline void scarp_channel_busy_until(ScarpDrive *drive, uint32_t die,
                                            int64_t until_ns)
{
    drive->nand.channel[scarp_die_channel(drive, die)].free_ns = until_ns;
}

/* The array works from now on; its event is its end: nand/die.c */
void scarp_array_until(ScarpDrive *drive, uint32_t die, int64_t end_ns);
ScarpDieActivity scarp_activity_of(const ScarpFlashCmd *cmd);
/* Adds the time to the accounts of all in the group. */
void scarp_group_own(ScarpFlashCmd *group, ScarpOwnCause cause,
                     int64_t until_ns);

/* nand/suspend.c */
bool scarp_may_suspend(const ScarpDrive *drive, uint32_t die);
void scarp_suspend(ScarpDrive *drive, uint32_t die);

/* Remembers a phase of cmd, which is of group, for observers. */
void scarp_see_phase(ScarpDrive *drive, const ScarpFlashCmd *group,
                     const ScarpFlashCmd *cmd, ScarpFlashPhase phase,
                     int64_t begin_ns, int64_t end_ns);
/* The array time of current, up to until_ns. */
void scarp_see_array(ScarpDrive *drive, const ScarpDie *die, int64_t until_ns);

#endif /* SCARP_NAND_INTERNAL_H */
