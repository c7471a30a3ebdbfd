/*
 * Invariants of reclaim units of several planes. Checked builds prove them by
 * counting anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

static uint32_t planes_of(const ScarpDrive *drive)
{
    return (uint32_t)drive->desc.reclaim_planes;
}

/* Returns the state that the blocks of a unit have. */
static ScarpBlockState block_state(const ScarpRu *unit)
{
    return unit->state == RU_OPEN ? BLOCK_ACTIVE
           : unit->state == RU_FULL ? BLOCK_FULL : BLOCK_VICTIM;
}

/* Checks one unit against the records of its blocks. */
static bool check_unit(const ScarpDrive *drive, uint32_t number,
                       GError **error)
{
    const ScarpRus *rus = drive->blocks.rus;
    const ScarpRu *unit = &rus->unit[number];
    const uint32_t *block = &rus->block[(uint64_t)number * planes_of(drive)];
    uint32_t valid = 0, written = 0, n = 0;

    for (uint32_t i = 0; i < planes_of(drive); i++) {
        const ScarpBlock *record;

        if (unit->state == RU_VICTIM && block[i] == SCARP_NONE) {
            continue;
        }
        record = scarp_block_record(drive, block[i]);
        if (rus->unit_of[block[i]] != number) {
            return scarp_law_differs(error, "unit of block", block[i],
                                     rus->unit_of[block[i]], number);
        }
        if (record->state != block_state(unit)) {
            return scarp_law_differs(error, "state of a unit's block", block[i],
                                     record->state, block_state(unit));
        }
        if (scarp_block_plane(drive, block[i]) % planes_of(drive) != i) {
            return scarp_law_differs(error, "plane of a unit's block", block[i],
                                     scarp_block_plane(drive, block[i]), i);
        }
        if (unit->state != RU_VICTIM &&
            scarp_media_stream(drive, block[i]) !=
                scarp_ru_point_stream(unit)) {
            return scarp_law_differs(error, "stream of a unit's block",
                                     block[i],
                                     scarp_media_stream(drive, block[i]),
                                     unit->point);
        }
        valid += record->valid;
        written += record->written;
        n++;
    }
    if (valid != unit->valid) {
        return scarp_law_differs(error, "valid units of reclaim unit", number,
                                 unit->valid, valid);
    }
    if (n != unit->n_blocks || (unit->state != RU_VICTIM &&
                                written != unit->written)) {
        return scarp_law_differs(error, "blocks and pages of reclaim unit",
                                 number, unit->written, written);
    }
    return (unit->state == RU_FULL) ==
               (unit->state != RU_VICTIM &&
                written == planes_of(drive) * drive->desc.pages_per_block) ||
           scarp_law_differs(error, "state of reclaim unit", number,
                             unit->state, RU_FULL);
}

#ifdef SCARP_CHECKED
/*
 * Checks that each valid mapping unit lies in a unit of the stream that wrote
 * it, or, if that stream is not isolated, in one of copies of such streams.
 */
static bool check_streams(const ScarpDrive *drive, uint32_t p, GError **error)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t first = scarp_block_ppn(drive, p * drive->desc.blocks_per_plane);
    uint32_t end = first + drive->desc.blocks_per_plane *
                               drive->geo.units_per_block;

    for (uint32_t ppn = first; ppn < end; ppn++) {
        const ScarpRu *unit;
        uint16_t wrote, has;

        if (!scarp_valid_bits(drive, ppn, 1)) {
            continue;
        }
        unit = &rus->unit[rus->unit_of[scarp_ppn_block(drive, ppn)]];
        wrote = rus->stream_of[*scarp_media_lpns(drive, ppn)];
        has = scarp_ru_point_stream(unit);
        if (unit->point == RU_POINT_GC
                ? scarp_is_isolated(&drive->desc, wrote) : wrote != has) {
            return scarp_law_differs(error, "stream of PPN", ppn, has, wrote);
        }
    }
    return true;
}
#endif

/* Checks that exactly the open units are those of write points. */
static bool check_points(const ScarpDrive *drive, uint32_t group,
                         uint32_t n_open, GError **error)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t named = 0;

    for (int i = 0; i < RU_POINTS; i++) {
        const ScarpRuPoint *at = &rus->group[group].point[i];
        const uint32_t number[] = { at->older, at->newer };

        for (int j = 0; j < 2; j++) {
            if (number[j] == SCARP_NONE) {
                continue;
            }
            named++;
            if (rus->unit[number[j]].state != RU_OPEN ||
                rus->unit[number[j]].point != i) {
                return scarp_law_differs(error, "open reclaim unit", number[j],
                                         rus->unit[number[j]].point, i);
            }
            if (rus->unit[number[j]].written >= rus->unit[number[j]].end) {
                return scarp_law_differs(error, "end of open reclaim unit",
                                         number[j], rus->unit[number[j]].end,
                                         rus->unit[number[j]].written);
            }
        }
        if (at->begun && (at->newer == SCARP_NONE ||
                          rus->unit[at->newer].written > at->reserved)) {
            return scarp_law_differs(error, "programs of reclaim unit",
                                     at->newer, at->reserved,
                                     at->newer == SCARP_NONE
                                         ? 0 : rus->unit[at->newer].written);
        }
    }
    return named == n_open ||
           scarp_law_differs(error, "open reclaim units of group", group,
                             n_open, named);
}

/* Checks that the buckets have each full unit, and no other. */
static bool check_buckets(const ScarpDrive *drive, uint32_t group,
                          uint32_t n_full, GError **error)
{
    const ScarpBlocksPlane *plane =
        &drive->blocks.plane[group * planes_of(drive)];
    uint32_t listed = 0;

    if (!scarp_buckets_check(drive, group * planes_of(drive), &listed, error)) {
        return false;
    }
    return (listed == n_full && plane->n_full == n_full) ||
           scarp_law_differs(error, "full reclaim units of group", group,
                             listed, n_full);
}

/*
 * True when a group may have no unit to open: recovery has not begun to mend it
 * yet, and has the unit that is kept for that, or blocks that it will erase.
 */
static bool may_be_short(const ScarpDrive *drive, uint32_t group,
                         uint32_t n_free)
{
    uint32_t n = planes_of(drive) * (uint32_t)drive->desc.blocks_per_plane;

    if (!scarp_media_keeps(drive)) {
        return false;
    }
    for (uint32_t b = group * n; b < (group + 1) * n; b++) {
        if (scarp_block_record(drive, b)->state == BLOCK_APART) {
            return true;
        }
    }
    return n_free && drive->blocks.rus->recovers;
}

/*
 * Checks how many units the group can open. A block of a victim counts only
 * when all blocks of that victim are erased.
 */
static bool check_free(const ScarpDrive *drive, uint32_t group, GError **error)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t n = planes_of(drive), least = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = group * n + i;

        if (rus->early[p] &&
            (!rus->group[group].collected ||
             rus->block[(uint64_t)rus->group[group].victim * n + i] !=
                 SCARP_NONE)) {
            return scarp_law_differs(error, "early block of plane", p, true,
                                     false);
        }
        least = MIN(least, rus->n_free[p] - rus->early[p]);
    }
    for (uint32_t p = group * n; p < (group + 1) * n; p++) {
        if (drive->blocks.plane[p].n_free != least) {
            return scarp_law_differs(error, "free reclaim units of group",
                                     group, drive->blocks.plane[p].n_free,
                                     least);
        }
    }
    /*
     * A full group must be able to collect: the last free unit, or what
     * collections have open, belongs to their copies. After a power cut
     * recovery sees to that: until it has a unit free, blocks are apart, or a
     * unit is being emptied.
     */
    return least > drive->geo.kept_blocks || rus->group[group].collected ||
           may_be_short(drive, group, least) ||
           scarp_law_differs(error, "free reclaim units of group", group,
                             least, drive->geo.kept_blocks + 1);
}

static bool check_group(const ScarpDrive *drive, uint32_t group, GError **error)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t blocks = drive->desc.blocks_per_plane, n[RU_VICTIM + 1] = { 0 };
    uint32_t valid = 0;

    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t number = group * blocks + i;

        n[rus->unit[number].state]++;
        valid += rus->unit[number].state == RU_NONE ? 0
                                                    : rus->unit[number].valid;
        if (rus->unit[number].state != RU_NONE &&
            !check_unit(drive, number, error)) {
            return false;
        }
    }
    if (n[RU_VICTIM] != rus->group[group].collected ||
        (rus->group[group].collected &&
         rus->unit[rus->group[group].victim].state != RU_VICTIM)) {
        return scarp_law_differs(error, "victims of group", group,
                                 n[RU_VICTIM], rus->group[group].collected);
    }
    if (valid != rus->group[group].valid) {
        return scarp_law_differs(error, "valid units of group", group,
                                 rus->group[group].valid, valid);
    }
    return check_free(drive, group, error) &&
           check_points(drive, group, n[RU_OPEN], error) &&
           check_buckets(drive, group, n[RU_FULL], error);
}

/* Checks that each block with pages is of a unit, and counts the others. */
static bool check_blocks(const ScarpDrive *drive, uint32_t p, GError **error)
{
    const ScarpBlocksPlane *plane = &drive->blocks.plane[p];
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t blocks = drive->desc.blocks_per_plane;
    uint32_t free = 0, bad = 0, valid = 0;

    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        const ScarpBlock *block = scarp_block_record(drive, b);
        bool unused = block->state == BLOCK_FREE || block->state == BLOCK_BAD;
        bool apart = block->state == BLOCK_APART;

        if ((unused || apart) != (rus->unit_of[b] == SCARP_NONE) ||
            (unused && block->written)) {
            return scarp_law_differs(error, "reclaim unit of block", b,
                                     rus->unit_of[b], block->state);
        }
        if (scarp_block_marks(drive, b) != block->valid) {
            return scarp_law_differs(error, "valid units of block", b,
                                     block->valid, scarp_block_marks(drive, b));
        }
        if (block->valid > block->written * drive->geo.units_per_page ||
            scarp_media_programmed(drive, b) > block->written) {
            return scarp_law_differs(error, "pages of block", b, block->valid,
                                     block->written);
        }
        free += block->state == BLOCK_FREE;
        bad += block->state == BLOCK_BAD;
        valid += block->valid;
    }
    if (free != rus->n_free[p]) {
        return scarp_law_differs(error, "free blocks of plane", p,
                                 rus->n_free[p], free);
    }
    if (bad != plane->n_bad) {
        return scarp_law_differs(error, "bad blocks of plane", p, plane->n_bad,
                                 bad);
    }
    return valid == plane->valid ||
           scarp_law_differs(error, "valid units of plane", p, plane->valid,
                             valid);
}

bool scarp_ru_check(const ScarpDrive *drive, uint32_t p, GError **error)
{
    return check_blocks(drive, p, error) &&
#ifdef SCARP_CHECKED
           check_streams(drive, p, error) &&
#endif
           (p % planes_of(drive) ||
            check_group(drive, scarp_ru_group(drive, p), error));
}
