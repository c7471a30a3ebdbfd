/*
 * Functions of turns for other rooms.
 *
 * The rule: nobody who waits is passed over more often than a limit says. Then
 * it is owed the next turn; if it cannot be served, what it waits for is. The
 * count is bound to the waiter's sequence number. So nobody resets a count: it
 * begins anew when all who were counted for have left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TURNS_OPS_H
#define SCARP_TURNS_OPS_H

#include "core/ops.h"

#define SCARP_NOBODY UINT64_MAX /* the sequence number of no waiter */

bool scarp_turns_init(ScarpDrive *drive, const ScarpConfig *config,
                      GError **error);
void scarp_turns_clear(ScarpDrive *drive);
/* Multiplies the limit by what only the waiter's room can count. */
void scarp_turns_scale(ScarpDrive *drive, ScarpPasser passer, uint64_t n);

/* Counts that another goes before the oldest waiter (SCARP_NOBODY: none). */
void scarp_turn_passed(ScarpDrive *drive, ScarpPasser passer, uint32_t resource,
                       uint64_t waiter);

/*
 * True when the count has reached its limit: the caller then looks who waits,
 * and asks whether that one is owed the turn.
 */
static inline bool scarp_turn_limit_reached(const ScarpDrive *drive,
                                            ScarpPasser passer,
                                            uint32_t resource)
{
    return drive->turns.count[passer][resource].passed >=
           drive->turns.limit[passer];
}

/* True when the oldest waiter is owed the next turn; SCARP_NOBODY never is. */
static inline bool scarp_turn_owed(const ScarpDrive *drive, ScarpPasser passer,
                                   uint32_t resource, uint64_t waiter)
{
    return scarp_turn_limit_reached(drive, passer, resource) &&
           waiter <= drive->turns.count[passer][resource].last;
}

/*
 * Lets another go before the waiter once more. False: the waiter is owed the
 * next turn.
 */
static inline bool scarp_turn_may_pass(ScarpDrive *drive, ScarpPasser passer,
                                       uint32_t resource, uint64_t waiter)
{
    if (scarp_turn_owed(drive, passer, resource, waiter)) {
        return false;
    }
    scarp_turn_passed(drive, passer, resource, waiter);
    return true;
}

/*
 * Lets another go before a waiter that carries its count. False: the waiter is
 * owed the next turn.
 */
static inline bool scarp_turn_may_pass_own(const ScarpDrive *drive,
                                           ScarpPasser passer,
                                           ScarpOwnCount *own)
{
    if (own->passed >= drive->turns.limit[passer]) {
        return false;
    }
    own->passed++;
    return true;
}

#endif /* SCARP_TURNS_OPS_H */
