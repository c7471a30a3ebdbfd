/*
 * The functions of causes that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CAUSES_OPS_H
#define SCARP_CAUSES_OPS_H

#include "core/ops.h"

/* ---- A die's clock ------------------------------------------------------ */

static inline void scarp_clock_init(ScarpDieClock *clock, bool parts)
{
    clock->activity = DIE_IDLE;
    clock->parts = parts;
}

static inline ScarpDieActivity scarp_clock_activity(const ScarpDieClock *clock)
{
    return clock->activity;
}

/* Sets the activity of the die from now on. */
static inline void scarp_clock_turn(ScarpDieClock *clock, int64_t now_ns,
                                    ScarpDieActivity activity)
{
    clock->spent_ns[clock->activity] += now_ns - clock->since_ns;
    clock->since_ns = now_ns;
    clock->activity = activity;
}

/* ---- A flash command's account ----------------------------------------- */

/*
 * Returns the parts of an account, which only drives with
 * ScarpGeometry.part_causes have. In them PART_FOLD_READ and PART_FOLD_PROGRAM
 * are waits beside waited_ns[], and PART_THROTTLED is a part of
 * own_ns[OWN_ARRAY].
 */
static inline ScarpParts *scarp_account_parts(const ScarpAccount *account)
{
    return (ScarpParts *)(account + 1);
}

/*
 * Begins the account of a flash command. `waits` is true if a host command may
 * wait for the flash command: the account then counts what the flash command
 * waits for, too. `parts` is ScarpGeometry.part_causes.
 */
static inline void scarp_account_init(ScarpAccount *account, bool waits,
                                      bool parts)
{
    scarp_clear(account, offsetof(ScarpAccount, waited_ns));
    if (waits) {
        scarp_clear(account->waited_ns, sizeof(account->waited_ns));
    }
    if (G_UNLIKELY(parts)) {
        *scarp_account_parts(account) = (ScarpParts) { { 0 } };
    }
}

/* Returns the account's wait for the activity. */
static inline int64_t *scarp_account_wait_for(ScarpAccount *account,
                                              ScarpDieActivity activity)
{
    return G_LIKELY(activity < DIE_ACTIVITY__PLAIN)
               ? &account->waited_ns[activity]
               : &scarp_account_parts(account)->ns[activity - DIE_FOLD_READ];
}

/*
 * Returns the time up to which the account divides the flash command's life
 * into causes.
 */
static inline int64_t scarp_account_until_ns(const ScarpAccount *account)
{
    return account->mark_ns;
}

static inline void scarp_account_begin(ScarpAccount *account, int64_t now_ns)
{
    account->mark_ns = now_ns;
}

/*
 * Do what scarp_account_wait() and scarp_account_waited() do, for accounts with
 * parts. The functions are out of line, so that drives without parts do not pay
 * for them.
 */
void scarp_account_parts_wait(ScarpAccount *account,
                              const ScarpDieClock *clock, int64_t now_ns);
void scarp_account_parts_waited(ScarpAccount *account,
                                const ScarpDieClock *clock, int64_t now_ns);

/*
 * Called when the flash command is queued. From now on its wait grows with the
 * time that the die spends on other commands.
 */
static inline void scarp_account_wait(ScarpAccount *account,
                                      const ScarpDieClock *clock,
                                      int64_t now_ns)
{
    if (G_UNLIKELY(clock->parts)) {
        scarp_account_parts_wait(account, clock, now_ns);
        return;
    }
#pragma GCC unroll 8
    for (int i = 0; i < DIE_ACTIVITY__PLAIN; i++) {
        account->waited_ns[i] -= clock->spent_ns[i];
    }
    account->waited_ns[clock->activity] -= now_ns - clock->since_ns;
}

/*
 * Called when the flash command was taken from its queue, which ends its wait.
 * The time of the die's present activity is added only to the account, not to
 * the clock. A processor that has just stored one of the clock's numbers would
 * stall when it loads several of them at once.
 */
static inline void scarp_account_waited(ScarpAccount *account,
                                        const ScarpDieClock *clock,
                                        int64_t now_ns)
{
    account->mark_ns = now_ns;
    if (G_UNLIKELY(clock->parts)) {
        scarp_account_parts_waited(account, clock, now_ns);
        return;
    }
#pragma GCC unroll 8
    for (int i = 0; i < DIE_ACTIVITY__PLAIN; i++) {
        account->waited_ns[i] += clock->spent_ns[i];
    }
    account->waited_ns[clock->activity] += now_ns - clock->since_ns;
}

/*
 * Called for a flash command that has begun, and then had to wait behind
 * another activity of its die. Adds the time until now_ns to the command's wait
 * for that activity.
 */
static inline void scarp_account_behind(ScarpAccount *account,
                                        ScarpDieActivity activity,
                                        int64_t now_ns)
{
    *scarp_account_wait_for(account, activity) += now_ns - account->mark_ns;
    account->mark_ns = now_ns;
}

/* Adds the time until until_ns to the flash command's own time for `cause`. */
static inline void scarp_account_own(ScarpAccount *account,
                                     ScarpOwnCause cause, int64_t until_ns)
{
    account->own_ns[cause] += until_ns - account->mark_ns;
    account->mark_ns = until_ns;
}

/*
 * Called when the flash command's array time is fixed, on a drive with a
 * temperature: throttling makes the array time longer by longer_ns.
 */
static inline void scarp_account_throttled(ScarpAccount *account,
                                           int64_t longer_ns)
{
    scarp_account_parts(account)->ns[PART_THROTTLED] += longer_ns;
}

/*
 * Adds the account of another flash command to that of a command which it
 * served: its times explain the life of that command (parity/reconstruct.c).
 * `parts` is ScarpGeometry.part_causes.
 */
void scarp_account_add(ScarpAccount *account, const ScarpAccount *other,
                       bool parts);

/* ---- A command's causes ------------------------------------------------- */

/* Begins the causes of a command that is submitted now. */
static inline void scarp_cause_start(ScarpDrive *drive, ScarpCmd *cmd)
{
    scarp_clear(cmd->cause_ns, sizeof(cmd->cause_ns));
    cmd->split = false;
    cmd->submit_ns = cmd->mark_ns = scarp_time_ns(drive);
}

/* Adds the command's time until now that belongs to no cause yet to `cause`. */
static inline void scarp_cause_until_now(ScarpDrive *drive, ScarpCmd *cmd,
                                         ScarpCause cause)
{
    cmd->cause_ns[cause] += scarp_time_ns(drive) - cmd->mark_ns;
    cmd->mark_ns = scarp_time_ns(drive);
}

/*
 * Completes the causes of a command that ends with a flash read. `account` is
 * the account of the command's read that ended last.
 */
void scarp_cause_read(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpAccount *account);
/*
 * Completes the causes of a command that ends with the program of a unit. The
 * unit came into the buffer at created_ns, and then waited mapping_ns for its
 * mapping entry and rmw_ns for the read of its other bytes. `account` is the
 * program's account.
 */
void scarp_cause_program(ScarpDrive *drive, ScarpCmd *cmd, int64_t created_ns,
                         int64_t mapping_ns, int64_t rmw_ns,
                         const ScarpAccount *account);
/*
 * Completes the causes of a command that ends with the read of the bytes that a
 * partial unit lacked.
 */
void scarp_cause_rmw(ScarpDrive *drive, ScarpCmd *cmd, int64_t created_ns,
                     int64_t mapping_ns, int64_t rmw_ns);

#endif /* SCARP_CAUSES_OPS_H */
