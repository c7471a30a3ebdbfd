/*
 * Bad blocks: from the start, by the seed, and those that wear out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

void scarp_block_set_bad(ScarpDrive *drive, uint32_t index)
{
    scarp_block_record(drive, index)->state = BLOCK_BAD;
    scarp_blocks_plane_of(drive, index)->n_bad++;
    drive->stats.bad_blocks++;
}

/* Blocks that a plane needs beyond what the host may fill. */
static uint32_t spare_needed(const ScarpDrive *drive)
{
    return scarp_reserved_blocks(&drive->desc);
}

static uint32_t spare(const ScarpDrive *drive, const ScarpBlocksPlane *plane)
{
    uint32_t logical = drive->geo.first_translation_unit /
                       drive->geo.n_planes;
    uint32_t used = (logical + drive->geo.units_per_block - 1) /
                    drive->geo.units_per_block;

    return drive->desc.blocks_per_plane - plane->n_bad - used -
           drive->geo.translation_blocks;
}

bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t p)
{
    return spare(drive, &drive->blocks.plane[p]) >= spare_needed(drive);
}

uint32_t scarp_blocks_beyond_need(const ScarpDrive *drive, uint32_t p)
{
    uint32_t has = spare(drive, &drive->blocks.plane[p]);

    return has - MIN(has, spare_needed(drive));
}

bool scarp_block_is_worn_out(const ScarpDrive *drive, uint32_t index)
{
    const ScarpBlocksPlane *plane = scarp_blocks_plane_of(drive, index);

    return drive->desc.endurance_erases &&
           scarp_media_erases(drive, index) >= drive->desc.endurance_erases &&
           plane->n_free + plane->n_map > drive->geo.translation_blocks + 1 &&
           spare(drive, plane) > spare_needed(drive);
}

bool scarp_blocks_set_bad(ScarpDrive *drive, GError **error)
{
    uint32_t blocks = drive->desc.blocks_per_plane;
    uint32_t n = blocks * drive->desc.bad_blocks_permille / 1000;
    uint64_t random = scarp_random_state(scarp_seed(drive));

    for (uint32_t p = 0; p < drive->geo.n_planes && n; p++) {
        ScarpBlocksPlane *plane = &drive->blocks.plane[p];

        while (plane->n_bad < n) {
            uint32_t index = p * blocks + scarp_random_below(&random, blocks);

            if (scarp_block_record(drive, index)->state != BLOCK_BAD) {
                scarp_block_set_bad(drive, index);
            }
        }
        scarp_blocks_forget(drive, p);
        for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
            if (scarp_block_record(drive, b)->state != BLOCK_BAD) {
                scarp_free_push(drive, plane, b);
            }
        }
        if (!scarp_blocks_suffice(drive, p)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                        "nand.bad_blocks_permille=%" G_GUINT64_FORMAT
                        ": leaves %u spare blocks of a plane; %u are needed",
                        drive->desc.bad_blocks_permille, spare(drive, plane),
                        spare_needed(drive));
            return false;
        }
    }
    return true;
}
