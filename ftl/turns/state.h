/*
 * turns: who is owed the next turn. This directory counts for each waiter how
 * many others went before it.
 *
 * A waiter is known here by the resource that it waits for (a die, a channel,
 * the drive) and by its sequence number, never as a flash command. Other
 * directories of ftl/ tell turns when somebody goes before a waiter, and ask
 * whether the waiter is owed the next turn. turns asks core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TURNS_STATE_H
#define SCARP_TURNS_STATE_H

#include "core/state.h"

/*
 * The kinds of commands that go before waiters. turns.c has a row for each
 * kind, which names the waiters.
 */
typedef enum {
    PASS_READS,
    PASS_SIBLINGS,
    PASS_PROGRAMS,
    PASS_COLLECTIONS,
    PASS_TRANSFERS,
    PASS_USES,
    PASS_UPDATES,
    PASS_RETRIES, /* counted in the waiter: ScarpOwnCount */
    PASS__COUNT
} ScarpPasser;

typedef struct {
    uint64_t last;   /* the count is for waiters up to this sequence number */
    uint64_t passed; /* how often others went before these waiters */
} ScarpTurnCount;

/* The count of a waiter that keeps it when the waiter changes queues. */
typedef struct {
    uint8_t passed; /* how often others went before the waiter */
} ScarpOwnCount;

typedef struct {
    ScarpTurnCount *count[PASS__COUNT]; /* [die], [channel] or [1] */
    uint64_t limit[PASS__COUNT];
    /*
     * [die], as there are at least as many dies as channels: bit i is set while
     * passer i has reached its limit at the resource. One load gives the bits
     * of all passers, each time that a die chooses a command.
     */
    uint8_t *reached;
} ScarpTurns;
G_STATIC_ASSERT(PASS__COUNT <= 8);

#endif /* SCARP_TURNS_STATE_H */
