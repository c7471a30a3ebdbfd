/*
 * Laws of the mapping, checked from scratch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

/* The units of a block: marked as valid when the forward map names them. */
static bool check_marks(const ScarpDrive *drive, uint32_t block,
                        uint64_t *valid, GError **error)
{
    uint32_t first = scarp_block_ppn(drive, block);

    for (uint32_t i = 0; i < drive->geo.units_per_block; i += 64) {
        uint32_t n = MIN(64, drive->geo.units_per_block - i);
        uint64_t marks = scarp_valid_bits(drive, first + i, n);

        for (uint32_t k = 0; k < n; k++) {
            uint32_t ppn = first + i + k, lpn = scarp_media_lpn(drive, ppn);
            bool is = lpn != SCARP_NONE && drive->map.ppn_of[lpn] == ppn;

            if (is != (marks >> k & 1)) {
                return scarp_law_differs(error, "mark of unit", ppn, !is, is);
            }
            *valid += is;
        }
    }
    return true;
}

bool scarp_map_check(const ScarpDrive *drive, GError **error)
{
    uint64_t valid = 0, mapped = 0;

    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (!check_marks(drive, b, &valid, error)) {
            return false;
        }
    }
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        uint32_t ppn = drive->map.ppn_of[lpn];

        if (ppn != SCARP_NONE && scarp_media_lpn(drive, ppn) != lpn) {
            return scarp_law_differs(error, "reverse map of unit", ppn,
                                     scarp_media_lpn(drive, ppn), lpn);
        }
        mapped += ppn != SCARP_NONE;
    }
    if (valid != mapped) {
        return scarp_law_differs(error, "mapped units of drive", 0, mapped,
                                 valid);
    }
    return !drive->map.ops->check || drive->map.mending ||
           drive->map.ops->check(drive, error);
}
