/*
 * The choice of the flash command that a die runs next: waiters are collected
 * (waiting.c), one of them is chosen, and it is taken from its queue (take.c).
 *
 * The pacing policy says whether the host or a collection goes first. Of the
 * host's commands reads go before programs, and the oldest goes first in each
 * class; with controller.reads_first=0 the oldest of all goes first. A waiter
 * that reads have passed over to the limit is owed the next turn (turns/ops.h).
 * If that waiter has no page, the die's collection goes instead, whatever the
 * pacing prefers.
 */
#include "flow/internal.h"

typedef enum {
    CHOICE_MADE,  /* the command taken runs; NULL: none may run */
    CHOICE_NONE,  /* no command of the host can run */
    CHOICE_AGAIN, /* the queues have changed: choose again */
} Choice;

/*
 * Starts collections that are due at the die. *after_reads: none was started,
 * because a read goes first (gc.after_reads). False: a collection comes next,
 * so nothing may be loaded behind the current command.
 */
static bool start_due(ScarpDrive *drive, uint32_t die, ScarpPick pick,
                      bool *after_reads)
{
    *after_reads = false;
    if (drive->desc.after_reads) {
        ScarpWaiting w = scarp_flow_who_waits(drive, die);

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
 * True when reads, or programs of the die's other planes, have passed over the
 * program without a page to the limit.
 */
static bool is_owed_a_page(const ScarpDrive *drive, uint32_t die,
                           const ScarpWaiting *w, const ScarpFlashCmd *owed)
{
    return w->pageless && (owed == w->pageless ||
                           scarp_turn_owed(drive, PASS_SIBLINGS, die,
                                           scarp_flash_seq(w->pageless)));
}

/*
 * Returns the turn that the pacing prefers; or TURN_GC, if the pacing prefers
 * the host and a waiter is owed a command of a collection.
 */
static ScarpTurn turn_of(ScarpDrive *drive, uint32_t die, const ScarpWaiting *w,
                         const ScarpFlashCmd *owed)
{
    ScarpTurn turn = scarp_gc_turn(drive, die);

    if (turn == TURN_HOST && owed && (owed == w->copy || owed == w->pageless)) {
        scarp_mark(drive, collection_after_passed_reads);
        return TURN_GC;
    }
    return turn;
}

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
 * Takes a command of a collection, if a collection has the turn. True: the
 * host's commands wait, whether or not one was taken.
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
    const ScarpFlashCmd *owed;
    bool after_reads;
    ScarpWaiting w;
    ScarpTurn turn;
    Choice choice;

    if (!start_due(drive, die, pick, &after_reads)) {
        return CHOICE_MADE;
    }
    /* mostly nobody can be owed a turn, and the pacing alone decides */
    if (!scarp_turn_limit_reached(drive, PASS_READS, die) &&
        !scarp_turn_limit_reached(drive, PASS_SIBLINGS, die) &&
        goes_before_host(drive, die, pick, scarp_gc_turn(drive, die), cmd)) {
        return CHOICE_MADE;
    }
    w = scarp_flow_who_waits(drive, die);
    owed = scarp_flow_who_is_owed(drive, die, &w);
    if (owed && pick == PICK_READ) {
        return CHOICE_MADE; /* no read is sensed behind the current one */
    }
    if (pick == PICK_ANY && is_owed_a_page(drive, die, &w, owed) &&
        scarp_flow_redirect(drive, die)) {
        scarp_mark(drive, redirected_when_owed);
        return CHOICE_AGAIN;
    }
    turn = turn_of(drive, die, &w, owed);
    if (goes_before_host(drive, die, pick, turn, cmd)) {
        return CHOICE_MADE;
    }
    choice = choose_host(drive, die, pick, &w, owed, cmd);
    if (choice != CHOICE_NONE) {
        return choice;
    }
    if (after_reads && pick == PICK_ANY) {
        scarp_mark(drive, collected_after_reads_had_gone);
        /* the reads that went first had moved: collections may start */
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
 * Takes a read that may go before the suspended command, or returns NULL.
 * Nothing else may go before that.
 */
static ScarpFlashCmd *pick_suspended(ScarpDrive *drive, uint32_t die)
{
    ScarpWaiting w = scarp_flow_who_waits(drive, die);

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
    while (choose(drive, die, pick, &cmd) == CHOICE_AGAIN) {
    }
    return cmd;
}
