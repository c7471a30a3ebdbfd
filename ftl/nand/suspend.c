/*
 * Program and erase suspend: a waiting read interrupts the array. The suspended
 * command goes on when no read waits any longer. It also goes on when reads
 * have gone before it, or before another waiter of the die, as often as
 * controller.reads_first_limit allows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

#ifdef SCARP_CHECKED
/*
 * True when a waiting read could suspend the current command if no limit
 * forbade it. Only marks (counters of rare states, in checked builds) ask this.
 */
static bool could_suspend(const ScarpDrive *drive, const ScarpDie *die)
{
    ScarpFlashKind kind = die->current->kind;

    return ((kind == SCARP_FLASH_PROGRAM && drive->desc.suspend_program) ||
            (kind == SCARP_FLASH_ERASE && drive->desc.suspend_erase)) &&
           die->phase == PHASE_ARRAY && die->queued[QUEUE_READS];
}
#endif

/*
 * True when as many reads as the limit PASS_READS allows have overtaken the
 * running command, or a program that waits at the die (of the host, of
 * translation units, or of another die's collection). No further read may then
 * suspend the running command.
 *
 * When the die is free, scarp_flow_who_is_owed() applies the same limit, with
 * three differences. A program without a free page counts only if no other of
 * these waiters is there. A program that needs a pad (a page without data)
 * counts, too. With controller.reads_first=0 no program that has a page counts.
 */
static bool reads_have_gone(const ScarpDrive *drive, uint32_t index)
{
    const ScarpDie *die = &drive->nand.die[index];
    unsigned kinds = 1u << QUEUE_PROGRAMS | 1u << QUEUE_MAP |
                     (die->guests ? 1u << QUEUE_GC : 0);

    return scarp_turn_limit_reached(drive, PASS_READS, index) &&
           scarp_turn_owed(drive, PASS_READS, index,
                           MIN(die->current->seq,
                               scarp_nand_oldest(drive, index, kinds)));
}

bool scarp_may_suspend(const ScarpDrive *drive, uint32_t index)
{
    const ScarpDie *die = &drive->nand.die[index];
    const ScarpDescription *d = &drive->desc;
    ScarpFlashKind kind = die->current->kind;
    int64_t at_ns = MAX(scarp_time_ns(drive), die->array_begin_ns);

    scarp_mark_if(drive, suspend_limit_reached,
                  could_suspend(drive, die) &&
                  die->suspends >= d->suspend_limit);
    scarp_mark_if(drive, suspend_too_late,
                  could_suspend(drive, die) &&
                  die->array_end_ns - at_ns < (int64_t)d->suspend_min_ns);
    scarp_mark_if(drive, suspend_met_behind,
                  could_suspend(drive, die) && die->ahead);
    return ((kind == SCARP_FLASH_PROGRAM && d->suspend_program) ||
            (kind == SCARP_FLASH_ERASE && d->suspend_erase)) &&
           die->phase == PHASE_ARRAY && die->queued[QUEUE_READS] &&
           !die->ahead &&
           die->array_end_ns - at_ns >= (int64_t)MAX(d->suspend_min_ns, 1) &&
           die->suspends < d->suspend_limit && !reads_have_gone(drive, index);
}

void scarp_suspend(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->nand.die[index];
    /* while data is loaded, the suspend waits for the array to begin */
    int64_t at_ns = MAX(scarp_time_ns(drive), die->array_begin_ns);

    scarp_mark_if(drive, program_suspended,
                  die->current->kind == SCARP_FLASH_PROGRAM);
    scarp_mark_if(drive, erase_suspended,
                  die->current->kind == SCARP_FLASH_ERASE);
    scarp_mark_if(drive, collection_suspended,
                  scarp_flash_is_gc(die->current));
    scarp_mark_if(drive, multiplane_suspended, die->current->mate);
    scarp_mark_if(drive, suspended_again, die->suspends);
    scarp_mark_if(drive, suspended_before_array, at_ns > scarp_time_ns(drive));
    scarp_see_array(drive, die, at_ns);
    die->suspended = die->current;
    die->suspended_left_ns = die->array_end_ns - at_ns;
    die->current = NULL;
    scarp_nand_relieved(drive, index);
    die->suspends++;
    drive->stats.suspends++;
    scarp_group_own(die->suspended, OWN_ARRAY, at_ns);
    scarp_clock_turn(&die->clock, scarp_time_ns(drive), DIE_SUSPEND);
    die->phase = PHASE_SUSPEND;
    scarp_event_set(drive, scarp_die_source(drive, index),
                    at_ns + drive->desc.suspend_ns);
}

void scarp_nand_resume(ScarpDrive *drive, uint32_t index)
{
    ScarpDie *die = &drive->nand.die[index];
    int64_t now_ns = scarp_time_ns(drive);

    scarp_mark_if(drive, resumed_before_reads, die->queued[QUEUE_READS]);
    die->current = die->suspended;
    die->suspended = NULL;
    die->array_begin_ns = now_ns + drive->desc.resume_ns;
    scarp_clock_turn(&die->clock, now_ns, scarp_activity_of(die->current));
    for (ScarpFlashCmd *cmd = die->current; cmd; cmd = cmd->mate) {
        scarp_account_own(&cmd->account, OWN_SUSPENDED, die->array_begin_ns);
        scarp_account_own(&cmd->account, OWN_ARRAY,
                          die->array_begin_ns + die->suspended_left_ns);
    }
    scarp_array_until(drive, index,
                      die->array_begin_ns + die->suspended_left_ns);
}
