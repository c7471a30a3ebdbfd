/*
 * The functions of turns that other directories of ftl/ may call.
 *
 * The rule: others go before a waiter only as often as a limit says. After that
 * the waiter is owed the next turn. If the waiter cannot be served yet, the
 * turn goes to whatever makes that possible: to the collection that frees a
 * page for it, or to another plane that takes it.
 *
 * A count covers the waiters up to one sequence number, in whatever queue they
 * are. Callers name the oldest waiter. If scarp_turn_passed() is told of a
 * younger waiter than the count covers, all covered waiters have left, so it
 * begins a new count. Nothing else resets a count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TURNS_OPS_H
#define SCARP_TURNS_OPS_H

#include "core/ops.h"

#define SCARP_NOBODY UINT64_MAX /* a sequence number that no waiter has */

bool scarp_turns_init(ScarpDrive *drive, const ScarpConfig *config,
                      GError **error);
void scarp_turns_clear(ScarpDrive *drive);
/*
 * Multiplies by n the limit on how often `passer` may go first. Only the caller
 * can know n. Called before anything is counted.
 */
void scarp_turns_scale(ScarpDrive *drive, ScarpPasser passer, uint64_t n);

/*
 * Counts that `passer` went before `waiter`, the oldest that waits for the
 * resource. With SCARP_NOBODY nobody waits, and nothing is counted.
 */
void scarp_turn_passed(ScarpDrive *drive, ScarpPasser passer, uint32_t resource,
                       uint64_t waiter);

/*
 * True when the count of `passer` at the resource has reached its limit. Only
 * then does the caller look who waits, and ask scarp_turn_owed().
 */
static inline bool scarp_turn_limit_reached(const ScarpDrive *drive,
                                            ScarpPasser passer,
                                            uint32_t resource)
{
    return drive->turns.reached[resource] & 1u << passer;
}

/*
 * True when `waiter`, the oldest that waits for the resource, is owed the next
 * turn. SCARP_NOBODY is never owed a turn.
 */
static inline bool scarp_turn_owed(const ScarpDrive *drive, ScarpPasser passer,
                                   uint32_t resource, uint64_t waiter)
{
    return scarp_turn_limit_reached(drive, passer, resource) &&
           waiter <= drive->turns.count[passer][resource].last;
}

/*
 * Lets `passer` go before `waiter` once more, and counts that. Returns false if
 * the waiter is owed the next turn, so that the passer must wait.
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
 * Lets `passer` go before a waiter that carries its own count. Returns false if
 * the waiter is owed the next turn, so that the passer must wait.
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
