/*
 * Computes the causes of a command's latency from the accounts of its flash
 * commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "causes/ops.h"

G_STATIC_ASSERT(SCARP_CAUSE_DIE_HOST_READ + DIE_IDLE == SCARP_CAUSE_NO_SPACE);
G_STATIC_ASSERT(SCARP_CAUSE_CHANNEL + OWN_TRANSFER == SCARP_CAUSE_TRANSFER);

void scarp_account_parts_wait(ScarpAccount *account,
                              const ScarpDieClock *clock, int64_t now_ns)
{
    for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
        *scarp_account_wait_for(account, i) -= clock->spent_ns[i];
    }
    *scarp_account_wait_for(account, clock->activity) -=
        now_ns - clock->since_ns;
}

void scarp_account_parts_waited(ScarpAccount *account,
                                const ScarpDieClock *clock, int64_t now_ns)
{
    for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
        *scarp_account_wait_for(account, i) += clock->spent_ns[i];
    }
    *scarp_account_wait_for(account, clock->activity) +=
        now_ns - clock->since_ns;
}

void scarp_account_add(ScarpAccount *account, const ScarpAccount *other,
                       bool parts)
{
    for (int i = 0; i < DIE_ACTIVITY__PLAIN; i++) {
        account->waited_ns[i] += other->waited_ns[i];
    }
    for (int i = 0; i < OWN__COUNT; i++) {
        account->own_ns[i] += other->own_ns[i];
    }
    for (int i = 0; parts && i < PART__COUNT; i++) {
        scarp_account_parts(account)->ns[i] +=
            scarp_account_parts(other)->ns[i];
    }
}

/*
 * Adds the account's waits for folds to the causes of cmd, and stores the parts
 * of causes. Returns the sum of these waits.
 */
static int64_t __attribute__((noinline)) add_parts(ScarpCmd *cmd,
                                                   const ScarpAccount *account)
{
    const ScarpParts *parts = scarp_account_parts(account);
    const int64_t *ns = parts->ns;

    cmd->cause_ns[SCARP_CAUSE_DIE_GC_READ] += ns[PART_FOLD_READ];
    cmd->cause_ns[SCARP_CAUSE_DIE_GC_PROGRAM] += ns[PART_FOLD_PROGRAM];
    if (ns[PART_FOLD_READ] || ns[PART_FOLD_PROGRAM] || ns[PART_THROTTLED]) {
        scarp_cmd_set_parts(cmd, parts);
    }
    return ns[PART_FOLD_READ] + ns[PART_FOLD_PROGRAM];
}

/*
 * Adds the account of a flash command to the causes of cmd, and returns the
 * sum. The account's element OWN_SUSPENDED, which is OWN_MAPPING of a read,
 * counts as the cause `still`.
 */
static inline int64_t add(const ScarpDrive *drive, ScarpCmd *cmd,
                          const ScarpAccount *account, ScarpCause still)
{
    int64_t *waited_ns = &cmd->cause_ns[SCARP_CAUSE_DIE_HOST_READ];
    int64_t *own_ns = &cmd->cause_ns[SCARP_CAUSE_CHANNEL];
    int64_t sum = account->waited_ns[DIE_SUSPEND] +
                  account->own_ns[OWN_SUSPENDED];

    cmd->cause_ns[SCARP_CAUSE_DIE_SUSPEND] += account->waited_ns[DIE_SUSPEND];
    cmd->cause_ns[still] += account->own_ns[OWN_SUSPENDED];
#pragma GCC unroll 8
    for (int i = 0; i < DIE_SUSPEND; i++) {
        waited_ns[i] += account->waited_ns[i];
        sum += account->waited_ns[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < OWN_SUSPENDED; i++) {
        own_ns[i] += account->own_ns[i];
        sum += account->own_ns[i];
    }
    return drive->geo.part_causes ? sum + add_parts(cmd, account) : sum;
}

void scarp_cause_read(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpAccount *account)
{
    add(drive, cmd, account, SCARP_CAUSE_MAPPING);
    cmd->mark_ns = scarp_time_ns(drive);
}

void scarp_cause_rmw(ScarpDrive *drive, ScarpCmd *cmd, int64_t created_ns,
                     int64_t mapping_ns, int64_t rmw_ns)
{
    cmd->cause_ns[SCARP_CAUSE_BUFFER_FULL] += created_ns - cmd->mark_ns;
    cmd->cause_ns[SCARP_CAUSE_MAPPING] += mapping_ns;
    cmd->cause_ns[SCARP_CAUSE_RMW] += rmw_ns;
    cmd->mark_ns = scarp_time_ns(drive);
}

void scarp_cause_program(ScarpDrive *drive, ScarpCmd *cmd, int64_t created_ns,
                         int64_t mapping_ns, int64_t rmw_ns,
                         const ScarpAccount *account)
{
    int64_t sum = mapping_ns + rmw_ns + add(drive, cmd, account,
                                            SCARP_CAUSE_SUSPENDED);

    /* for the rest of its life the unit waited for others to fill its page */
    cmd->cause_ns[SCARP_CAUSE_ORDER] += scarp_time_ns(drive) - created_ns - sum;
    scarp_cause_rmw(drive, cmd, created_ns, mapping_ns, rmw_ns);
}
