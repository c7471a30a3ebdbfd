/*
 * Laws of the mapping, checked from scratch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/ops.h"

static bool broken(GError **error, const char *what, uint32_t where,
                   uint64_t is, uint64_t should)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "%s %u: is %" G_GUINT64_FORMAT ", should be %" G_GUINT64_FORMAT,
                what, where, is, should);
    return false;
}

bool scarp_map_check(const ScarpDrive *drive, GError **error)
{
    uint64_t units = scarp_geometry_units(&drive->geo), valid = 0, mapped = 0;

    for (uint64_t ppn = 0; ppn < units; ppn++) {
        uint32_t lpn = scarp_media_lpn(drive, ppn);
        bool is = lpn != SCARP_NONE && drive->map.ppn_of[lpn] == ppn;

        if (is != scarp_unit_is_valid(drive, ppn)) {
            return broken(error, "mark of unit", ppn, !is, is);
        }
        valid += is;
    }
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        uint32_t ppn = drive->map.ppn_of[lpn];

        if (ppn != SCARP_NONE && scarp_media_lpn(drive, ppn) != lpn) {
            return broken(error, "reverse map of unit", ppn,
                          scarp_media_lpn(drive, ppn), lpn);
        }
        mapped += ppn != SCARP_NONE;
    }
    return valid == mapped ||
           broken(error, "mapped units of drive", 0, mapped, valid);
}
