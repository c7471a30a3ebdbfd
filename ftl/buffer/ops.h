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
 * Takes a write whose data has arrived, a write of zeroes, or a deallocation,
 * and adds the units that it waits for to cmd->units_left. True: all of it was
 * taken. False: it waits for room, and scarp_buffer_next_admitted() will return
 * it.
 */
bool scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd);
bool scarp_unrecorded_has(const ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/*
 * True when lpn, which lies at ppn, was deallocated since it was written, and
 * no record of that is on flash yet. Until then lpn keeps its place.
 */
static inline bool scarp_buffer_is_deallocated(const ScarpDrive *drive,
                                               uint32_t lpn, uint32_t ppn)
{
    return drive->buffer.unrecorded && scarp_unrecorded_has(drive, lpn, ppn);
}
/*
 * Returns a command that waited for room, and of which all has been taken now,
 * or NULL.
 */
ScarpCmd *scarp_buffer_next_admitted(ScarpDrive *drive);
/*
 * Takes a flush, and emits all earlier writes, even if their pages are not
 * full.
 */
void scarp_buffer_flush(ScarpDrive *drive, ScarpCmd *cmd);
/*
 * Returns a flush that has ended, as all earlier writes are on flash, or NULL.
 */
ScarpCmd *scarp_buffer_next_flushed(ScarpDrive *drive);
/* Sets the room for buffered units, which may only grow. */
void scarp_buffer_enlarge(ScarpDrive *drive, uint64_t bytes);
/* Emits everything that is buffered. */
void scarp_buffer_drain(ScarpDrive *drive);
/*
 * True when somebody waits for all that is buffered to come to flash: a flush,
 * a write without room, or a drain.
 */
bool scarp_buffer_presses(const ScarpDrive *drive);
/* True when a command or a flush waits until this unit is on flash. */
bool scarp_buffer_is_late(const ScarpDrive *drive, const ScarpUnit *unit);
/* Sends a program of buffer's units to another plane. It is in no queue. */
void scarp_buffer_redirect(ScarpDrive *drive, ScarpFlashCmd *program,
                           uint32_t plane);

/* ---- Ends of buffer's flash commands: buffer/ended.c -------------------- */

/*
 * Called when a program has ended. The caller then calls
 * scarp_buffer_commit_next() until that returns false: each call commits a
 * unit, and sets *cmd to the command that waited for the unit, or to NULL.
 * Finally the caller frees the program.
 */
void scarp_buffer_program_ended(ScarpDrive *drive);
bool scarp_buffer_commit_next(ScarpDrive *drive, ScarpFlashCmd *program,
                              ScarpCmd **cmd);
/*
 * Fills the unit's missing bytes from base (NULL: zeroes). Returns the command
 * that ends with that, or NULL. Sets *dependent to a younger write of the same
 * unit that waited for this one, or to NULL. The caller must fill it with this
 * unit's data before this unit is settled.
 */
ScarpCmd *scarp_buffer_fill(ScarpDrive *drive, ScarpUnit *unit,
                            const void *base, ScarpUnit **dependent);
/* Sends a unit that has been filled on its way to a page. */
void scarp_buffer_settle(ScarpDrive *drive, ScarpUnit *unit);

/*
 * Called when the mapping entry that the unit waited for is known. True: only a
 * part of the unit was written, so the caller reads the rest, or fills it with
 * zeroes.
 */
bool scarp_buffer_mapped(ScarpDrive *drive, ScarpUnit *unit);
void scarp_buffer_read_rest(ScarpDrive *drive, ScarpUnit *unit);
/*
 * Copies the host's bytes of a partial unit over base, which has the bytes on
 * flash. So a reader need not wait until the rest of the unit has been read.
 */
void scarp_buffer_lay_over(const ScarpDrive *drive, const ScarpUnit *unit,
                           char *base);
/*
 * Emits the packer that lpn's unit is in, if a command or a flush waits for the
 * unit.
 */
void scarp_buffer_close(ScarpDrive *drive, uint32_t lpn);

/*
 * Return the numbers of buffered units, of units that were deallocated and have
 * no record of that on flash, and of flushes that wait.
 */
uint32_t scarp_buffer_units(const ScarpDrive *drive);
uint32_t scarp_buffer_unrecorded_units(const ScarpDrive *drive);
uint32_t scarp_buffer_flushes(const ScarpDrive *drive);

/* ---- A power cut: buffer/saved.c ---------------------------------------- */

/*
 * Called when power fails, and a program that was under way has put the unit
 * into the cells all the same.
 */
void scarp_buffer_burnt(const ScarpUnit *unit);
/* Saves in media all buffered units that were not put into the cells. */
void scarp_buffer_save(ScarpDrive *drive);
/* Puts the units that media has saved back into the buffer. */
void scarp_buffer_restore(ScarpDrive *drive);

/* Returns ScarpCmd.seq of the command that wrote a unit, for observers. */
uint64_t scarp_buffer_cmd_seq(const ScarpUnit *unit);

#endif /* SCARP_BUFFER_OPS_H */
