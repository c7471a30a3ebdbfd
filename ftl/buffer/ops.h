/*
 * What other rooms may ask of buffer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_OPS_H
#define SCARP_BUFFER_OPS_H

#include "redundancy/ops.h"

bool scarp_buffer_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_buffer_clear(ScarpDrive *drive);

/* Nothing that the host wrote is on its way. */
static inline bool scarp_buffer_is_empty(const ScarpDrive *drive)
{
    return !drive->buffer.oldest;
}

/* ---- Commands: buffer/host_*.c ------------------------------------------ */

/*
 * A write, or a write of zeroes, whose data has arrived; units_left counts the
 * units that it waits for.  True: all of it was taken.  False: it waits for
 * room, and comes back by scarp_buffer_next_admitted().
 */
bool scarp_buffer_write(ScarpDrive *drive, ScarpCmd *cmd);
/*
 * Whether deallocations are written to flash (ftl.recovery): then a command
 * that deallocates is given to scarp_buffer_write(), too.
 */
static inline bool scarp_buffer_records(const ScarpDrive *drive)
{
    return drive->desc.recovery == RECOVERY_ALL;
}
/*
 * Without such records, where power may fail, deallocations change nothing:
 * older contents than the last could come back.
 */
static inline bool scarp_buffer_keeps_deallocated(const ScarpDrive *drive)
{
    return scarp_media_keeps(drive) && !scarp_buffer_records(drive);
}
bool scarp_trims_have(const ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/*
 * lpn, which lies at ppn, was deallocated since it was written, and the record
 * of that is not on flash yet: it keeps its place until then.
 */
static inline bool scarp_buffer_is_trimmed(const ScarpDrive *drive,
                                           uint32_t lpn, uint32_t ppn)
{
    return drive->buffer.trims && scarp_trims_have(drive, lpn, ppn);
}
/* There may be room: a write that waited and was taken now, or NULL. */
ScarpCmd *scarp_buffer_next_admitted(ScarpDrive *drive);
/* A whole unit; it is unmapped, and what is buffered of it is dropped. */
void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn);
/* Programs what was written before it, filled pages or not. */
void scarp_buffer_flush(ScarpDrive *drive, ScarpCmd *cmd);
/* A flush whose writes are all on flash, or NULL. */
ScarpCmd *scarp_buffer_next_flushed(ScarpDrive *drive);
/* Everything gets on its way. */
void scarp_buffer_drain(ScarpDrive *drive);
/* Somebody waits for whatever is buffered to be on flash. */
bool scarp_buffer_presses(const ScarpDrive *drive);
/* Somebody waits for this unit. */
bool scarp_buffer_is_late(const ScarpDrive *drive, const ScarpUnit *unit);
/* A program of its units, which is in no queue, goes to another plane. */
void scarp_buffer_redirect(ScarpDrive *drive, ScarpFlashCmd *program,
                           uint32_t plane);

/* ---- Its flash commands: buffer/ended.c --------------------------------- */

/*
 * A program has ended.  scarp_buffer_commit_next() follows until it is false:
 * each call commits a unit, and *cmd is what ends with it, or NULL.  Then the
 * program is the caller's to free.
 */
void scarp_buffer_program_ended(ScarpDrive *drive);
bool scarp_buffer_commit_next(ScarpDrive *drive, ScarpFlashCmd *program,
                              ScarpCmd **cmd);
/*
 * The rest of a unit's bytes is known: base, NULL: zeroes.  Returns the
 * command that ends with that, or NULL; *dependent is a younger write of the
 * same unit that waited for this one, or NULL: it is to be filled with this
 * one's data before this one is settled.
 */
ScarpCmd *scarp_buffer_fill(ScarpDrive *drive, ScarpUnit *unit,
                            const void *base, ScarpUnit **dependent);
/* A unit that was filled goes on its way to a page. */
void scarp_buffer_settle(ScarpDrive *drive, ScarpUnit *unit);

/*
 * The unit's entry of the mapping, which it waited for, is known.  True: a part
 * of it was written, and the rest of its bytes is to be read, or is zeroes.
 */
bool scarp_buffer_mapped(ScarpDrive *drive, ScarpUnit *unit);
void scarp_buffer_read_rest(ScarpDrive *drive, ScarpUnit *unit);
/*
 * Of a partial unit: what the host wrote of it, over base, which is what flash
 * has; for who looks before the rest is there.
 */
void scarp_buffer_lay_over(const ScarpDrive *drive, const ScarpUnit *unit,
                           char *base);
/* Those that waited at once are packed: who waits for lpn waits no longer. */
void scarp_buffer_close(ScarpDrive *drive, uint32_t lpn);

/* What is buffered, deallocated without a record, and flushes that wait. */
uint32_t scarp_buffer_units(const ScarpDrive *drive);
uint32_t scarp_buffer_trimmed_units(const ScarpDrive *drive);
uint32_t scarp_buffer_flushes(const ScarpDrive *drive);

/* ---- A power cut: buffer/saved.c ---------------------------------------- */

/* A program of its that was under way has ended in the cells. */
void scarp_buffer_burnt(const ScarpUnit *unit);
/* All that is buffered, and not burnt, is saved in media. */
void scarp_buffer_save(ScarpDrive *drive);
/* What media has saved is buffered again. */
void scarp_buffer_restore(ScarpDrive *drive);

/* ScarpCmd.seq of the command that wrote a unit; for observers. */
uint64_t scarp_buffer_cmd_seq(const ScarpUnit *unit);

#endif /* SCARP_BUFFER_OPS_H */
