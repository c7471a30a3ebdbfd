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
#include "drive.h"

static bool newer(const ScarpDrive *drive, uint32_t a, uint32_t b)
{
    uint64_t seq_a, seq_b;

    if (drive->version) {
        return drive->version[a] > drive->version[b];
    }
    seq_a = drive->block_rest[scarp_ppn_block(drive, a)].seq;
    seq_b = drive->block_rest[scarp_ppn_block(drive, b)].seq;
    return seq_a > seq_b || (seq_a == seq_b && a > b);
}

void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *l2p)
{
    uint32_t units = drive->units_per_plane * drive->n_planes;

    for (uint32_t lpn = 0; lpn < drive->mapped_units; lpn++) {
        l2p[lpn] = SCARP_NONE;
    }
    for (uint32_t ppn = 0; ppn < units; ppn++) {
        uint32_t lpn = drive->p2l[ppn];

        if (lpn != SCARP_NONE &&
            (l2p[lpn] == SCARP_NONE || newer(drive, ppn, l2p[lpn]))) {
            l2p[lpn] = ppn;
        }
    }
}
