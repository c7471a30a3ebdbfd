/*
 * Bad blocks. Some are bad from the start, chosen by the random seed. Others
 * become bad when they are worn out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

void scarp_block_set_bad(ScarpDrive *drive, uint32_t index)
{
    scarp_block_record(drive, index)->state = BLOCK_BAD;
    scarp_blocks_plane_of(drive, index)->n_bad++;
    scarp_media_set_bad(drive, index);
    drive->stats.bad_blocks++;
}

/*
 * Returns how many good blocks the plane has beyond those that it needs to
 * work. The result is negative if the plane has too few good blocks.
 */
static int64_t spare(const ScarpDrive *drive, const ScarpBlocksPlane *plane)
{
    return (int64_t)drive->desc.blocks_per_plane - plane->n_bad -
           (int64_t)scarp_needed_blocks(&drive->desc);
}

bool scarp_blocks_suffice(const ScarpDrive *drive, uint32_t p)
{
    return spare(drive, &drive->blocks.plane[p]) >= 0;
}

uint32_t scarp_blocks_beyond_need(const ScarpDrive *drive, uint32_t p)
{
    return MAX(spare(drive, &drive->blocks.plane[p]), 0);
}

/*
 * True when the cells of the block have reached their endurance. Erases in SLC
 * mode wear them by a share of slc.endurance_erases, others by a share of
 * nand.endurance_erases; the shares of both modes add up.
 */
static bool is_worn(const ScarpDrive *drive, uint32_t index)
{
    uint64_t real = drive->desc.endurance_erases;
    uint64_t slc = drive->desc.slc_endurance_erases;
    uint64_t in_slc = scarp_media_slc_erases(drive, index);
    uint64_t in_real = scarp_media_erases(drive, index) - in_slc;

    return real && (slc ? in_real * slc + in_slc * real >= real * slc
                        : in_real >= real);
}

/*
 * A worn-out block becomes bad only if the plane can do without it: the plane
 * has two free blocks or more (the block itself is not free yet), and it keeps
 * as many good blocks as it needs.
 */
bool scarp_block_is_worn_out(const ScarpDrive *drive, uint32_t index)
{
    uint32_t p = scarp_block_plane(drive, index);

    return is_worn(drive, index) &&
           scarp_plane_spare_blocks(drive, p) > 1 &&
           spare(drive, &drive->blocks.plane[p]) > 0;
}

void scarp_blocks_set_bad(ScarpDrive *drive)
{
    uint32_t blocks = drive->desc.blocks_per_plane;
    uint32_t n = scarp_bad_blocks(&drive->desc);
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
    }
}
