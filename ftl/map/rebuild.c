/*
 * The mapping, rebuilt from flash alone: from the LPN of each written unit, its
 * version (with ftl.recovery), the sequence number of each block, and the order
 * of pages. The version is a unit's place in the order of the host's writes. A
 * relocated copy keeps it.
 *
 * Without versions, the order of blocks and pages decides which of two units is
 * newer. That is right until a collection relocates something: a copy lies in a
 * newer page than a unit that was written after it.
 *
 * Two units with one version are copies of each other, and either may count.
 * Where power may fail, the copy in the older block counts. So the block that
 * was last opened for copies is useless, and becomes free again.
 *
 * With ftl.recovery=2 records tell when a unit was deallocated. If that was
 * after its write, it stays deallocated. Without records the unit comes back.
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
     * On drives whose power cannot fail, only one of two equal copies has
     * contents.
     */
    return scarp_media_keeps(drive)
               ? seq_a < seq_b || (seq_a == seq_b && a < b)
               : scarp_contents_get(drive, a) != NULL;
}

/*
 * Unmaps the units that records call deallocated. Records are units, too, so
 * ppn_of has their newest copies already.
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
