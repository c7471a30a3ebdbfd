/*
 * Copies of units that a power cut left twice on flash, on a drive with reclaim
 * units of several planes.
 *
 * Of two copies the one in the older block counts (map/rebuild.c), so that the
 * blocks that were being filled with copies can be erased. When recovery itself
 * empties a reclaim unit, the power may fail between the erases of its blocks.
 * The blocks that are left of it must not count any more: the data of the
 * erased blocks is in the newer reclaim unit alone, so both reclaim units would
 * be kept, and the next recovery would have one free unit less than this one.
 * Recovery erases only when all copies are made. So if each of a reclaim unit's
 * mapping units is on flash again in a newer reclaim unit, the newer copies
 * count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

/*
 * Returns for each LPN another copy of its newest version than ppn_of[] has, or
 * SCARP_NONE.
 */
static uint32_t *find_twins(const ScarpDrive *drive, const uint32_t *ppn_of)
{
    uint32_t *twin = g_new(uint32_t, drive->geo.mapped_units);

    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        twin[lpn] = SCARP_NONE;
    }
    for (uint32_t ppn = 0; ppn < scarp_geometry_units(&drive->geo); ppn++) {
        uint32_t lpn = scarp_media_lpn(drive, ppn);

        if (lpn != SCARP_NONE && ppn_of[lpn] != SCARP_NONE &&
            ppn_of[lpn] != ppn &&
            scarp_media_version(drive, ppn_of[lpn]) ==
                scarp_media_version(drive, ppn)) {
            twin[lpn] = ppn;
        }
    }
    return twin;
}

/*
 * Returns for each block with pages a number that is the same for all blocks of
 * a reclaim unit.
 */
static uint32_t *number_units(ScarpDrive *drive)
{
    g_autoptr(GArray) used = scarp_mend_used(drive);
    uint32_t *number = g_new0(uint32_t, drive->geo.n_blocks), n = 0;

    for (guint i = 0; i < used->len; i++) {
        uint32_t b = g_array_index(used, uint32_t, i);

        if (i && scarp_media_seq(drive, b) !=
                     scarp_media_seq(drive,
                                     g_array_index(used, uint32_t, i - 1))) {
            n++;
        }
        number[b] = n;
    }
    return number;
}

void scarp_map_prefer_complete(ScarpDrive *drive, uint32_t *ppn_of)
{
    g_autofree uint32_t *twin = find_twins(drive, ppn_of);
    g_autofree uint32_t *number = number_units(drive);
    /* [number]: units that count there, and have no other copy */
    g_autofree uint32_t *single = g_new0(uint32_t, drive->geo.n_blocks);

    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        if (ppn_of[lpn] != SCARP_NONE && twin[lpn] == SCARP_NONE) {
            single[number[scarp_ppn_block(drive, ppn_of[lpn])]]++;
        }
    }
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        if (twin[lpn] != SCARP_NONE &&
            !single[number[scarp_ppn_block(drive, ppn_of[lpn])]]) {
            scarp_mark(drive, complete_copies_kept);
            ppn_of[lpn] = twin[lpn];
        }
    }
}
