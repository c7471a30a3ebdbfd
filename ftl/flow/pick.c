/*
 * The choice of the flash command that a die runs next: waiting.c finds the
 * waiters, this file chooses one, and take.c takes it from its queue.
 *
 * The pacing policy prefers the host or a collection. Of the host's commands
 * reads go before programs, the oldest first in a class
 * (controller.reads_first=0: the oldest of all goes first).
 *
 * A waiter that reads have passed over to the limit is owed the next turn
 * (turns/ops.h). A program or a pad then goes before the reads. A program
 * without a page and a copy of another die's collection depend on collections:
 * for them a collection's command goes next, even if the pacing prefers the
 * host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

typedef enum {
    CHOICE_MADE,  /* the die begins *cmd; NULL: it begins nothing */
    CHOICE_NONE,  /* none of the host's commands can run */
    CHOICE_AGAIN, /* the queues have changed: choose again */
} Choice;

/*
 * Starts collections that are due, unless pick is PICK_READ. With
 * gc.after_reads it starts none, and sets *after_reads, if a read is next and
 * nobody is owed a turn. Returns false if no command may be loaded behind the
 * one that runs, because a collection has to begin when that one has ended.
 */
static bool start_due(ScarpDrive *drive, uint32_t die, ScarpPick pick,
                      bool *after_reads)
{
    *after_reads = false;
    if (drive->desc.after_reads) {
        ScarpWaiting w;

        scarp_flow_who_waits(drive, die, &w);
        *after_reads = scarp_flow_read_is_next(drive, &w) &&
                       !scarp_flow_who_is_owed(drive, die, &w);
        scarp_mark_if(drive, collection_after_reads, *after_reads &&
                      scarp_gc_due(drive, scarp_die_plane(drive, die)));
    }
    if (*after_reads || pick == PICK_READ) {
        return true;
    }
    if (pick == PICK_PROGRAM) {
        return scarp_gc_check_behind(drive, die);
    }
    scarp_gc_check(drive, die);
    scarp_flow_take_served(drive);
    return true;
}

/*
 * True when a program has no page, and reads or programs of other planes have
 * passed it over to the limit.
 */
static bool is_owed_a_page(const ScarpDrive *drive, uint32_t die,
                           const ScarpWaiting *w, const ScarpFlashCmd *owed)
{
    return w->pageless && (owed == w->pageless ||
                           scarp_turn_owed(drive, PASS_SIBLINGS, die,
                                           scarp_flash_seq(w->pageless)));
}

/*
 * Returns whose turn it is: the pacing's, but TURN_GC instead of TURN_HOST if
 * the waiter that is owed the turn depends on a collection.
 */
static ScarpTurn overrule(const ScarpDrive *drive, ScarpTurn turn,
                          const ScarpWaiting *w, const ScarpFlashCmd *owed)
{
    if (turn == TURN_HOST && owed && (owed == w->copy || owed == w->pageless)) {
        scarp_mark(drive, collection_after_passed_reads);
        return TURN_GC;
    }
    return turn;
}

/*
 * Takes the next of the host's commands, if one can run. owed need not be found
 * anew when scarp_flow_take_read() has changed *w and returned NULL: then no
 * read has passed anybody.
 */
static Choice choose_host(ScarpDrive *drive, uint32_t die, ScarpPick pick,
                          ScarpWaiting *w, const ScarpFlashCmd *owed,
                          ScarpFlashCmd **cmd)
{
    bool owed_goes = owed && (owed == w->program || owed == w->pad);

    if (scarp_flow_read_is_next(drive, w) && !owed_goes) {
        if (pick == PICK_PROGRAM) {
            /* the read goes first: no program is loaded now */
            return CHOICE_MADE;
        }
        *cmd = scarp_flow_take_read(drive, die, w);
        if (*cmd) {
            return CHOICE_MADE;
        }
    }
    if (pick == PICK_READ) {
        return CHOICE_NONE;
    }
    scarp_mark_if(drive, program_after_passed_reads, owed_goes && w->read);
    if (scarp_flow_pad_is_next(drive, die, w, owed)) {
        scarp_mark_if(drive, pad_before_programs, w->program);
        *cmd = scarp_flow_pad(drive, die);
    } else if (w->program) {
        *cmd = scarp_flow_take_program(drive, die, w);
    }
    if (*cmd) {
        return CHOICE_MADE;
    }
    return pick == PICK_ANY && w->pageless && scarp_flow_redirect(drive, die)
               ? CHOICE_AGAIN : CHOICE_NONE;
}

/*
 * True when the host's commands may not go: a collection's command was taken
 * (*cmd), or the host has to wait for one.
 */
static bool goes_before_host(ScarpDrive *drive, uint32_t die, ScarpPick pick,
                             ScarpTurn turn, ScarpFlashCmd **cmd)
{
    if (turn != TURN_HOST && scarp_nand_queued(drive, die, QUEUE_GC)) {
        *cmd = scarp_flow_take_gc(drive, die, pick);
        if (*cmd || pick != PICK_ANY) {
            return true;
        }
    }
    return turn == TURN_HELD;
}

static Choice choose(ScarpDrive *drive, uint32_t die, ScarpPick pick,
                     ScarpFlashCmd **cmd)
{
    const ScarpFlashCmd *owed = NULL;
    bool after_reads, owes, waits;
    ScarpWaiting w;
    ScarpTurn turn;
    Choice choice;

    if (!start_due(drive, die, pick, &after_reads)) {
        return CHOICE_MADE;
    }
    turn = scarp_gc_turn(drive, die);
    waits = scarp_flow_anyone_waits(drive, die);
    /*
     * Most often neither limit is reached. Then the pacing alone decides
     * between the host and a collection, and nobody need look at the waiters.
     * PASS_PROGRAMS is not asked: a pad that programs have passed over goes
     * before programs of the host, but not before a collection.
     */
    owes = waits && (scarp_turn_limit_reached(drive, PASS_READS, die) ||
                     scarp_turn_limit_reached(drive, PASS_SIBLINGS, die));
    if (owes) {
        scarp_flow_who_waits(drive, die, &w);
        owed = scarp_flow_who_is_owed(drive, die, &w);
        if (owed && pick == PICK_READ) {
            return CHOICE_MADE; /* no read is sensed behind the current one */
        }
        if (pick == PICK_ANY && is_owed_a_page(drive, die, &w, owed) &&
            scarp_flow_redirect(drive, die)) {
            scarp_mark(drive, redirected_when_owed);
            return CHOICE_AGAIN;
        }
        turn = overrule(drive, turn, &w, owed);
    }
    if (goes_before_host(drive, die, pick, turn, cmd)) {
        return CHOICE_MADE;
    }
    if (waits) {
        if (!owes) {
            scarp_flow_who_waits(drive, die, &w);
        }
        choice = choose_host(drive, die, pick, &w, owed, cmd);
        if (choice != CHOICE_NONE) {
            return choice;
        }
    }
    if (after_reads && pick == PICK_ANY) {
        scarp_mark(drive, collected_after_reads_had_gone);
        /* the reads that went first had moved: now a collection may begin */
        return CHOICE_AGAIN;
    }
    if (turn == TURN_HOST && scarp_nand_queued(drive, die, QUEUE_GC)) {
        *cmd = scarp_flow_take_gc(drive, die, pick);
    } else if (pick == PICK_ANY && !scarp_nand_collecting(drive, die)) {
        scarp_gc_idle(drive, die);
        scarp_flow_take_served(drive);
    }
    return CHOICE_MADE;
}

/*
 * Takes a read, which may go before the suspended command unless somebody is
 * owed the turn. NULL: the suspended command is resumed.
 */
static ScarpFlashCmd *pick_suspended(ScarpDrive *drive, uint32_t die)
{
    ScarpWaiting w;

    scarp_flow_who_waits(drive, die, &w);
    return w.read && !scarp_flow_who_is_owed(drive, die, &w)
               ? scarp_flow_take_read(drive, die, &w) : NULL;
}

ScarpFlashCmd *scarp_flow_pick(ScarpDrive *drive, uint32_t die, ScarpPick pick)
{
    ScarpFlashCmd *cmd = NULL;

    if (scarp_recovery_runs(drive)) {
        return scarp_flow_take_recovery(drive, die, pick);
    }
    if (scarp_nand_suspended(drive, die)) {
        return pick_suspended(drive, die);
    }
    /*
     * The loop ends, as no time passes in it. A program is redirected to a
     * plane that can collect (elsewhere() in redirect.c), so it is not
     * redirected again. Reads that had moved are queued at their new pages, or
     * have ended: the next round finds no such read, and may begin the
     * collection.
     */
    while (choose(drive, die, pick, &cmd) == CHOICE_AGAIN) {
        continue;
    }
    return cmd;
}
