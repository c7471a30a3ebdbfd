/*
 * flow: the directory above all directories of ftl/ that own a drive's state.
 * flow owns nothing. It takes the events one by one, asks one directory for the
 * next step, and tells the others what has ended. No directory calls one above
 * itself: flow passes on what a lower directory has for a higher one.
 *
 *    run.c         the events of a drive, in order
 *    command.c     commands: what begins when one enters the device
 *    read.c        host reads: split, retried when a unit has moved, ended
 *    ended.c       flash commands that have ended, by their owners
 *    mapped.c      reads and units that waited for an entry of the mapping
 *    die.c         a die's events, and what it does next
 *    waiting.c     who waits at a die, and who is owed the next turn
 *    pick.c        which of the waiting flash commands runs next
 *    take.c        how a flash command leaves its queue
 *    redirect.c    programs whose plane can take nothing any more
 *    multiplane*.c which commands join another in a multi-plane command
 *    observe.c     phases of flash commands, for observers
 *    pairs.c       programs that wait for the rest of their cells
 *    cut.c         what is in the cells when power fails
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLOW_INTERNAL_H
#define SCARP_FLOW_INTERNAL_H

#include "flow/ops.h"

/* ---- command.c ---------------------------------------------------------- */

void scarp_flow_stage_event(ScarpDrive *drive, uint32_t stage);
/* Counts one part of cmd as ended. The last part completes cmd. */
void scarp_flow_put(ScarpDrive *drive, ScarpCmd *cmd);
/*
 * Called when units have left the buffer: scarp_flow_flushed() completes
 * flushes whose data is on flash, and scarp_flow_admit() takes waiting writes
 * into the buffer.
 */
void scarp_flow_flushed(ScarpDrive *drive);
void scarp_flow_admit(ScarpDrive *drive);

/* ---- read.c ------------------------------------------------------------- */

/* Splits cmd into flash reads. Units in the buffer are read at once. */
void scarp_flow_read(ScarpDrive *drive, ScarpCmd *cmd);
/*
 * Starts a read that was taken from its queue. False: one of the read's units
 * has moved since, so the read has been queued elsewhere, or has ended.
 */
bool scarp_flow_read_start(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_flow_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Ends the reads that parity has served, and retries the reads that it could
 * not serve.
 */
void scarp_flow_take_served(ScarpDrive *drive);

/*
 * Called when the mapping entry of part's unit is known: queues `part`, a read
 * of one unit, or joins it to an earlier read.
 *
 * *open is the read of the command's earlier units, not yet queued, or NULL. If
 * part's unit follows those units in the same page, *open is extended by the
 * unit. Otherwise *open is queued, and part becomes *open.
 */
void scarp_flow_read_mapped(ScarpDrive *drive, ScarpFlashCmd *part,
                            ScarpFlashCmd **open);

/* ---- mapped.c ----------------------------------------------------------- */

/*
 * Lets map fetch entries that are missing, and goes on with the reads and units
 * that waited for them.
 */
void scarp_flow_mapped(ScarpDrive *drive);

/* ---- ended.c ------------------------------------------------------------ */

void scarp_flow_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Fills unit, of which the host wrote a part: the other bytes come from base,
 * or are zeroes if base is NULL.
 */
void scarp_flow_fill(ScarpDrive *drive, ScarpUnit *unit, const void *base);

/* ---- die.c -------------------------------------------------------------- */

void scarp_flow_die_event(ScarpDrive *drive, uint32_t die);
void scarp_flow_channel_event(ScarpDrive *drive, uint32_t channel);
void scarp_flow_die_work(ScarpDrive *drive, uint32_t die);

/* ---- waiting.c, pick.c, take.c, multiplane.c ---------------------------- */

/* True when cmd, which may be NULL, is older than best, or best is NULL. */
static inline bool scarp_flow_is_older(const ScarpFlashCmd *cmd,
                                       const ScarpFlashCmd *best)
{
    return cmd && (!best || scarp_flash_seq(cmd) < scarp_flash_seq(best));
}

/* The oldest waiter of each kind at a die, or NULL where none waits. */
typedef struct {
    const ScarpFlashCmd *read;
    /* the oldest with a page, of the host's units or of the mapping's */
    const ScarpFlashCmd *program;
    /* a program that has no page now, or that waits for a pad without a page */
    const ScarpFlashCmd *pageless;
    /* gc's oldest command, if a copy from another die waits */
    const ScarpFlashCmd *copy;
    const ScarpFlashCmd *pad;  /* a program whose cells only a pad can fill */
    const ScarpFlashCmd *suspended;
} ScarpWaiting;

/* True with ftl.paired_pages=pad. */
static inline bool scarp_flow_pairs(const ScarpDrive *drive)
{
    return G_UNLIKELY(drive->desc.paired_pages == PAIRED_PAD);
}

/* Returns the oldest first of the die's queues of the kind, or NULL. */
const ScarpFlashCmd *scarp_flow_oldest(const ScarpDrive *drive, uint32_t die,
                                       ScarpQueueKind kind);
/* Sets the members of *w that are neither reads nor suspended. */
void scarp_flow_see_programs(const ScarpDrive *drive, uint32_t die,
                             ScarpWaiting *w);

static inline void scarp_flow_who_waits(const ScarpDrive *drive, uint32_t die,
                                        ScarpWaiting *w)
{
    *w = (ScarpWaiting) { .suspended = scarp_nand_suspended(drive, die) };
    if (scarp_nand_queued(drive, die, QUEUE_READS)) {
        w->read = scarp_flow_oldest(drive, die, QUEUE_READS);
    }
    if (scarp_nand_programs_wait(drive, die) || scarp_flow_pairs(drive)) {
        scarp_flow_see_programs(drive, die, w);
    }
}

/*
 * False only if no command waits at the die, apart from the commands of the
 * die's own collections. With ftl.paired_pages=pad always true, as a pad may be
 * needed.
 */
static inline bool scarp_flow_anyone_waits(const ScarpDrive *drive,
                                           uint32_t die)
{
    return scarp_nand_queued(drive, die, QUEUE_READS) ||
           scarp_nand_programs_wait(drive, die) || scarp_flow_pairs(drive);
}

/*
 * Returns the waiter that a read passes when it starts: the oldest of the
 * suspended command, the copy, the pad and, with controller.reads_first, the
 * program with a page. If none of these waits, it is the oldest program without
 * a page, or NULL. So reads count as passing a program without a page only
 * while none of these waits. Otherwise the pacing's turn() (policy.h) must see
 * to it that the program gets a page.
 */
const ScarpFlashCmd *scarp_flow_behind_reads(const ScarpDrive *drive,
                                             const ScarpWaiting *w);
/*
 * Returns the waiter that reads have passed as often as the limit allows, and
 * which is therefore owed the next turn; or NULL.
 */
const ScarpFlashCmd *scarp_flow_who_is_owed(const ScarpDrive *drive,
                                            uint32_t die,
                                            const ScarpWaiting *w);
/*
 * True when a program without a page has been passed as often as the limit
 * allows, by reads or by programs of the die's other planes. `owed` is the
 * result of scarp_flow_who_is_owed().
 */
bool scarp_flow_owes_page(const ScarpDrive *drive, uint32_t die,
                          const ScarpWaiting *w, const ScarpFlashCmd *owed);
/* True when no program or pad that can run is older than the oldest read. */
bool scarp_flow_read_is_oldest(const ScarpWaiting *w);
/*
 * True when a read goes next: before what it has suspended, and before all
 * programs and pads that can run.
 */
static inline bool scarp_flow_read_is_next(const ScarpDrive *drive,
                                           const ScarpWaiting *w)
{
    return w->read && (drive->desc.reads_first || w->suspended ||
                       scarp_flow_read_is_oldest(w));
}
/*
 * True when a pad goes next, for one of three reasons: no program has a page,
 * programs have passed the pad as often as the limit allows, or reads have.
 * `owed` is the result of scarp_flow_who_is_owed().
 */
bool scarp_flow_pad_is_next(const ScarpDrive *drive, uint32_t die,
                            const ScarpWaiting *w, const ScarpFlashCmd *owed);

typedef enum { PICK_ANY, PICK_READ, PICK_PROGRAM } ScarpPick;
/*
 * Takes the next command that matches `pick` out of its queue. If the command
 * is a program, it is given its page. NULL: no command can run.
 */
ScarpFlashCmd *scarp_flow_pick(ScarpDrive *drive, uint32_t die, ScarpPick pick);
/*
 * Takes the oldest read whose units are still where the read expects them, while
 * a read goes next, as one must when this is called. A read whose units have
 * moved is queued elsewhere instead, and *w is updated. NULL: no read goes next.
 */
ScarpFlashCmd *scarp_flow_take_read(ScarpDrive *drive, uint32_t die,
                                    ScarpWaiting *w);
/* Takes w->program out of its queue and gives it a page. */
ScarpFlashCmd *scarp_flow_take_program(ScarpDrive *drive, uint32_t die,
                                       const ScarpWaiting *w);
/*
 * Takes the oldest of the collections' commands that can run. NULL: there is
 * none, or pick does not allow it.
 */
ScarpFlashCmd *scarp_flow_take_gc(ScarpDrive *drive, uint32_t die,
                                  ScarpPick pick);
/*
 * Takes a command of recovery. Until the drive is ready, nobody else has flash
 * commands.
 */
ScarpFlashCmd *scarp_flow_take_recovery(ScarpDrive *drive, uint32_t die,
                                        ScarpPick pick);
/*
 * Lets commands of the die's other planes join lead, where the scheme allows
 * it.
 */
void scarp_flow_take_mates(ScarpDrive *drive, uint32_t die,
                           ScarpFlashCmd *lead);
/* Gives a page to a program of the host that was taken from its queue. */
void scarp_flow_place_program(ScarpDrive *drive, ScarpFlashCmd *cmd);

/* ---- pairs.c: ftl.paired_pages=pad -------------------------------------- */

/*
 * Called when the page of a host's program is programmed. Returns the programs
 * that now count as ended, because all pages of their cells are programmed,
 * linked by scarp_flash_next(); or NULL.
 */
ScarpFlashCmd *scarp_flow_pair_ended(ScarpDrive *drive, ScarpFlashCmd *program);
/*
 * Returns a new pad (a program without data) for the oldest page that
 * scarp_flow_pressed() finds at the die; NULL: there is none.
 */
ScarpFlashCmd *scarp_flow_pad(ScarpDrive *drive, uint32_t die);
/*
 * Returns the die's oldest program whose cells only a pad can fill, and for
 * whose units a command or flush waits; or NULL. With `page`, programs count
 * only if their plane has a page for the pad.
 */
const ScarpFlashCmd *scarp_flow_pressed(const ScarpDrive *drive, uint32_t die,
                                        bool page);
/*
 * Called when a command or flush begins to wait until units are on flash: kicks
 * the dies with programs that wait for the rest of their cells.
 */
void scarp_flow_press(ScarpDrive *drive);

/* ---- redirect.c --------------------------------------------------------- */

/*
 * Finds programs of the die that wait in a plane which can never give them a
 * page, and sends them to other planes. True: a program was sent, so the queues
 * have changed.
 */
bool scarp_flow_redirect(ScarpDrive *drive, uint32_t die);

#ifdef SCARP_CHECKED
/* Marks the rare states that a power cut meets (cut_marks.c). */
void scarp_flow_mark_cut(const ScarpDrive *drive);
#endif

/*
 * Ends all programs that wait for the rest of their cells (ended.c). Called
 * only when the buffer is empty: these programs then carry no unit that a later
 * program of their cells could destroy.
 */
void scarp_flow_commit_unpaired(ScarpDrive *drive);

/*
 * Returns the PPN of lpn; SCARP_NONE: lpn is unmapped, or has been deallocated.
 */
static inline uint32_t scarp_flow_lookup(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    return ppn != SCARP_NONE && scarp_buffer_is_deallocated(drive, lpn, ppn)
               ? SCARP_NONE : ppn;
}

/* Returns the stream of the units that a program carries; 0 for a pad. */
static inline uint16_t scarp_flash_stream(const ScarpFlashCmd *cmd)
{
    const ScarpUnit *units = scarp_flash_units(cmd);

    return units ? scarp_unit_stream(units) : 0;
}

/* ---- observe.c ---------------------------------------------------------- */

/* Reports to the observer the phases that nand has remembered. */
void scarp_flow_tell(ScarpDrive *drive);

static inline void scarp_flow_tell_phases(ScarpDrive *drive)
{
    if (scarp_nand_seen(drive)) {
        scarp_flow_tell(drive);
    }
}

#endif /* SCARP_FLOW_INTERNAL_H */
