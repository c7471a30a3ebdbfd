/*
 * flow: the directory above all directories of ftl/ that own a drive's state.
 * flow owns nothing. flow takes the events one by one, asks one directory for
 * the next step, and tells the other directories what has ended. No directory
 * calls a higher one: flow passes results of a lower directory on to a higher
 * one.
 *
 *     run.c         the events of a drive, in order
 *     command.c     what begins when a command enters the device
 *     read.c        host reads: split, retried when a unit has moved, ended
 *     ended.c       flash commands that have ended, by their owners
 *     mapped.c      reads and units that waited for an entry of the mapping
 *     die.c         a die's events, and what the die does next
 *     waiting.c     who waits at a die, and who is owed the next turn
 *     pick.c        which of the waiting flash commands runs next
 *     take.c        how a flash command leaves its queue
 *     redirect.c    programs whose plane will never have a page for them
 *     multiplane*.c which commands run together as a multi-plane command
 *     observe.c     phases of flash commands, for observers
 *     pairs.c       programs that wait for the other pages of their cells
 *     cut.c         what is in the cells when power fails
 *     cut_marks.c   rare states that a power cut meets, in checked builds
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
 * Starts a read that was taken from its queue. Returns false if one of the
 * read's units has moved since: the read has then been queued elsewhere, or has
 * ended.
 */
bool scarp_flow_read_start(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_flow_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Ends the reads that parity has served, and retries the reads that it could
 * not serve.
 */
void scarp_flow_take_served(ScarpDrive *drive);

/*
 * Called when the mapping entry of a read of one unit, `part`, is known. Queues
 * `part`, or joins it to an earlier read.
 *
 * *open is the read of the command's earlier units, which is not queued yet, or
 * NULL. If the unit of `part` follows those units in the same page, *open is
 * extended by it. Otherwise *open is queued, and `part` becomes *open.
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
 * Fills `unit`, of which the host wrote a part. The other bytes come from
 * `base`, or are zeroes if `base` is NULL.
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
    /* the oldest program with a page: the host's, or of translation units */
    const ScarpFlashCmd *program;
    /* the oldest program that lacks a free page, for itself or for its pad */
    const ScarpFlashCmd *pageless;
    /*
     * GC's oldest command that waits at the die, whether it is a guest (see
     * nand/ops.h) or not. NULL if no guest waits at the die.
     */
    const ScarpFlashCmd *copy;
    const ScarpFlashCmd *pad;  /* the oldest program that needs a pad now */
    const ScarpFlashCmd *suspended;
} ScarpWaiting;

/*
 * True if a program of the host ends only when all pages of its cells are
 * programmed (ftl.paired_pages=pad).
 */
static inline bool scarp_flow_pairs(const ScarpDrive *drive)
{
    return G_UNLIKELY(drive->desc.paired_pages == PAIRED_PAD);
}

/*
 * Returns the oldest command at the head of one of the die's queues of this
 * kind, or NULL. The die has such a queue in each plane.
 */
const ScarpFlashCmd *scarp_flow_oldest(const ScarpDrive *drive, uint32_t die,
                                       ScarpQueueKind kind);
/* Sets the members of *w other than `read` and `suspended`. */
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
 * True when a command that is not part of the die's own collections waits at
 * the die. With ftl.paired_pages=pad the function always returns true, because
 * a pad may be needed.
 */
static inline bool scarp_flow_anyone_waits(const ScarpDrive *drive,
                                           uint32_t die)
{
    return scarp_nand_queued(drive, die, QUEUE_READS) ||
           scarp_nand_programs_wait(drive, die) || scarp_flow_pairs(drive);
}

/*
 * Returns the waiter that is passed over if a read starts now. That is the
 * oldest of w->suspended, w->copy, w->pad and, with controller.reads_first,
 * w->program. If all of these are NULL, it is w->pageless. Otherwise
 * w->pageless does not count as passed over, because the pacing's turn()
 * (policy.h) must see to it that it gets a page. NULL: reads pass nobody.
 */
const ScarpFlashCmd *scarp_flow_behind_reads(const ScarpDrive *drive,
                                             const ScarpWaiting *w);
/*
 * Returns the waiter that is owed the next turn, because reads have gone before
 * it as often as the limit allows; or NULL.
 */
const ScarpFlashCmd *scarp_flow_who_is_owed(const ScarpDrive *drive,
                                            uint32_t die,
                                            const ScarpWaiting *w);
/*
 * True when reads, or programs of the die's other planes, have gone before a
 * waiting program without a page as often as the limit allows. `owed` is the
 * result of scarp_flow_who_is_owed().
 */
bool scarp_flow_owes_page(const ScarpDrive *drive, uint32_t die,
                          const ScarpWaiting *w, const ScarpFlashCmd *owed);
/* True when no program or pad that can run is older than the oldest read. */
bool scarp_flow_read_is_oldest(const ScarpWaiting *w);
/*
 * True when a read waits, and goes before the host's other commands: always
 * with controller.reads_first or while a command is suspended, otherwise if no
 * program or pad that can run is older than the read.
 */
static inline bool scarp_flow_read_is_next(const ScarpDrive *drive,
                                           const ScarpWaiting *w)
{
    return w->read && (drive->desc.reads_first || w->suspended ||
                       scarp_flow_read_is_oldest(w));
}
/*
 * True when the pad of w->pad is programmed before w->program: because no
 * program has a page, or because programs or reads have gone before w->pad as
 * often as the limit allows. `owed` is the result of scarp_flow_who_is_owed().
 */
bool scarp_flow_pad_is_next(const ScarpDrive *drive, uint32_t die,
                            const ScarpWaiting *w, const ScarpFlashCmd *owed);

typedef enum { PICK_ANY, PICK_READ, PICK_PROGRAM } ScarpPick;
/*
 * Takes the next command that matches `pick` out of its queue. If the command
 * is a program, it gets its page. NULL: no command can run.
 */
ScarpFlashCmd *scarp_flow_pick(ScarpDrive *drive, uint32_t die, ScarpPick pick);
/*
 * Takes the oldest read whose units are still where the read expects them. An
 * older read whose units have moved is queued elsewhere or ended, and *w is
 * updated. The caller must have found scarp_flow_read_is_next() true. NULL: no
 * such read is left, or another command goes before the next read.
 */
ScarpFlashCmd *scarp_flow_take_read(ScarpDrive *drive, uint32_t die,
                                    ScarpWaiting *w);
/* Takes w->program out of its queue and gives it a page. */
ScarpFlashCmd *scarp_flow_take_program(ScarpDrive *drive, uint32_t die,
                                       const ScarpWaiting *w);
/*
 * Takes the oldest command of a collection that can run. NULL: none can run, or
 * none matches `pick`.
 */
ScarpFlashCmd *scarp_flow_take_gc(ScarpDrive *drive, uint32_t die,
                                  ScarpPick pick);
/*
 * Takes a command of recovery. Until recovery has completed, no other flash
 * commands exist.
 */
ScarpFlashCmd *scarp_flow_take_recovery(ScarpDrive *drive, uint32_t die,
                                        ScarpPick pick);
/*
 * Lets commands of the die's other planes join `lead` as a multi-plane command,
 * where the scheme allows it.
 */
void scarp_flow_take_mates(ScarpDrive *drive, uint32_t die,
                           ScarpFlashCmd *lead);
/*
 * Gives a page to a program, of host data or of translation units, that was
 * taken from its queue.
 */
void scarp_flow_place_program(ScarpDrive *drive, ScarpFlashCmd *cmd);

/* ---- pairs.c: ftl.paired_pages=pad -------------------------------------- */

/*
 * Called when the page of a host's program is programmed. Returns the programs
 * that now count as ended, because all pages of their cells are programmed,
 * linked by scarp_flash_next(); or NULL.
 */
ScarpFlashCmd *scarp_flow_pair_ended(ScarpDrive *drive, ScarpFlashCmd *program);
/*
 * Returns a new pad (a program without data) for the oldest program that
 * scarp_flow_pressed() finds at the die. NULL: it finds none.
 */
ScarpFlashCmd *scarp_flow_pad(ScarpDrive *drive, uint32_t die);
/*
 * Returns the die's oldest program that needs a pad now: some pages of its
 * cells are still free, and a command or flush waits for its units. NULL: no
 * program needs a pad. With `page`, programs count only if their plane has a
 * free page for the pad.
 */
const ScarpFlashCmd *scarp_flow_pressed(const ScarpDrive *drive, uint32_t die,
                                        bool page);
/*
 * Called when a command or flush begins to wait until units are on flash: kicks
 * the dies with programs that wait for the other pages of their cells.
 */
void scarp_flow_press(ScarpDrive *drive);

/* ---- redirect.c --------------------------------------------------------- */

/*
 * Finds programs of the die that wait in a plane which can never give them a
 * page, and sends them to other planes. Returns true if a program was sent, so
 * the queues have changed.
 */
bool scarp_flow_redirect(ScarpDrive *drive, uint32_t die);

#ifdef SCARP_CHECKED
/* Marks the rare states that a power cut meets (cut_marks.c). */
void scarp_flow_mark_cut(const ScarpDrive *drive);
#endif

/*
 * Ends all programs that wait for the other pages of their cells (ended.c). The
 * caller must make sure that the write buffer is empty. The programs then carry
 * no unit that a later program of their cells could destroy.
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
