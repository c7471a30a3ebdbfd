/*
 * flow: above all of the rooms, it owns nothing.  It takes the events one by
 * one, asks a room for the next step, and tells the others what has ended.
 * No room calls up: what one has for another goes through here.
 *
 *     run.c         the events of a drive, in order
 *     command.c     a command's way: what is done when it enters the device
 *     read.c        host reads: split, retried when a unit has moved, ended
 *     ended.c       whose a flash command is that has ended
 *     mapped.c      what has waited for its entry of the mapping
 *     die.c         a die's events, and what it does next
 *     waiting.c     who waits at a die, and who is owed the next turn
 *     pick.c        which of the flash commands that wait runs next
 *     take.c        how it leaves its queue
 *     redirect.c    what waits for a plane that can take nothing any more
 *     multiplane*.c which others run with it, in a multi-plane command
 *     observe.c     what observers of flash commands are told
 *     pairs.c       programs that wait for the rest of their cells
 *     cut.c         what is in the cells when power fails
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLOW_INTERNAL_H
#define SCARP_FLOW_INTERNAL_H

#include "flow/ops.h"

/* ---- command.c ---------------------------------------------------------- */

void scarp_flow_stage_event(ScarpDrive *drive, uint32_t stage);
/*
 * Counts one part of the command as ended; the last one completes the command.
 */
void scarp_flow_put(ScarpDrive *drive, ScarpCmd *cmd);
/* Completes flushes, and admits writes, after units have left the buffer. */
void scarp_flow_flushed(ScarpDrive *drive);
void scarp_flow_admit(ScarpDrive *drive);

/* ---- read.c ------------------------------------------------------------- */

/* Splits the command into flash reads. Buffered units are served at once. */
void scarp_flow_read(ScarpDrive *drive, ScarpCmd *cmd);
/*
 * Starts a read that was taken from its queue. False: one of its units has
 * moved since, so the read was queued elsewhere, or has ended.
 */
bool scarp_flow_read_start(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_flow_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Ends reads that parity has served, and retries those that it could not serve.
 */
void scarp_flow_take_served(ScarpDrive *drive);

/*
 * Goes on with part, a read of one unit, whose entry is known now. *open is a
 * read that the unit may extend.
 */
void scarp_flow_read_mapped(ScarpDrive *drive, ScarpFlashCmd *part,
                            ScarpFlashCmd **open);

/* ---- mapped.c ----------------------------------------------------------- */

/* Fetches missing entries, and goes on with what waited for them. */
void scarp_flow_mapped(ScarpDrive *drive);

/* ---- ended.c ------------------------------------------------------------ */

void scarp_flow_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Completes a partial write's unit with the bytes around: base, or NULL for
 * zeroes.
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

/* The oldest waiter of each kind at a die, or NULL. */
typedef struct {
    const ScarpFlashCmd *read;
    const ScarpFlashCmd *program; /* of the host or the mapping; has a page */
    const ScarpFlashCmd *pageless; /* a program whose plane has no page now */
    const ScarpFlashCmd *copy; /* of another die's collection */
    const ScarpFlashCmd *pad;  /* the oldest page that only a pad completes */
    const ScarpFlashCmd *suspended;
} ScarpWaiting;

ScarpWaiting scarp_flow_who_waits(const ScarpDrive *drive, uint32_t die);
/*
 * Returns the oldest command that reads go before and that can run; if none
 * can, the oldest that has no page; or NULL.
 */
const ScarpFlashCmd *scarp_flow_behind_reads(const ScarpDrive *drive,
                                             const ScarpWaiting *w);
/* Returns the waiter whom reads have passed over to the limit, or NULL. */
const ScarpFlashCmd *scarp_flow_who_is_owed(const ScarpDrive *drive,
                                            uint32_t die,
                                            const ScarpWaiting *w);
/* True when a read goes before all programs and pads that can run. */
bool scarp_flow_read_is_next(const ScarpDrive *drive, const ScarpWaiting *w);
/*
 * True when a pad goes next: no program can run, or programs have passed the
 * pad over to the limit, or reads have: then owed, the waiter whom reads have
 * passed over to the limit, is the page that needs it.
 */
bool scarp_flow_pad_is_next(const ScarpDrive *drive, uint32_t die,
                            const ScarpWaiting *w, const ScarpFlashCmd *owed);

typedef enum { PICK_ANY, PICK_READ, PICK_PROGRAM } ScarpPick;
/*
 * Takes the next command out of its queue; a program has got its page. NULL:
 * nothing can run.
 */
ScarpFlashCmd *scarp_flow_pick(ScarpDrive *drive, uint32_t die, ScarpPick pick);
/*
 * Takes the oldest read that has not moved, or returns NULL. *w is what waits
 * after reads that have moved were put elsewhere.
 */
ScarpFlashCmd *scarp_flow_take_read(ScarpDrive *drive, uint32_t die,
                                    ScarpWaiting *w);
/* Takes w->program, which gets its page. */
ScarpFlashCmd *scarp_flow_take_program(ScarpDrive *drive, uint32_t die,
                                       const ScarpWaiting *w);
/* Takes the oldest command of a collection that can go, if pick allows it. */
ScarpFlashCmd *scarp_flow_take_gc(ScarpDrive *drive, uint32_t die,
                                  ScarpPick pick);
/* Before the drive is ready recovery alone has flash commands. */
ScarpFlashCmd *scarp_flow_take_recovery(ScarpDrive *drive, uint32_t die,
                                        ScarpPick pick);
/* Lets commands of the die's other planes join lead. */
void scarp_flow_take_mates(ScarpDrive *drive, uint32_t die,
                           ScarpFlashCmd *lead);
/* Gives a page to a host's program that was taken from its queue. */
void scarp_flow_place_program(ScarpDrive *drive, ScarpFlashCmd *cmd);

/* ---- pairs.c: ftl.paired_pages=pad -------------------------------------- */

static inline bool scarp_flow_pairs(const ScarpDrive *drive)
{
    return G_UNLIKELY(drive->desc.paired_pages == PAIRED_PAD);
}

/*
 * Notes that a program of the host's units has ended in its cells. Returns the
 * programs that count from now on, linked by scarp_flash_next(), or NULL.
 */
ScarpFlashCmd *scarp_flow_pair_ended(ScarpDrive *drive, ScarpFlashCmd *program);
/*
 * Makes a program without data that somebody waits for at the die, or returns
 * NULL.
 */
ScarpFlashCmd *scarp_flow_pad(ScarpDrive *drive, uint32_t die);
/*
 * Returns the die's oldest page that somebody waits for and only a pad
 * completes, or NULL. page: only where the plane has a page for the pad.
 */
const ScarpFlashCmd *scarp_flow_pressed(const ScarpDrive *drive, uint32_t die,
                                        bool page);
/*
 * Kicks dies with pages that wait for the rest of their cells, as somebody
 * waits for these from now on.
 */
void scarp_flow_press(ScarpDrive *drive);

/* ---- redirect.c --------------------------------------------------------- */

/*
 * Sends programs of the die that can never have a page there to other planes.
 * True: a program behind one of them may have its page.
 */
bool scarp_flow_redirect(ScarpDrive *drive, uint32_t die);

#ifdef SCARP_CHECKED
/* cut_marks.c: marks the rare states that a power cut meets. */
void scarp_flow_mark_cut(const ScarpDrive *drive);
#endif

/*
 * ended.c: commits programs that await the rest of their cells. The buffer is
 * empty, so a cut can take nothing that they carry.
 */
void scarp_flow_commit_unpaired(ScarpDrive *drive);

/*
 * Returns the PPN of lpn, or SCARP_NONE if lpn is unmapped, or deallocated by
 * now.
 */
static inline uint32_t scarp_flow_lookup(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    return ppn != SCARP_NONE && scarp_buffer_is_deallocated(drive, lpn, ppn)
               ? SCARP_NONE : ppn;
}

/* Returns the stream of the units that a program carries. */
static inline uint16_t scarp_flash_stream(const ScarpFlashCmd *cmd)
{
    const ScarpUnit *units = scarp_flash_units(cmd);

    return units ? scarp_unit_stream(units) : 0;
}

/* ---- observe.c ---------------------------------------------------------- */

/* Tells observers of the phases that nand has remembered. */
void scarp_flow_tell(ScarpDrive *drive);

static inline void scarp_flow_tell_phases(ScarpDrive *drive)
{
    if (scarp_nand_seen(drive)) {
        scarp_flow_tell(drive);
    }
}

#endif /* SCARP_FLOW_INTERNAL_H */
