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

/*
 * Returns the buffered unit with the newest data of lpn, or NULL if the newest
 * data is on flash.
 */
static inline ScarpDirty *scarp_buffer_find(const ScarpDrive *drive,
                                            uint32_t lpn)
{
    return scarp_dirty_of(scarp_pack_find(drive, lpn));
}

/* ---- dirty.c ------------------------------------------------------------ */

/* Returns a new unit for lpn, and appends it to the order of arrival. */
ScarpDirty *scarp_dirty_new(ScarpDrive *drive, uint32_t lpn);
/*
 * Frees a unit whose program has ended, or that is stale before it was
 * programmed.
 */
void scarp_dirty_release(ScarpDrive *drive, ScarpDirty *dirty);
/* True when a command or a flush waits until the unit is on flash. */
bool scarp_dirty_is_late(const ScarpDrive *drive, const ScarpDirty *dirty);

/*
 * Pins the unit's mapping entry, so that it stays in RAM until the unit is
 * freed. Returns false if the entry must first be fetched from flash.
 * scarp_buffer_mapped() is called when the entry is in RAM.
 */
bool scarp_dirty_pin(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * True when the unit cannot be written yet because its mapping entry is being
 * fetched from flash.
 */
bool scarp_dirty_awaits_entry(const ScarpDrive *drive, const ScarpDirty *dirty);
/*
 * Queues a program of the packer (page under construction) that has the unit,
 * even if the page is not full.
 */
void scarp_dirty_emit(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * Queues a program of the packer that the unit would be added to, unless that
 * packer is empty. The program does not contain the unit itself.
 */
void scarp_dirty_emit_company(ScarpDrive *drive, const ScarpDirty *dirty);
/*
 * scarp_dirty_pack() adds the unit to its packer, and queues a program of the
 * packer's page if it is full. scarp_dirty_unpack() removes the unit from its
 * packer.
 */
void scarp_dirty_pack(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_unpack(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * Queues programs of all packed units whose sequence number is below `seq`,
 * even if their pages are not full.
 */
void scarp_dirty_drain(ScarpDrive *drive, uint64_t seq);
/*
 * Called when a write waits for room in the buffer. Queues programs of pages
 * that are not full, those with the oldest units first, until the units in such
 * pages need at most half of the buffer.
 */
void scarp_dirty_drain_half(ScarpDrive *drive);

/* ---- fill.c ------------------------------------------------------------- */

/*
 * Completes a unit of which the host wrote a part: copies the other bytes from
 * `base`, or fills them with zeroes if `base` is NULL.
 */
void scarp_dirty_complete(const ScarpDrive *drive, ScarpDirty *dirty,
                       const void *base);
/*
 * Reserve and release controller RAM for the parity of the unit's stripe. A
 * unit of which the host wrote a part needs this RAM while its other bytes are
 * read.
 */
void scarp_dirty_reserve_place(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_release_place(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * Adds a unit whose bytes are all known to a page under construction, once its
 * mapping entry is in RAM.
 */
void scarp_dirty_settle(ScarpDrive *drive, ScarpDirty *dirty);

/* ---- host_write.c, host_deallocate.c ------------------------------------ */

/* The part of a write command that falls into one unit. */
typedef struct {
    uint32_t lpn, first_byte, bytes;
    uint16_t stream;
    const char *from; /* NULL: zeroes */
} ScarpPiece;

/*
 * Called when a newer write or a deallocation of the same LPN has made the unit
 * stale. If the unit is in a page under construction and no command waits for
 * it, the unit is dropped without a program.
 */
void scarp_dirty_supersede(ScarpDrive *drive, ScarpDirty *dirty);
/*
 * True when the command may complete only after its data is on flash, because
 * it has FUA set, or because the drive has no write buffer.
 */
static inline bool scarp_buffer_goes_through(const ScarpDrive *drive,
                                             const ScarpCmd *cmd)
{
    return !drive->buffer.room_units ||
           (cmd->fua && !drive->desc.fua_ignored);
}

/*
 * Puts the piece's unit into the buffer. If scarp_buffer_goes_through() is
 * true, the command waits until the unit is on flash. Otherwise, if the piece
 * is only a part of a unit of the host, the command waits until the unit's
 * other bytes have been read. No command waits for the other bytes of a record
 * of deallocations.
 */
void scarp_buffer_put(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpPiece *piece);

/* ---- unrecorded.c ------------------------------------------------------- */

/*
 * Remembers that lpn was deallocated, with the version number `when`, until a
 * record of this deallocation is on flash.
 */
void scarp_unrecorded_add(ScarpDrive *drive, uint32_t lpn, uint64_t when);
/*
 * Returns the version number of lpn's last deallocation according to the
 * records on flash, or 0 if no record has a deallocation of lpn.
 */
uint64_t scarp_recorded_version(const ScarpDrive *drive, uint32_t lpn);
/*
 * Called when a record of deallocations has been programmed. when[] has the
 * contents of the record: the version number of each unit's last deallocation.
 * Unmaps each unit whose data on flash is older than that deallocation.
 */
void scarp_record_written(ScarpDrive *drive, uint32_t record_lpn,
                          const uint64_t *when);

/*
 * True when lpn has data on flash that the host has not deallocated. A
 * deallocated unit stays in the forward map until a record of its deallocation
 * is on flash, so a look-up alone does not tell.
 */
static inline bool scarp_buffer_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    return ppn != SCARP_NONE && !scarp_buffer_is_deallocated(drive, lpn, ppn);
}

/*
 * True when the drive writes each deallocation to flash, as a record
 * (ftl.recovery=2).
 */
static inline bool scarp_buffer_records(const ScarpDrive *drive)
{
    return drive->desc.recovery == RECOVERY_ALL;
}

/* How a deallocation, or a write of zeroes, treats its part of one unit. */
typedef enum {
    PIECE_WRITTEN,     /* the unit comes into the buffer */
    PIECE_KEPT,        /* the unit keeps its present data */
    PIECE_DEALLOCATED, /* the unit is unmapped at once */
    PIECE_RECORDED,    /* the unit is unmapped when flash has a record of it */
} ScarpPieceFate;

/*
 * Returns how `cmd`, a deallocation or a write of zeroes, treats a unit of
 * which it covers `bytes` bytes.
 */
ScarpPieceFate scarp_buffer_fate(const ScarpDrive *drive, const ScarpCmd *cmd,
                                 uint32_t bytes);
/*
 * True when cmd is a deallocation that needs neither room in the buffer nor RAM
 * for parity. flow then need not queue the command behind writes that wait for
 * room or RAM.
 */
bool scarp_buffer_deallocates_at_once(const ScarpDrive *drive,
                                      const ScarpCmd *cmd);
/*
 * Deallocates all bytes of the unit `lpn`, and drops its data if that is still
 * in the buffer.
 */
void scarp_buffer_deallocate(ScarpDrive *drive, uint32_t lpn);
/*
 * Deallocates n units from lpn on, and notes their deallocations in the record
 * of these units. One record must be for all n units. A record is a unit beyond
 * the host's LPNs. It holds the version numbers of the deallocations of a range
 * of LPNs, and is buffered and programmed like host data.
 */
void scarp_buffer_deallocate_run(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                                 uint32_t n);
/*
 * Returns how many of the command's bytes, from cmd->next_byte on, lie in units
 * that belong to one record of deallocations. `lpn` must be the unit at
 * cmd->next_byte.
 */
uint32_t scarp_buffer_run_bytes(const ScarpDrive *drive, const ScarpCmd *cmd,
                                uint32_t lpn);

#endif /* SCARP_BUFFER_INTERNAL_H */
