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

/* Returns a new unit, the newest in the order of arrival. */
ScarpDirty *scarp_dirty_new(ScarpDrive *drive, uint32_t lpn);
/* Frees a unit that is on flash, or that nobody needs any more. */
void scarp_dirty_release(ScarpDrive *drive, ScarpDirty *dirty);
/* True when somebody waits until the unit is on flash. */
bool scarp_dirty_is_late(const ScarpDrive *drive, const ScarpDirty *dirty);

/*
 * Pins the unit's mapping entry in RAM until the unit is released. False: the
 * entry is not there, and the unit waits until scarp_buffer_mapped().
 */
bool scarp_dirty_pin(ScarpDrive *drive, ScarpDirty *dirty);
/* True when the unit still waits for its mapping entry. */
bool scarp_dirty_awaits_entry(const ScarpDrive *drive, const ScarpDirty *dirty);
/*
 * Turns the packer that the unit is in into a program that waits for its die.
 */
void scarp_dirty_emit(ScarpDrive *drive, ScarpDirty *dirty);
/* Emits the packer that the unit has yet to come to, unless it is empty. */
void scarp_dirty_emit_company(ScarpDrive *drive, const ScarpDirty *dirty);
/* Puts the unit into its packer, which is emitted when full; or removes it. */
void scarp_dirty_pack(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_unpack(ScarpDrive *drive, ScarpDirty *dirty);
/* Programs all units written before seq, in filled pages or not. */
void scarp_dirty_drain(ScarpDrive *drive, uint64_t seq);
/* Starts to program at least half of the buffer, as a write waits for room. */
void scarp_dirty_drain_half(ScarpDrive *drive);

/* ---- fill.c ------------------------------------------------------------- */

/* Fills the bytes that the host did not write from base; NULL: zeroes. */
void scarp_dirty_complete(const ScarpDrive *drive, ScarpDirty *dirty,
                       const void *base);
/* Reserves or releases RAM for the parity of a part's stripe. */
void scarp_dirty_reserve_place(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_release_place(ScarpDrive *drive, ScarpDirty *dirty);
/* Sends a unit, all of whose bytes are known, on its way to a page. */
void scarp_dirty_settle(ScarpDrive *drive, ScarpDirty *dirty);

/* ---- host_write.c, host_deallocate.c ------------------------------------ */

/* The bytes that a command puts into one unit. */
typedef struct {
    uint32_t lpn, first_byte, bytes;
    uint16_t stream;
    const char *from; /* NULL: zeroes */
} ScarpPiece;

/* Makes the unit stale: a newer write, or a deallocation, replaces it. */
void scarp_dirty_supersede(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * True when a power cut may not lose the command: it has FUA set, or there is
 * no buffer.
 */
static inline bool scarp_buffer_goes_through(const ScarpDrive *drive,
                                             const ScarpCmd *cmd)
{
    return !drive->buffer.room_units ||
           (cmd->fua && !drive->desc.fua_ignored);
}

/*
 * Puts a piece into the buffer. A command that goes through waits until the
 * unit is on flash; any other command, except for a record, until the rest of
 * the unit's bytes is known.
 */
void scarp_buffer_put(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpPiece *piece);

/* ---- unrecorded.c ------------------------------------------------------- */

/* lpn was deallocated at version `when`. */
void scarp_unrecorded_add(ScarpDrive *drive, uint32_t lpn, uint64_t when);
/*
 * Returns the version at which lpn was deallocated last, by its record on
 * flash; 0: never.
 */
uint64_t scarp_recorded_version(const ScarpDrive *drive, uint32_t lpn);
/* A record with these versions is on flash: its deallocations take effect. */
void scarp_record_written(ScarpDrive *drive, uint32_t record_lpn,
                          const uint64_t *when);

/* True when lpn is mapped, and was not deallocated since. */
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

/* The fate of the bytes of a command that lie in one unit. */
typedef enum {
    PIECE_WRITTEN,     /* the unit comes into the buffer */
    PIECE_KEPT,        /* the unit keeps its data */
    PIECE_DEALLOCATED, /* the unit is unmapped at once */
    PIECE_RECORDED,    /* the same, and a record says so on flash */
} ScarpPieceFate;

/* Returns the fate of bytes in one unit, for a command that writes no data. */
ScarpPieceFate scarp_buffer_fate(const ScarpDrive *drive, const ScarpCmd *cmd,
                                 uint32_t bytes);
/* True when no piece of a deallocation needs room or a stripe, or waits. */
bool scarp_buffer_deallocates_at_once(const ScarpDrive *drive,
                                      const ScarpCmd *cmd);
/* Unmaps a whole unit, and drops its buffered contents. */
void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn);
/*
 * Deallocates n units from lpn on, of one record. The record is a unit above
 * the host's that goes to flash like any other.
 */
void scarp_buffer_deallocate_run(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                                 uint32_t n);
/*
 * Returns the bytes of the command, from its next byte on, that one record
 * covers.
 */
uint32_t scarp_buffer_run_bytes(const ScarpDrive *drive, const ScarpCmd *cmd,
                                uint32_t lpn);

#endif /* SCARP_BUFFER_INTERNAL_H */
