/*
 * Functions that the sources of buffer share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_BUFFER_INTERNAL_H
#define SCARP_BUFFER_INTERNAL_H

#include "buffer/ops.h"

static inline ScarpDirty *scarp_dirty_of(ScarpUnit *unit)
{
    return (ScarpDirty *)unit;
}

/* Returns the newest unit of lpn that is not on flash yet, or NULL. */
static inline ScarpDirty *scarp_buffer_find(const ScarpDrive *drive,
                                            uint32_t lpn)
{
    return scarp_dirty_of(scarp_pack_find(drive, lpn));
}

/* ---- dirty.c ------------------------------------------------------------ */

/* Returns a new unit, which is the newest in the order of arrival. */
ScarpDirty *scarp_dirty_new(ScarpDrive *drive, uint32_t lpn);
/* Frees a unit that is on flash, or that nobody needs any longer. */
void scarp_dirty_release(ScarpDrive *drive, ScarpDirty *dirty);
/* True when a command or a flush waits until the unit is on flash. */
bool scarp_dirty_is_late(const ScarpDrive *drive, const ScarpDirty *dirty);

/*
 * Pins the unit's mapping entry in RAM until the unit is released. False: the
 * entry is not in RAM, and the unit waits until scarp_buffer_mapped() is
 * called.
 */
bool scarp_dirty_pin(ScarpDrive *drive, ScarpDirty *dirty);
/* True when the unit still waits for its mapping entry. */
bool scarp_dirty_awaits_entry(const ScarpDrive *drive, const ScarpDirty *dirty);
/*
 * Emits the packer that the unit is in: its units become a program, which waits
 * for its die.
 */
void scarp_dirty_emit(ScarpDrive *drive, ScarpDirty *dirty);
/* Emits the packer that the unit will be put into, unless it is empty. */
void scarp_dirty_emit_company(ScarpDrive *drive, const ScarpDirty *dirty);
/*
 * Put the unit into its packer, which is emitted when full, and take it out
 * again.
 */
void scarp_dirty_pack(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_unpack(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * Emits all units that were written before seq, even if their pages are not
 * full.
 */
void scarp_dirty_drain(ScarpDrive *drive, uint64_t seq);
/*
 * Called when a write waits for room: emits the oldest units, until those in
 * packers need no more than half of the buffer.
 */
void scarp_dirty_drain_half(ScarpDrive *drive);

/* ---- fill.c ------------------------------------------------------------- */

/*
 * Fills the unit's bytes that the host did not write with those of base, or
 * with zeroes if base is NULL.
 */
void scarp_dirty_complete(const ScarpDrive *drive, ScarpDirty *dirty,
                       const void *base);
/*
 * Reserve and release RAM for the parity of the stripe of a partly written
 * unit.
 */
void scarp_dirty_reserve_place(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_release_place(ScarpDrive *drive, ScarpDirty *dirty);
/* Sends a unit on its way to a page. All of its bytes are known. */
void scarp_dirty_settle(ScarpDrive *drive, ScarpDirty *dirty);

/* ---- host_write.c, host_deallocate.c ------------------------------------ */

/* A piece of a command: the bytes that it puts into one unit. */
typedef struct {
    uint32_t lpn, first_byte, bytes;
    uint16_t stream;
    const char *from; /* NULL: zeroes */
} ScarpPiece;

/* Makes the unit stale, as a newer write or a deallocation replaces it. */
void scarp_dirty_supersede(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * True when the command must not be lost by a power cut once it has completed:
 * it has FUA set, or there is no write buffer.
 */
static inline bool scarp_buffer_goes_through(const ScarpDrive *drive,
                                             const ScarpCmd *cmd)
{
    return !drive->buffer.room_units ||
           (cmd->fua && !drive->desc.fua_ignored);
}

/*
 * Puts a piece into the buffer. A command that goes through waits until the
 * unit is on flash. Another command waits only until all bytes of the unit are
 * known, and for a record not even that.
 */
void scarp_buffer_put(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpPiece *piece);

/* ---- unrecorded.c ------------------------------------------------------- */

/*
 * Notes that lpn was deallocated at version `when`, without a record on flash.
 */
void scarp_unrecorded_add(ScarpDrive *drive, uint32_t lpn, uint64_t when);
/*
 * Returns the version at which lpn was last deallocated, by its record on
 * flash, or 0 if it never was.
 */
uint64_t scarp_recorded_version(const ScarpDrive *drive, uint32_t lpn);
/*
 * Called when a record with the versions when[] is on flash: its deallocations
 * take effect.
 */
void scarp_record_written(ScarpDrive *drive, uint32_t record_lpn,
                          const uint64_t *when);

/*
 * True when lpn is mapped, and has not been deallocated since it was written.
 */
static inline bool scarp_buffer_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    return ppn != SCARP_NONE && !scarp_buffer_is_deallocated(drive, lpn, ppn);
}

/* True when deallocations are written to flash, as records. */
static inline bool scarp_buffer_records(const ScarpDrive *drive)
{
    return drive->desc.recovery == RECOVERY_ALL;
}

/* The fate of a command's bytes in one unit. */
typedef enum {
    PIECE_WRITTEN,     /* the unit comes into the buffer */
    PIECE_KEPT,        /* the unit keeps its data */
    PIECE_DEALLOCATED, /* the unit is unmapped at once */
    PIECE_RECORDED,    /* PIECE_DEALLOCATED, with a record of that on flash */
} ScarpPieceFate;

/*
 * Returns the fate of so many bytes in one unit, for a deallocation or a write
 * of zeroes.
 */
ScarpPieceFate scarp_buffer_fate(const ScarpDrive *drive, const ScarpCmd *cmd,
                                 uint32_t bytes);
/*
 * True when cmd is a deallocation of which no piece needs room in the buffer or
 * RAM for parity. So it need not wait behind other commands.
 */
bool scarp_buffer_deallocates_at_once(const ScarpDrive *drive,
                                      const ScarpCmd *cmd);
/* Deallocates a whole unit, and drops its buffered contents. */
void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn);
/*
 * Deallocates n units from lpn on, which share a record. The record is a unit
 * above those of the host, and goes to flash like any other.
 */
void scarp_buffer_deallocate_run(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                                 uint32_t n);
/*
 * Returns how many bytes of the command, from its next byte on, share one
 * record.
 */
uint32_t scarp_buffer_run_bytes(const ScarpDrive *drive, const ScarpCmd *cmd,
                                uint32_t lpn);

#endif /* SCARP_BUFFER_INTERNAL_H */
