/*
 * Recovery of superblock mapping from a power cut. The LPNs in a block's spare
 * areas tell its superblock. If several blocks of a superblock are partly
 * written, the block opened last becomes its current block.
 *
 * If a plane has too few free blocks, the valid units of a superblock with
 * update blocks are copied into fewer blocks, beginning with the block that has
 * the fewest valid units.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/superblock.h"

/*
 * Returns the superblock of a block, according to the first LPN in its spare
 * areas.
 */
static uint32_t super_in(const ScarpDrive *drive, uint32_t block)
{
    const uint32_t *lpns = scarp_media_lpns(drive,
                                            scarp_block_ppn(drive, block));
    uint32_t i = 0;

    while (lpns[i] == SCARP_NONE) {
        i++;
    }
    return scarp_super_of(drive, scarp_block_plane(drive, block), lpns[i]);
}

static bool is_full(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_written(drive, block) == drive->geo.units_per_block;
}

/*
 * Makes `block`, which has unprogrammed pages, the current block of superblock
 * s. If the previous current block is partly written, it is closed, because a
 * superblock can have only one open block.
 */
static void make_current(ScarpDrive *drive, uint32_t s, uint32_t block)
{
    ScarpSuper *super = &scarp_supers(drive)->super[s];

    if (super->current != SCARP_NONE && super->current != block &&
        !is_full(drive, super->current)) {
        scarp_block_close_early(drive, super->current);
    }
    super->current = block;
}

static void adopt(ScarpDrive *drive, uint32_t s, uint32_t block)
{
    scarp_block_recover(drive, block, BLOCK_OWNED);
    scarp_super_add(drive, s, block);
    if (!is_full(drive, block)) {
        make_current(drive, s, block);
    }
}

void scarp_supers_recover(ScarpDrive *drive, uint32_t *ppn_of)
{
    g_autofree uint32_t *newest = scarp_mend_count(drive, ppn_of);
    g_autoptr(GArray) used = scarp_mend_used(drive);

    for (guint i = 0; i < used->len; i++) {
        uint32_t block = g_array_index(used, uint32_t, i);

        if (newest[block]) {
            adopt(drive, super_in(drive, block), block);
        }
    }
}

/*
 * Returns the block of superblock s with the fewest valid units, or SCARP_NONE
 * if all units of all its blocks are valid.
 */
static uint32_t fewest(const ScarpDrive *drive, uint32_t s)
{
    const ScarpSupers *supers = scarp_supers(drive);
    uint32_t best = SCARP_NONE, least = drive->geo.units_per_block;

    for (uint32_t b = supers->super[s].first; b != SCARP_NONE;
         b = supers->block[b].next) {
        if (scarp_block_valid(drive, b) < least) {
            least = scarp_block_valid(drive, b);
            best = b;
        }
    }
    return best;
}

/*
 * Returns the superblock whose blocks recovery copies next. Recovery stays with
 * a superblock while the target block has room left, and while one of the
 * superblock's blocks is worth copying. Otherwise the superblock with update
 * blocks that was written least recently is next.
 */
static uint32_t next_super(const ScarpDrive *drive, uint32_t p,
                           const ScarpMend *mend)
{
    const ScarpSupers *supers = scarp_supers(drive);

    return mend->open && fewest(drive, mend->group) != SCARP_NONE
               ? mend->group : supers->plane[p].oldest;
}

bool scarp_supers_mend(ScarpDrive *drive, uint32_t p, ScarpMend *mend)
{
    uint32_t s, victim;

    if (scarp_plane_is_sound(drive, p)) {
        return false;
    }
    scarp_mark(drive, mended_superblock);
    s = next_super(drive, p, mend);
    victim = fewest(drive, s);
    scarp_super_drop(drive, victim);
    scarp_block_recover(drive, victim, BLOCK_APART);
    scarp_mend_victim(drive, mend, victim);
    mend->group = s;
    return true;
}

/*
 * Once no block of the superblock is worth copying, the target of the copies
 * becomes a block of the superblock. Before that, the target gets further
 * copies.
 */
void scarp_supers_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                              uint32_t *target)
{
    if (*target != SCARP_NONE && fewest(drive, mend->group) == SCARP_NONE) {
        adopt(drive, mend->group, *target);
        *target = SCARP_NONE;
    }
}

void scarp_supers_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                              uint32_t block)
{
    adopt(drive, mend->group, block);
}
