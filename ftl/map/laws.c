/*
 * Invariants that hold for every mapping. Checked builds prove them by counting
 * anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

/*
 * Checks that each page of the block has its valid bit set if and only if the
 * forward map has the page's PPN. Adds the number of valid units to *valid.
 */
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

/*
 * True in one of 1 + units / 512 calls, drawn at random from the virtual time.
 * The check that depends on it looks at every page, so on a large drive it must
 * be rare.
 */
static bool is_looked_at(const ScarpDrive *drive)
{
    uint64_t one_in = 1 + scarp_geometry_units(&drive->geo) / 512;
    uint64_t state = scarp_random_state(scarp_time_ns(drive));

    return !scarp_random_below(&state, one_in);
}

/*
 * Checks, for drives whose power may fail, that the mapping rebuilt from flash
 * equals the mapping in RAM. If a unit has two copies of one version, the two
 * mappings may name different copies.
 */
static bool check_kept(const ScarpDrive *drive, GError **error)
{
    g_autofree uint32_t *ppn_of = NULL;

    if (!scarp_media_keeps(drive) || scarp_map_rebuild_lies(drive)) {
        return true;
    }
    ppn_of = g_new(uint32_t, drive->geo.mapped_units);
    scarp_map_rebuild(drive, ppn_of);
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        uint32_t is = ppn_of[lpn], should = drive->map.ppn_of[lpn];

        if (is != should &&
            (is == SCARP_NONE || should == SCARP_NONE ||
             scarp_media_version(drive, is) !=
                 scarp_media_version(drive, should))) {
            return scarp_law_differs(error, "place by the cells of unit", lpn,
                                     is, should);
        }
    }
    return true;
}

bool scarp_map_check(const ScarpDrive *drive, bool closely, GError **error)
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
    if ((closely || is_looked_at(drive)) && !check_kept(drive, error)) {
        return false;
    }
    return !drive->map.ops->check || drive->map.mending ||
           drive->map.ops->check(drive, error);
}
