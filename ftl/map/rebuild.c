/*
 * Rebuilds the mapping from flash alone. Each page's spare area has its LPN
 * and, with ftl.recovery, a version, which numbers the host's writes. A
 * relocated copy keeps its version. Each block has a sequence number, by the
 * order in which blocks were opened.
 *
 * Without versions, the copy in the newer block counts, or of two copies in one
 * block the copy at the higher offset. This choice can be wrong after garbage
 * collection: a relocated old copy may lie behind a unit that the host wrote
 * later.
 *
 * Two pages with the same LPN and version are copies of each other, and either
 * may count. On a drive whose power may fail, the copy in the older block
 * counts. The block that was being filled with copies then has no valid unit,
 * and is erased.
 *
 * With ftl.recovery=2, pages called records tell when units were deallocated. A
 * unit that was deallocated after its last write stays unmapped. Without
 * records such a unit is mapped again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

bool scarp_unit_is_newer(const ScarpDrive *drive, uint32_t a, uint32_t b)
{
    uint64_t seq_a = scarp_media_seq(drive, scarp_ppn_block(drive, a));
    uint64_t seq_b = scarp_media_seq(drive, scarp_ppn_block(drive, b));
    uint64_t version_a, version_b;

    if (!scarp_media_has_versions(drive)) {
        return seq_a > seq_b || (seq_a == seq_b && a > b);
    }
    version_a = scarp_media_version(drive, a);
    version_b = scarp_media_version(drive, b);
    if (version_a != version_b) {
        return drive->desc.unserialised
                   ? (uint8_t)(version_a - version_b) < 128
                   : version_a > version_b;
    }
    scarp_mark_if(drive, older_copy_kept,
                  scarp_media_keeps(drive) && drive->map.mending);
    /*
     * The two units are copies of each other. On a drive whose power may fail,
     * the copy in the older block is taken as the valid one (see the head of
     * this file). On other drives the simulator has the contents of the valid
     * copy only, so `a` is the valid copy if it has contents.
     */
    return scarp_media_keeps(drive)
               ? seq_a < seq_b || (seq_a == seq_b && a < b)
               : scarp_contents_get(drive, a) != NULL;
}

/*
 * Unmaps the units that were deallocated after their last write, according to
 * the records on flash. Records have LPNs, too, so ppn_of has their newest
 * copies already.
 */
static void forget_deallocated(const ScarpDrive *drive, uint32_t *ppn_of)
{
    const ScarpGeometry *geo = &drive->geo;

    for (uint32_t r = geo->logical_units; r < geo->first_translation_unit; r++) {
        const uint64_t *when =
            ppn_of[r] == SCARP_NONE ? NULL
                                    : scarp_contents_get(drive, ppn_of[r]);
        uint32_t first = (r - geo->logical_units) * geo->record_lpns;

        for (uint32_t i = 0; when && i < geo->record_lpns &&
                             first + i < geo->logical_units; i++) {
            uint32_t *ppn = &ppn_of[first + i];

            if (*ppn != SCARP_NONE &&
                scarp_media_version(drive, *ppn) < GUINT64_FROM_LE(when[i])) {
                *ppn = SCARP_NONE;
            }
        }
    }
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
            (ppn_of[lpn] == SCARP_NONE || scarp_unit_is_newer(drive, ppn, ppn_of[lpn]))) {
            ppn_of[lpn] = ppn;
        }
    }
    if (drive->desc.recovery == RECOVERY_ALL &&
        !drive->desc.deallocation_undone) {
        forget_deallocated(drive, ppn_of);
    }
}
