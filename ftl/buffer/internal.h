/*
 * What the sources of buffer share.
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

/* The newest unit of lpn that is not on flash yet, or NULL. */
static inline ScarpDirty *scarp_buffer_find(const ScarpDrive *drive,
                                            uint32_t lpn)
{
    return scarp_dirty_of(scarp_pack_find(drive, lpn));
}

/* ---- dirty.c ------------------------------------------------------------ */

/* Units, in the order of arrival. */
ScarpDirty *scarp_dirty_new(ScarpDrive *drive, uint32_t lpn);
/* It is on flash, or nobody needs it any more. */
void scarp_dirty_release(ScarpDrive *drive, ScarpDirty *dirty);
/* Somebody waits until it is on flash. */
bool scarp_dirty_is_late(const ScarpDrive *drive, const ScarpDirty *dirty);

/*
 * Whether its entry of the mapping is in RAM, where it stays until the unit is
 * released; if not, the unit waits: scarp_buffer_mapped() follows.
 */
bool scarp_dirty_hold(ScarpDrive *drive, ScarpDirty *dirty);
/* It is not. */
bool scarp_dirty_awaits_entry(const ScarpDrive *drive, const ScarpDirty *dirty);
/* The packer that its unit belongs to becomes a page that waits for its die. */
void scarp_dirty_emit(ScarpDrive *drive, ScarpDirty *dirty);
/* So does, unless it is empty, the packer that its unit has not come to yet. */
void scarp_dirty_emit_company(ScarpDrive *drive, const ScarpDirty *dirty);
/* It waits in its packer for company, or fills it. */
void scarp_dirty_pack(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_unpack(ScarpDrive *drive, ScarpDirty *dirty);
/* Programs what was written before seq, filled pages or not. */
void scarp_dirty_drain(ScarpDrive *drive, uint64_t seq);
/* A writer waits: at least half of the buffer must be on its way. */
void scarp_dirty_drain_half(ScarpDrive *drive);

/* ---- fill.c ------------------------------------------------------------- */

/* What the host did not write comes from base, NULL: zeroes. */
void scarp_dirty_complete(const ScarpDrive *drive, ScarpDirty *dirty,
                       const void *base);
/* Of a part: a stripe's parity has RAM for it, or needs it no longer. */
void scarp_dirty_reserve_place(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_release_place(ScarpDrive *drive, ScarpDirty *dirty);
/* All of its bytes are known: it goes on its way to a page. */
void scarp_dirty_settle(ScarpDrive *drive, ScarpDirty *dirty);

/* ---- host_write.c, host_deallocate.c ------------------------------------ */

/* What a command puts into one unit. */
typedef struct {
    uint32_t lpn, first_byte, bytes;
    uint16_t stream;
    const char *from; /* NULL: zeroes */
} ScarpPiece;

/* A newer write, or a deallocate, made it stale. */
void scarp_dirty_supersede(ScarpDrive *drive, ScarpDirty *dirty);
/* A power cut may not lose it: it has FUA set, or there is no buffer. */
static inline bool scarp_buffer_goes_through(const ScarpDrive *drive,
                                             const ScarpCmd *cmd)
{
    return !drive->buffer.room_units ||
           (cmd->fua && !drive->desc.fua_ignored);
}

/*
 * A command that goes through waits until the unit is on flash.  Any other
 * waits until the rest of the unit's bytes is known; nobody waits for a
 * record's.
 */
void scarp_buffer_put(ScarpDrive *drive, ScarpCmd *cmd,
                      const ScarpPiece *piece);

/* ---- trims.c ------------------------------------------------------------ */

/* lpn was deallocated at that moment. */
void scarp_trims_add(ScarpDrive *drive, uint32_t lpn, uint64_t when);
/* When lpn was deallocated last, as its record on flash says; 0: never. */
uint64_t scarp_trims_recorded(const ScarpDrive *drive, uint32_t lpn);
/* A record, of which these are the moments, is on flash: what it says counts. */
void scarp_trims_written(ScarpDrive *drive, uint32_t record_lpn,
                         const uint64_t *when);

/* It is mapped, and was not deallocated since. */
static inline bool scarp_buffer_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    return ppn != SCARP_NONE && !scarp_buffer_is_trimmed(drive, lpn, ppn);
}

/*
 * n units from lpn on, of one record.  The record is a unit above the host's
 * that goes to flash like any other.
 */
void scarp_buffer_deallocate_run(ScarpDrive *drive, ScarpCmd *cmd, uint32_t lpn,
                                 uint32_t n);
/* Of the command, from its next byte on: what one record has. */
uint32_t scarp_buffer_run_bytes(const ScarpDrive *drive, const ScarpCmd *cmd,
                                uint32_t lpn);

#endif /* SCARP_BUFFER_INTERNAL_H */
