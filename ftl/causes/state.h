/*
 * causes: where time goes. Owns the clock of each die (its activities, and for
 * how long) and the account of each flash command (what it waited for, and what
 * it spent its own time on).
 *
 * Only this room splits a command's life into its causes (docs/model.md). Other
 * rooms say "from now on the die does this", "until then it waits for the
 * channel", "this command ends with that flash command"; causes makes the sums.
 * It asks core for the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CAUSES_STATE_H
#define SCARP_CAUSES_STATE_H

#include "core/state.h"

/*
 * A die's activity, as a command that waits for it sees it; in the order of the
 * causes from SCARP_CAUSE_DIE_HOST_READ, but for the last.
 */
typedef enum {
    DIE_HOST_READ,
    DIE_HOST_PROGRAM,
    DIE_GC_READ,
    DIE_GC_PROGRAM,
    DIE_ERASE,
    DIE_GC_HELD,
    DIE_IDLE, /* a command that waits for an idle die waits for space */
    DIE_SUSPEND,
    DIE_ACTIVITY__COUNT
} ScarpDieActivity;

/*
 * A flash command's uses of its own time. A read is never suspended, and only a
 * read waits for its entry of the mapping: both share one place, so that a
 * flash command stays three lines of the cache.
 */
typedef enum {
    OWN_CHANNEL, OWN_ARRAY, OWN_TRANSFER, OWN_SUSPENDED, OWN__COUNT,
    OWN_MAPPING = OWN_SUSPENDED
} ScarpOwnCause;

typedef struct {
    ScarpDieActivity activity;
    int64_t since_ns; /* of activity */
    int64_t spent_ns[DIE_ACTIVITY__COUNT]; /* all of the past */
} ScarpDieClock;

enum { SCARP_CLOCK_SPENT_AT = offsetof(ScarpDieClock, spent_ns) };

typedef struct {
    int64_t mark_ns; /* end of what is accounted */
    int64_t own_ns[OWN__COUNT];
    int64_t waited_ns[DIE_ACTIVITY__COUNT]; /* queued: less the die's spent */
} ScarpAccount;

#endif /* SCARP_CAUSES_STATE_H */
