/*
 * Declarations that the sources of nand (dies and channels) share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_NAND_INTERNAL_H
#define SCARP_NAND_INTERNAL_H

#include "nand/ops.h"

/*
 * Lanes for the events of dies and channels. Each lane is a list of events of
 * one kind (core/event.h). Events of one kind are set about equally long in
 * advance, so most of them come in the order in which they were set. An event
 * is the end of a read's array time, of a program's array time, of a transfer
 * out, or of a wait for a channel.
 */
enum {
    SCARP_LANE_READ, SCARP_LANE_PROGRAM, SCARP_LANE_OUT, SCARP_LANE_CHANNEL,
    SCARP_LANE__COUNT
};
G_STATIC_ASSERT(SCARP_LANE__COUNT == SCARP_EVENTS_LANES);

/*
 * Functions of timing.c. scarp_timing_page() returns the index of ppn's times
 * in read_ns_of and program_ns_of. scarp_array_ns() returns the longest array
 * time of the group's commands, and tells heat of them. It is called once for
 * each group, when the group gets the channel.
 */
uint32_t scarp_timing_page(const ScarpDrive *drive, uint32_t ppn);
int64_t scarp_array_ns(ScarpDrive *drive, ScarpFlashCmd *group);

/*
 * Requests the channel for a waiter, which is a number: die * 2 is the die's
 * current command, and die * 2 + 1 the command behind it (nand.cache). A free
 * channel is granted at once; otherwise the waiter queues. Returns true if the
 * waiter is a program that got the channel at once, so that a further program
 * may be loaded behind it.
 */
bool scarp_channel_request(ScarpDrive *drive, uint32_t waiter);
bool scarp_channel_granted(ScarpDrive *drive, uint32_t waiter);

static inline void scarp_channel_busy_until(ScarpDrive *drive, uint32_t die,
                                            int64_t until_ns)
{
    drive->nand.channel[scarp_die_channel(drive, die)].free_ns = until_ns;
}

/*
 * Lets the array work for the die's current command until end_ns, which becomes
 * the die's next event (die.c).
 */
void scarp_array_until(ScarpDrive *drive, uint32_t die, int64_t end_ns);
ScarpDieActivity scarp_activity_of(const ScarpFlashCmd *cmd);
/*
 * Notes in the account of each command of the group that its time until
 * until_ns was spent on the cause.
 */
void scarp_group_own(ScarpFlashCmd *group, ScarpOwnCause cause,
                     int64_t until_ns);

/* nand/suspend.c */
bool scarp_may_suspend(const ScarpDrive *drive, uint32_t die);
void scarp_suspend(ScarpDrive *drive, uint32_t die);

/*
 * Remembers for observers that `cmd`, a command of `group`, was in `phase` from
 * begin_ns to end_ns. The caller must check first that an observer wants phases
 * (ScarpNand.seen).
 */
void scarp_see_phase(ScarpDrive *drive, const ScarpFlashCmd *group,
                     const ScarpFlashCmd *cmd, ScarpFlashPhase phase,
                     int64_t begin_ns, int64_t end_ns);
/*
 * Remembers for observers that the array time of each command that the die runs
 * lasted until until_ns.
 */
void scarp_see_array(ScarpDrive *drive, const ScarpDie *die, int64_t until_ns);

#endif /* SCARP_NAND_INTERNAL_H */
