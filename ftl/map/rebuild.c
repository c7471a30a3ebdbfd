/*
 * The mapping, rebuilt from what the flash itself holds: each written unit's
 * LPN and, with ftl.recovery, its version (the order in which the host wrote
 * it, which a relocated copy keeps); each block's sequence number; the order
 * of pages.
 *
 * Without versions, the order of blocks and pages tells the newer of two units.
 * It does until a collection has relocated something: a copy stands in a
 * newer page than a unit that was written after it was.
 *
 * Two units with one version are copies of each other: either will do.  What
 * was deallocated comes back, as nothing on the flash says that it was.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/ops.h"

static bool newer(const ScarpDrive *drive, uint32_t a, uint32_t b)
{
    uint64_t seq_a, seq_b;

    if (scarp_media_has_versions(drive)) {
        return scarp_media_version(drive, a) > scarp_media_version(drive, b);
    }
    seq_a = scarp_media_seq(drive, scarp_ppn_block(drive, a));
    seq_b = scarp_media_seq(drive, scarp_ppn_block(drive, b));
    return seq_a > seq_b || (seq_a == seq_b && a > b);
}

void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *ppn_of)
{
    uint32_t units = scarp_geometry_units(&drive->geo);

    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        ppn_of[lpn] = SCARP_NONE;
    }
    for (uint32_t ppn = 0; ppn < units; ppn++) {
        uint32_t lpn = scarp_media_lpn(drive, ppn);

        if (lpn != SCARP_NONE &&
            (ppn_of[lpn] == SCARP_NONE || newer(drive, ppn, ppn_of[lpn]))) {
            ppn_of[lpn] = ppn;
        }
    }
}
