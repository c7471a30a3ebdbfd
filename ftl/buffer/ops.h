/*
 * The functions of buffer that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_OPS_H
#define SCARP_BUFFER_OPS_H

#include "parity/ops.h"

bool scarp_buffer_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_buffer_clear(ScarpDrive *drive);

/*
 * True when the buffer has no unit, so that all data of the host is on flash.
 */
static inline bool scarp_buffer_is_empty(const ScarpDrive *drive)
{
    return !drive->buffer.oldest;
}

/* ---- Commands: buffer/host_*.c ------------------------------------------ */

/*
 * Takes a deallocation, a write of zeroes, or a write whose data has arrived.
 * cmd->units_left becomes the number of units that the command waits for.
 * Returns false if a part of the command found no room. The command then waits
 * in the buffer, and scarp_buffer_next_admitted() returns it later.
 */
bool scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd);
bool scarp_unrecorded_has(const ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/*
 * True when the host deallocated lpn after the data at ppn was written, and no
 * record of that deallocation is on flash yet. The forward map maps lpn to ppn
 * until the record is on flash.
 */
static inline bool scarp_buffer_is_deallocated(const ScarpDrive *drive,
                                               uint32_t lpn, uint32_t ppn)
{
    return drive->buffer.unrecorded && scarp_unrecorded_has(drive, lpn, ppn);
}
/*
 * Returns a command that waited for room in the buffer and has now been taken
 * completely, or NULL.
 */
ScarpCmd *scarp_buffer_next_admitted(ScarpDrive *drive);
/*
 * Takes a flush command. Queues programs of all units written before it, even
 * if their pages are not full.
 */
void scarp_buffer_flush(ScarpDrive *drive, ScarpCmd *cmd);
/*
 * Returns a flush command that has completed because all earlier writes are on
 * flash; or NULL.
 */
ScarpCmd *scarp_buffer_next_flushed(ScarpDrive *drive);
/* Sets the room for buffered units, which may only grow. */
void scarp_buffer_enlarge(ScarpDrive *drive, uint64_t bytes);
/*
 * Programs what waits for company in a page of the stream, on a drive with
 * reclaim units of several planes. scarp_buffer_without_place() returns how
 * many units of the stream are in the buffer and have no plane yet: those, and
 * those of which the drive does not have all bytes.
 */
void scarp_buffer_emit_stream(ScarpDrive *drive, uint16_t stream);
uint64_t scarp_buffer_without_place(const ScarpDrive *drive, uint16_t stream);
/* Queues programs of all buffered units, even if their pages are not full. */
void scarp_buffer_drain(ScarpDrive *drive);
/*
 * True when a flush, a write without room, or a drain waits until the buffered
 * units are on flash.
 */
bool scarp_buffer_presses(const ScarpDrive *drive);
/* True when a command or a flush waits until the unit is on flash. */
bool scarp_buffer_is_late(const ScarpDrive *drive, const ScarpUnit *unit);
/*
 * Moves a program of host data to another plane, and queues it there. The
 * caller must first take the program out of its old queue.
 */
void scarp_buffer_redirect(ScarpDrive *drive, ScarpFlashCmd *program,
                           uint32_t plane);

/* ---- Ends of buffer's flash commands: buffer/ended.c, buffer/fill.c ----- */

/*
 * scarp_buffer_program_ended() is called when a program of host data has ended.
 * The caller must then call scarp_buffer_commit_next() until that function
 * returns false, and free the program. Each call of scarp_buffer_commit_next()
 * maps one unit of the program to its page, unless the unit is stale, and sets
 * *cmd to the command that waited for this unit, or to NULL.
 */
void scarp_buffer_program_ended(ScarpDrive *drive,
                                const ScarpFlashCmd *program);
bool scarp_buffer_commit_next(ScarpDrive *drive, ScarpFlashCmd *program,
                              ScarpCmd **cmd);
/*
 * Called when the missing bytes of a partly written unit are known. The
 * function copies them from `base`, or fills in zeroes if `base` is NULL.
 * Returns the command that waited for these bytes, or NULL. The caller must
 * count that this command waits for one unit less.
 *
 * Sets *dependent to a newer partial write of the same LPN that has waited for
 * this unit's data, or to NULL. The caller must fill that newer unit from this
 * one before it calls scarp_buffer_settle() for this one.
 */
ScarpCmd *scarp_buffer_fill(ScarpDrive *drive, ScarpUnit *unit,
                            const void *base, ScarpUnit **dependent);
/*
 * Called after scarp_buffer_fill(): adds the unit to a page under construction.
 * A stale unit that nobody waits for is dropped.
 */
void scarp_buffer_settle(ScarpDrive *drive, ScarpUnit *unit);

/*
 * Called when the mapping entry that the unit waited for is in RAM. Returns
 * true if the unit's other bytes are still missing, as the host wrote only a
 * part of the unit. The caller must then call scarp_buffer_read_rest() if the
 * unit has data on flash, and must otherwise fill the other bytes with zeroes.
 */
bool scarp_buffer_mapped(ScarpDrive *drive, ScarpUnit *unit);
void scarp_buffer_read_rest(ScarpDrive *drive, ScarpUnit *unit);
/*
 * Puts together the newest data of a unit of which the host wrote a part, while
 * the drive still reads the other bytes from flash. `base` must have the unit's
 * bytes from flash. The function copies over them what the host wrote in this
 * unit, and in the older partial writes that this unit waits for. The unit
 * itself is unchanged.
 */
void scarp_buffer_lay_over(const ScarpDrive *drive, const ScarpUnit *unit,
                           char *base);
/*
 * If a command or a flush waits for lpn's unit, and the unit is in a page under
 * construction, queues a program of that page.
 */
void scarp_buffer_close(ScarpDrive *drive, uint32_t lpn);

/*
 * Return how many units are buffered, how many deallocated units have no record
 * on flash yet, and how many flushes wait.
 */
uint32_t scarp_buffer_units(const ScarpDrive *drive);
uint32_t scarp_buffer_unrecorded_units(const ScarpDrive *drive);
uint32_t scarp_buffer_flushes(const ScarpDrive *drive);

/* ---- A power cut: buffer/saved.c ---------------------------------------- */

/*
 * Called when power fails during a program that nevertheless leaves the unit on
 * flash. The unit then need not be saved.
 */
void scarp_buffer_burnt(const ScarpUnit *unit);
/*
 * Called when power fails and capacitors give energy (controller.plp_bytes):
 * saves in media the buffered units that are not on flash.
 */
void scarp_buffer_save(ScarpDrive *drive);
/*
 * Called when power is back: puts the units that scarp_buffer_save() saved into
 * the buffer again.
 */
void scarp_buffer_restore(ScarpDrive *drive);

/*
 * Returns ScarpCmd.seq of the command that wrote the unit. Only logs and other
 * observers use it.
 */
uint64_t scarp_buffer_cmd_seq(const ScarpUnit *unit);

#endif /* SCARP_BUFFER_OPS_H */
