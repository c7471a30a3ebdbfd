/*
 * After a power cut: maps the units that were found on flash, sets the state of
 * each block, and plans the copies and erases that planes need before the host
 * may use the drive.
 *
 * With a mapping that lets a unit lie in any page, a partly programmed block
 * with valid units counts as full, and gets no more pages. A block without
 * valid units is erased. A plane without a free block gains one as by garbage
 * collection: units of the blocks with the fewest valid units are copied into
 * fewer blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

/*
 * Returns a version number that is greater than all versions in spare areas and
 * in the records of deallocations on flash.
 */
static uint64_t next_version(const ScarpDrive *drive, const uint32_t *ppn_of)
{
    const ScarpGeometry *geo = &drive->geo;
    uint64_t next = 0;

    for (uint32_t ppn = 0; ppn < scarp_geometry_units(geo); ppn++) {
        if (scarp_media_lpn(drive, ppn) != SCARP_NONE) {
            next = MAX(next, scarp_media_version(drive, ppn) + 1);
        }
    }
    for (uint32_t r = geo->logical_units;
         drive->desc.recovery == RECOVERY_ALL &&
         r < geo->first_translation_unit; r++) {
        const uint64_t *when =
            ppn_of[r] == SCARP_NONE ? NULL
                                    : scarp_contents_get(drive, ppn_of[r]);

        for (uint32_t i = 0; when && i < geo->record_lpns; i++) {
            next = MAX(next, GUINT64_FROM_LE(when[i]) + 1);
        }
    }
    return next;
}

static void recover_block(ScarpDrive *drive, uint32_t block)
{
    ScarpBlockState state = BLOCK_APART;

    if (scarp_block_valid(drive, block)) {
        state = scarp_block_is_translation(drive, block) ? BLOCK_TRANSLATION
                                                         : BLOCK_FULL;
    }
    scarp_block_recover(drive, block, state);
}

/*
 * Compares two blocks by the time of their opening. The order in which they
 * were filled would be better, but flash does not tell it, and it is nearly the
 * same.
 */
static int by_seq(const void *a, const void *b, void *opaque)
{
    const ScarpDrive *drive = opaque;
    uint64_t seq_a = scarp_media_seq(drive, *(const uint32_t *)a);
    uint64_t seq_b = scarp_media_seq(drive, *(const uint32_t *)b);

    return (seq_a > seq_b) - (seq_a < seq_b);
}

static void recover_blocks(ScarpDrive *drive)
{
    g_autoptr(GArray) used = scarp_mend_used(drive);

    if (scarp_has_units(&drive->desc)) {
        scarp_ru_recover(drive, (const uint32_t *)used->data, used->len);
        return;
    }
    for (guint i = 0; i < used->len; i++) {
        recover_block(drive, g_array_index(used, uint32_t, i));
    }
}

void scarp_map_recover(ScarpDrive *drive)
{
    g_autofree uint32_t *ppn_of = g_new(uint32_t, drive->geo.mapped_units);

    drive->map.mending = true;
    scarp_map_age_begins(drive); /* recovery counts no changes */
    scarp_map_rebuild(drive, ppn_of);
    if (scarp_has_units(&drive->desc)) {
        scarp_map_prefer_complete(drive, ppn_of);
    }
    scarp_seq_at_least(drive, next_version(drive, ppn_of));
    if (drive->map.ops->reread) {
        drive->map.journal = drive->map.ops->reread(drive, ppn_of);
    }
    if (drive->map.ops->recover) {
        drive->map.ops->recover(drive, ppn_of);
    }
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        if (ppn_of[lpn] != SCARP_NONE) {
            scarp_map_load(drive, lpn, ppn_of[lpn]);
        }
    }
    if (!drive->map.ops->recover) {
        recover_blocks(drive);
    }
}

/* ---- Mending ------------------------------------------------------------ */

void scarp_mend_add(ScarpDrive *drive, ScarpMend *mend, uint32_t ppn)
{
    if (!mend->unit) {
        mend->room = drive->geo.victim_units;
        mend->unit = g_new(uint32_t, mend->room);
    }
    g_assert(mend->n_units < mend->room);
    mend->unit[mend->n_units++] = ppn;
}

void scarp_mend_kill(ScarpDrive *drive, ScarpMend *mend, uint32_t block)
{
    if (!mend->dead) {
        mend->dead = g_new(uint32_t, MAX(drive->desc.blocks_per_plane,
                                         drive->desc.reclaim_planes));
    }
    mend->dead[mend->n_dead++] = block;
}

void scarp_mend_clear(ScarpMend *mend)
{
    g_free(mend->unit);
    g_free(mend->dead);
    *mend = (ScarpMend) { 0 };
}

void scarp_mend_victim(ScarpDrive *drive, ScarpMend *mend, uint32_t victim)
{
    uint32_t first = scarp_block_ppn(drive, victim);

    for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
        if (scarp_unit_is_valid(drive, first + i)) {
            scarp_mend_add(drive, mend, first + i);
        }
    }
    scarp_mend_kill(drive, mend, victim);
}

/*
 * Adds to `mend` the erase of the plane's next block that recovery found
 * useless: its state is BLOCK_APART, and it has no valid unit. Returns false if
 * the plane has no such block.
 */
static bool next_apart(ScarpDrive *drive, uint32_t p, ScarpMend *mend)
{
    uint32_t blocks = drive->desc.blocks_per_plane;

    while (mend->next < blocks) {
        uint32_t block = p * blocks + mend->next++;

        if (scarp_block_state(drive, block) == BLOCK_APART &&
            !scarp_block_valid(drive, block)) {
            scarp_mend_kill(drive, mend, block);
            return true;
        }
    }
    return false;
}

/*
 * Returns the plane's block that is to be copied, or SCARP_NONE: the full block
 * with the fewest valid units, or the oldest dynamic block of the SLC cache if
 * that has no more of them.
 */
static uint32_t least_valid(const ScarpDrive *drive, uint32_t p)
{
    uint32_t slc = scarp_blocks_cached(drive) ? scarp_slc_oldest(drive, p, true)
                                              : SCARP_NONE;

    for (uint32_t v = 0; v <= drive->geo.units_per_block; v++) {
        uint32_t block = scarp_bucket_first(drive, p, v);

        if (slc != SCARP_NONE && scarp_block_valid(drive, slc) <= v) {
            scarp_mark(drive, mended_by_fold);
            return slc;
        }
        if (block != SCARP_NONE) {
            return block;
        }
    }
    return SCARP_NONE;
}

static bool mend_any(ScarpDrive *drive, uint32_t p, ScarpMend *mend)
{
    uint32_t victim;

    if (scarp_blocks_in_units(drive) || scarp_plane_is_sound(drive, p)) {
        return false;
    }
    scarp_mark(drive, mended_by_copies);
    victim = least_valid(drive, p);
    scarp_block_take(drive, victim);
    scarp_mend_victim(drive, mend, victim);
    return true;
}

uint32_t *scarp_mend_count(const ScarpDrive *drive, const uint32_t *ppn_of)
{
    uint32_t *count = g_new0(uint32_t, drive->geo.n_blocks);

    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        if (ppn_of[lpn] != SCARP_NONE) {
            count[scarp_ppn_block(drive, ppn_of[lpn])]++;
        }
    }
    return count;
}

GArray *scarp_mend_used(ScarpDrive *drive)
{
    GArray *used = g_array_new(false, false, sizeof(uint32_t));

    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (scarp_block_written(drive, b) && !scarp_media_is_bad(drive, b)) {
            g_array_append_val(used, b);
        }
    }
    g_array_sort_with_data(used, by_seq, drive);
    return used;
}

bool scarp_map_mend(ScarpDrive *drive, uint32_t p, ScarpMend *mend)
{
    mend->n_units = mend->n_dead = 0;
    if (next_apart(drive, p, mend)) {
        return true;
    }
    return drive->map.ops->mend ? drive->map.ops->mend(drive, p, mend)
                                : mend_any(drive, p, mend);
}

bool scarp_map_mend_group(ScarpDrive *drive, uint32_t p, ScarpMend *mend)
{
    if (scarp_plane_is_sound(drive, p)) {
        return false;
    }
    scarp_mark(drive, mended_by_unit);
    mend->n_units = mend->n_dead = 0;
    scarp_ru_take_victim(
        drive, scarp_ru_least_valid(drive, scarp_ru_group(drive, p)));
    for (uint32_t i = 0; i < drive->desc.reclaim_planes; i++) {
        scarp_mend_victim(drive, mend, scarp_ru_victim_block(drive, p + i));
    }
    return true;
}

void scarp_map_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                           uint32_t *target)
{
    if (drive->map.ops->mend_copied) {
        drive->map.ops->mend_copied(drive, mend, target);
    }
}

void scarp_map_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                           uint32_t block)
{
    if (drive->map.ops->mend_filled) {
        drive->map.ops->mend_filled(drive, mend, block);
    } else {
        scarp_block_recover(drive, block, BLOCK_FULL);
    }
}

bool scarp_map_must_scan(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_seq(drive, block) >= drive->map.journal ||
           scarp_block_is_translation(drive, block);
}

void scarp_map_recovered(ScarpDrive *drive)
{
    drive->map.mending = false;
    if (drive->map.ops->recovered) {
        drive->map.ops->recovered(drive);
    }
}
