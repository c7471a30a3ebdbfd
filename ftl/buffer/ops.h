/*
 * Functions of buffer for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_OPS_H
#define SCARP_BUFFER_OPS_H

#include "parity/ops.h"

bool scarp_buffer_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_buffer_clear(ScarpDrive *drive);

/* True when all that the host wrote is on flash. */
static inline bool scarp_buffer_is_empty(const ScarpDrive *drive)
{
    return !drive->buffer.oldest;
}

/* ---- Commands: buffer/host_*.c ------------------------------------------ */

/*
 * Takes a write whose data has arrived, a write of zeroes, or a deallocation;
 * units_left counts the units that it waits for.  True: all of it was taken.
 * False: it waits for room, and comes back by scarp_buffer_next_admitted().
 */
bool scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd);
bool scarp_unrecorded_has(const ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/*
 * True when lpn, which lies at ppn, was deallocated since it was written, and
 * the record of that is not on flash yet: lpn keeps its place until then.
 */
static inline bool scarp_buffer_is_deallocated(const ScarpDrive *drive,
                                               uint32_t lpn, uint32_t ppn)
{
    return drive->buffer.unrecorded && scarp_unrecorded_has(drive, lpn, ppn);
}
/* Returns a write that had waited for room and was taken now, or NULL. */
ScarpCmd *scarp_buffer_next_admitted(ScarpDrive *drive);
/*
 * Programs all earlier writes, in filled pages or not; the flush waits for
 * them.
 */
void scarp_buffer_flush(ScarpDrive *drive, ScarpCmd *cmd);
/* Returns a flush whose writes are all on flash, or NULL. */
ScarpCmd *scarp_buffer_next_flushed(ScarpDrive *drive);
/* Starts to program everything that is buffered. */
void scarp_buffer_drain(ScarpDrive *drive);
/* True when somebody waits for whatever is buffered to be on flash. */
bool scarp_buffer_presses(const ScarpDrive *drive);
/* True when somebody waits for this unit. */
bool scarp_buffer_is_late(const ScarpDrive *drive, const ScarpUnit *unit);
/* Sends a program of buffer's units, which is in no queue, to another plane. */
void scarp_buffer_redirect(ScarpDrive *drive, ScarpFlashCmd *program,
                           uint32_t plane);

/* ---- Ends of buffer's flash commands: buffer/ended.c -------------------- */

/*
 * A program has ended. The caller then calls scarp_buffer_commit_next() until
 * it returns false: each call commits a unit, and *cmd is the command that ends
 * with it, or NULL. Then the caller frees the program.
 */
void scarp_buffer_program_ended(ScarpDrive *drive);
bool scarp_buffer_commit_next(ScarpDrive *drive, ScarpFlashCmd *program,
                              ScarpCmd **cmd);
/*
 * Completes a unit by base (NULL: zeroes). Returns the command that ends with
 * that, or NULL; *dependent is a younger write of the same unit that waited for
 * this one, or NULL: it must be filled with this unit's data before this unit
 * is settled.
 */
ScarpCmd *scarp_buffer_fill(ScarpDrive *drive, ScarpUnit *unit,
                            const void *base, ScarpUnit **dependent);
/* Sends a filled unit on its way to a page. */
void scarp_buffer_settle(ScarpDrive *drive, ScarpUnit *unit);

/*
 * The unit's mapping entry, which it waited for, is known. True: only a part of
 * the unit was written, and the rest of its bytes must be read, or is zeroes.
 */
bool scarp_buffer_mapped(ScarpDrive *drive, ScarpUnit *unit);
void scarp_buffer_read_rest(ScarpDrive *drive, ScarpUnit *unit);
/*
 * Lays the host's bytes of a partial unit over base, which has the bytes on
 * flash, for a reader that comes before the rest is read.
 */
void scarp_buffer_lay_over(const ScarpDrive *drive, const ScarpUnit *unit,
                           char *base);
/*
 * Emits the page of lpn's unit, so that whoever waits for lpn makes progress.
 */
void scarp_buffer_close(ScarpDrive *drive, uint32_t lpn);

/*
 * Numbers of buffered units, of units deallocated without a record, and of
 * flushes that wait.
 */
uint32_t scarp_buffer_units(const ScarpDrive *drive);
uint32_t scarp_buffer_unrecorded_units(const ScarpDrive *drive);
uint32_t scarp_buffer_flushes(const ScarpDrive *drive);

/* ---- A power cut: buffer/saved.c ---------------------------------------- */

/*
 * A program of buffer's that was under way when power failed has ended in the
 * cells.
 */
void scarp_buffer_burnt(const ScarpUnit *unit);
/* Saves in media all units that are buffered and not burnt. */
void scarp_buffer_save(ScarpDrive *drive);
/* Buffers again what media has saved. */
void scarp_buffer_restore(ScarpDrive *drive);

/* Returns ScarpCmd.seq of the command that wrote a unit, for observers. */
uint64_t scarp_buffer_cmd_seq(const ScarpUnit *unit);

#endif /* SCARP_BUFFER_OPS_H */
