/*
 * Chooses the flash command that a die runs next, among those that waiting.c
 * finds. The pacing policy prefers the host or a collection. Of the host's
 * commands, reads go before programs (with controller.reads_first=0 the oldest
 * command goes first).
 *
 * If reads have gone before a waiter as often as the limit allows, this waiter
 * is owed the next turn (turns/ops.h). A program with a page, or a pad, then
 * goes before the reads. If the waiter is a program without a page, GC's next
 * command goes, because only a collection can free a page. GC's next command
 * also goes if the waiter is a program of another die's collection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

typedef enum {
    CHOICE_MADE,  /* the die begins *cmd, or nothing if *cmd is NULL */
    CHOICE_NONE,  /* no command of the host can run */
    CHOICE_AGAIN, /* the queues have changed: the caller chooses again */
} Choice;

/*
 * Starts collections that are due, unless `pick` is PICK_READ. With
 * gc.after_reads no collection starts while a read is next and nobody is owed a
 * turn; *after_reads is then true. Returns false if no command may be loaded
 * behind the running one, because a collection must begin first.
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
 * Turns TURN_HOST into TURN_GC if `owed`, the waiter that is owed the next
 * turn, needs a command of GC to go first.
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
 * Takes the host's next command, if one can run. If scarp_flow_take_read()
 * returns NULL, no read has started, so `owed` is still the waiter that is owed
 * the next turn.
 */
static Choice choose_host(ScarpDrive *drive, uint32_t die, ScarpPick pick,
                          ScarpWaiting *w, const ScarpFlashCmd *owed,
                          ScarpFlashCmd **cmd)
{
    bool owed_goes = owed && (owed == w->program || owed == w->pad);

    if (scarp_flow_read_is_next(drive, w) && !owed_goes) {
        if (pick == PICK_PROGRAM) {
            return CHOICE_MADE; /* the read goes first: load no program */
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
 * True when a collection's command was taken, or the host must wait for such a
 * command.
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
    bool after_reads, owes;
    ScarpWaiting w;
    ScarpTurn turn;
    Choice choice;

    if (!start_due(drive, die, pick, &after_reads)) {
        return CHOICE_MADE;
    }
    turn = scarp_gc_turn(drive, die);
    /*
     * Most often nobody is owed a turn, and the pacing alone decides. The limit
     * PASS_PROGRAMS does not matter here: it lets a pad go before programs of
     * the host, not before a collection.
     */
    owes = scarp_turn_limit_reached(drive, PASS_READS, die) ||
           scarp_turn_limit_reached(drive, PASS_SIBLINGS, die);
    if (owes) {
        scarp_flow_who_waits(drive, die, &w);
        owed = scarp_flow_who_is_owed(drive, die, &w);
        if (owed && pick == PICK_READ) {
            return CHOICE_MADE; /* the waiter goes first: sense no read */
        }
        if (pick == PICK_ANY && scarp_flow_owes_page(drive, die, &w, owed) &&
            scarp_flow_redirect(drive, die)) {
            scarp_mark(drive, redirected_when_owed);
            return CHOICE_AGAIN;
        }
        turn = overrule(drive, turn, &w, owed);
    }
    if (goes_before_host(drive, die, pick, turn, cmd)) {
        return CHOICE_MADE;
    }
    if (scarp_flow_anyone_waits(drive, die)) {
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
        return CHOICE_AGAIN; /* the reads' pages had moved: collect now */
    }
    if (turn == TURN_HOST && scarp_nand_queued(drive, die, QUEUE_GC)) {
        *cmd = scarp_flow_take_gc(drive, die, pick);
    } else if (pick == PICK_ANY && !scarp_nand_collecting(drive, die)) {
        scarp_gc_idle(drive, die);
        scarp_flow_take_served(drive);
    }
    return CHOICE_MADE;
}

/* Takes a read while a command is suspended. NULL: no read goes next. */
static __attribute__((noinline)) ScarpFlashCmd *pick_suspended(
    ScarpDrive *drive, uint32_t die)
{
    ScarpWaiting w;

    scarp_flow_who_waits(drive, die, &w);
    return scarp_flow_read_is_next(drive, &w) &&
                   !scarp_flow_who_is_owed(drive, die, &w)
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
     * The loop ends, because a program never goes back and forth between planes
     * (redirect.c), and a read whose page had moved is queued elsewhere or has
     * ended.
     */
    while (choose(drive, die, pick, &cmd) == CHOICE_AGAIN) {
        continue;
    }
    return cmd;
}
