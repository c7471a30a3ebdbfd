/*
 * causes: says where the time of commands goes. This directory owns the clock
 * of each die (what the die does, and for how long) and the account of each
 * flash command (what the command waited for, and what it spent its own time
 * on).
 *
 * Only causes divides a command's life into its causes (docs/model.md). Other
 * directories of ftl/ report facts such as "from now on the die does this",
 * "until then the command waits for the channel", "this command ends with that
 * flash command", and causes adds up the times. causes asks core for the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CAUSES_STATE_H
#define SCARP_CAUSES_STATE_H

#include "core/cause_parts.h"
#include "core/state.h"

/*
 * Activities of a die, as seen by a command that waits for the die. The order
 * is that of the causes from SCARP_CAUSE_DIE_HOST_READ on, except that
 * DIE_SUSPEND is last.
 */
typedef enum {
    DIE_HOST_READ,
    DIE_HOST_PROGRAM,
    DIE_GC_READ,
    DIE_GC_PROGRAM,
    DIE_ERASE,
    DIE_GC_HELD,
    DIE_IDLE, /* a command that waits for an idle die lacks space */
    DIE_SUSPEND,
    DIE_ACTIVITY__PLAIN,
    /* only on drives with an SLC cache */
    DIE_FOLD_READ = DIE_ACTIVITY__PLAIN,
    DIE_FOLD_PROGRAM,
    DIE_ACTIVITY__COUNT
} ScarpDieActivity;

/*
 * Causes on which a flash command spends its own time. OWN_SUSPENDED and
 * OWN_MAPPING share an array element, so that a flash command fits into three
 * lines of the processor's cache. That is possible because a read is never
 * suspended, and only a read waits for its mapping entry.
 */
typedef enum {
    OWN_CHANNEL, OWN_ARRAY, OWN_TRANSFER, OWN_SUSPENDED, OWN__COUNT,
    OWN_MAPPING = OWN_SUSPENDED
} ScarpOwnCause;

typedef struct {
    ScarpDieActivity activity;
    bool parts; /* the accounts of the die's flash commands have parts */
    int64_t since_ns; /* when the activity began */
    /* time spent on each activity before since_ns */
    int64_t spent_ns[DIE_ACTIVITY__COUNT];
} ScarpDieClock;

enum { SCARP_CLOCK_SPENT_AT = offsetof(ScarpDieClock, spent_ns) };

typedef struct {
    int64_t mark_ns; /* the command's life is accounted for until then */
    int64_t own_ns[OWN__COUNT];
    /* while queued: minus the die's spent_ns at the moment of queuing */
    int64_t waited_ns[DIE_ACTIVITY__PLAIN];
    /*
     * With ScarpGeometry.part_causes, ScarpParts follow in memory:
     * scarp_account_parts(). Other drives' flash commands fit into three lines
     * of the processor's cache without them.
     */
} ScarpAccount;

#endif /* SCARP_CAUSES_STATE_H */
