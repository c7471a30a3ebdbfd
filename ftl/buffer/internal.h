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

/* buffer/dirty.c: units, in the order of arrival */
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
/* The packer that its unit belongs to becomes a page that waits for its die. */
void scarp_dirty_emit(ScarpDrive *drive, ScarpDirty *dirty);
/* It waits in its packer for company, or fills it. */
void scarp_dirty_pack(ScarpDrive *drive, ScarpDirty *dirty);
void scarp_dirty_unpack(ScarpDrive *drive, ScarpDirty *dirty);
/* Programs what was written before seq, filled pages or not. */
void scarp_dirty_drain(ScarpDrive *drive, uint64_t seq);
/* A writer waits: at least half of the buffer must be on its way. */
void scarp_dirty_drain_half(ScarpDrive *drive);

/* buffer/fill.c: what the host did not write comes from base, NULL: zeroes */
void scarp_dirty_merge(const ScarpDrive *drive, ScarpDirty *dirty,
                       const void *base);
/* All of its bytes are known: it goes on its way to a page. */
void scarp_dirty_settle(ScarpDrive *drive, ScarpDirty *dirty);

#endif /* SCARP_BUFFER_INTERNAL_H */
