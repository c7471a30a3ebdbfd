/*
 * Reclaim units of several planes (ftl.reclaim_planes): how they are made,
 * collected and erased. A unit is a block of each plane of a group, taken from
 * the heads of the planes' free lists, so bad blocks, wear and free lists are
 * as on other drives. ru_points.c opens and fills units.
 *
 * The host leaves the group's last free unit to collections. They copy inside
 * their group, one victim at a time, and a victim is worth it only if its
 * copies leave a page of a unit over. So a collection opens one unit at most,
 * and then gives one back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"
#include "nand/ops.h"

static ScarpRu *unit_of(const ScarpDrive *drive, uint32_t block)
{
    return &drive->blocks.rus->unit[scarp_ru_of(drive, block)];
}

/* ---- Making ------------------------------------------------------------- */

uint64_t scarp_ru_bytes(const ScarpGeometry *geo)
{
    uint64_t numbers = (uint64_t)geo->n_blocks / geo->n_planes *
                       geo->reclaim_groups;

    return geo->reclaim_groups == geo->n_planes
               ? 0 : numbers * sizeof(ScarpRu) +
                     2ull * geo->n_blocks * sizeof(uint32_t) +
                     (uint64_t)geo->reclaim_groups * (geo->victim_units + 1) *
                         sizeof(ScarpBlockList);
}

/* Makes the first plane of the group have a bucket for each number of units. */
static void make_buckets(ScarpDrive *drive, uint32_t group)
{
    uint32_t n = drive->geo.victim_units + 1;
    ScarpBlocksPlane *lists = scarp_ru_lists(drive, group);

    lists->bucket = &drive->blocks.rus->buckets[(uint64_t)group * n];
    g_free(lists->bucket_filled);
    lists->bucket_filled = g_new0(uint64_t, n / 64 + 1);
    for (uint32_t i = 0; i < n; i++) {
        lists->bucket[i] = (ScarpBlockList) { SCARP_NONE, SCARP_NONE };
    }
}

/*
 * Counts the free units of the group, and tells its planes. A victim is no free
 * unit before its last block is erased, so its other blocks do not count yet.
 * They are at the ends of the planes' free lists, so no unit takes them.
 */
void scarp_ru_count_free(ScarpDrive *drive, uint32_t group)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t n = scarp_ru_planes(drive), least = UINT32_MAX;
    uint32_t first = group * n;

    for (uint32_t p = first; p < first + n; p++) {
        least = MIN(least, rus->n_free[p] - rus->early[p]);
    }
    for (uint32_t p = first; p < first + n; p++) {
        drive->blocks.plane[p].n_free = least;
    }
}

/* Makes the tables of the planes' turns in their group's stripe. */
static void make_stripes(ScarpDrive *drive, ScarpRus *rus)
{
    g_autofree uint32_t *turns = g_new0(uint32_t, drive->geo.reclaim_groups);

    rus->plane_of = g_new(uint32_t, drive->geo.n_planes);
    rus->turn_of = g_new(uint32_t, drive->geo.n_planes);
    for (uint32_t i = 0; i < drive->geo.n_planes; i++) {
        uint32_t p = scarp_plane_in_order(&drive->desc, i);
        uint32_t group = scarp_ru_group(drive, p);

        rus->turn_of[p] = turns[group]++;
        rus->plane_of[group * scarp_ru_planes(drive) + rus->turn_of[p]] = p;
    }
}

void scarp_blocks_set_units(ScarpDrive *drive)
{
    const ScarpGeometry *geo = &drive->geo;
    uint32_t n = scarp_ru_planes(drive);
    uint64_t units = geo->n_blocks / n;
    ScarpRus *rus;

    if (n == 1) {
        return;
    }
    rus = g_new0(ScarpRus, 1);
    rus->group = g_new0(ScarpRuGroup, geo->reclaim_groups);
    rus->unit = scarp_table_zeroed(units * sizeof(ScarpRu));
    rus->block = scarp_table_new(units * n * sizeof(uint32_t));
    rus->unit_of = scarp_table_new((uint64_t)geo->n_blocks * sizeof(uint32_t));
    rus->n_free = g_new(uint32_t, geo->n_planes);
    rus->early = g_new0(bool, geo->n_planes);
    rus->buckets = scarp_table_new((uint64_t)geo->reclaim_groups *
                                   (geo->victim_units + 1) *
                                   sizeof(ScarpBlockList));
#ifdef SCARP_CHECKED
    rus->stream_of = g_new0(uint8_t, geo->mapped_units);
#endif
    make_stripes(drive, rus);
    drive->blocks.rus = rus;
    for (uint32_t b = 0; b < geo->n_blocks; b++) {
        rus->unit_of[b] = SCARP_NONE;
    }
    for (uint32_t p = 0; p < geo->n_planes; p++) {
        rus->n_free[p] = drive->blocks.plane[p].n_free;
    }
    for (uint32_t g = 0; g < geo->reclaim_groups; g++) {
        for (int i = 0; i < RU_POINTS; i++) {
            rus->group[g].point[i].older = SCARP_NONE;
            rus->group[g].point[i].newer = SCARP_NONE;
        }
        make_buckets(drive, g);
        scarp_ru_count_free(drive, g);
    }
}

void scarp_ru_clear(ScarpDrive *drive)
{
    ScarpRus *rus = drive->blocks.rus;

    if (!rus) {
        return;
    }
    for (uint32_t g = 0; g < drive->geo.reclaim_groups; g++) {
        for (int i = 0; i < RU_POINTS; i++) {
            if (rus->group[g].point[i].ended) {
                g_array_unref(rus->group[g].point[i].ended);
            }
        }
    }
    g_free(rus->group);
    g_free(rus->plane_of);
    g_free(rus->turn_of);
    g_free(rus->n_free);
    g_free(rus->early);
    scarp_table_free(rus->unit);
    scarp_table_free(rus->block);
    scarp_table_free(rus->unit_of);
    scarp_table_free(rus->buckets);
    g_free(rus->stream_of);
    g_free(rus);
    drive->blocks.rus = NULL;
}

/* ---- Valid mapping units ------------------------------------------------- */

void scarp_ru_valid_changed(ScarpDrive *drive, uint32_t block, int change)
{
    ScarpRus *rus = drive->blocks.rus;
    uint32_t number = scarp_ru_of(drive, block);
    uint32_t group = scarp_ru_group(drive, scarp_block_plane(drive, block));
    ScarpRu *unit = &rus->unit[number];

    rus->group[group].valid += change;
    unit->modified_ns = scarp_time_ns(drive);
    if (unit->state == RU_FULL) {
        ScarpBlocksPlane *lists = scarp_ru_lists(drive, group);
        uint32_t first = scarp_ru_blocks(drive, number)[0];

        scarp_bucket_remove(drive, lists, first, unit->valid);
        scarp_bucket_insert(drive, lists, first, unit->valid + change);
    }
    unit->valid += change;
}

#ifdef SCARP_CHECKED
void scarp_ru_wrote(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    if (drive->blocks.rus) {
        drive->blocks.rus->stream_of[lpn] =
            scarp_media_stream(drive, scarp_ppn_block(drive, ppn));
    }
}
#endif

/* ---- Candidates and victims --------------------------------------------- */

uint32_t scarp_ru_valid(const ScarpDrive *drive, uint32_t block)
{
    return unit_of(drive, block)->valid;
}

int64_t scarp_ru_modified_ns(const ScarpDrive *drive, uint32_t block)
{
    return unit_of(drive, block)->modified_ns;
}

uint32_t scarp_ru_block_in(const ScarpDrive *drive, uint32_t block, uint32_t p)
{
    return scarp_ru_blocks(drive, scarp_ru_of(drive, block))
        [p - scarp_ru_first_plane(drive, p)];
}

bool scarp_ru_settled(const ScarpDrive *drive, uint32_t block)
{
    const uint32_t *blocks = scarp_ru_blocks(drive, scarp_ru_of(drive, block));

    for (uint32_t i = 0; i < scarp_ru_planes(drive); i++) {
        if (!scarp_block_settled(drive, blocks[i])) {
            return false;
        }
    }
    return true;
}

uint32_t scarp_ru_erases(const ScarpDrive *drive, uint32_t block)
{
    const uint32_t *blocks = scarp_ru_blocks(drive, scarp_ru_of(drive, block));
    uint64_t erases = 0;

    for (uint32_t i = 0; i < scarp_ru_planes(drive); i++) {
        erases += scarp_media_erases(drive, blocks[i]);
    }
    return erases / scarp_ru_planes(drive);
}

void scarp_ru_take_victim(ScarpDrive *drive, uint32_t block)
{
    ScarpRus *rus = drive->blocks.rus;
    uint32_t number = scarp_ru_of(drive, block), n = scarp_ru_planes(drive);
    uint32_t group = scarp_ru_group(drive, scarp_block_plane(drive, block));

    scarp_full_unlink(drive, scarp_ru_lists(drive, group), block);
    scarp_bucket_remove(drive, scarp_ru_lists(drive, group), block,
                        rus->unit[number].valid);
    rus->unit[number].state = RU_VICTIM;
    rus->group[group].victim = number;
    rus->group[group].collected = true;
    for (uint32_t i = 0; i < n; i++) {
        scarp_block_record(drive, scarp_ru_blocks(drive, number)[i])->state =
            BLOCK_VICTIM;
    }
}

uint16_t scarp_ru_victim_stream(const ScarpDrive *drive, uint32_t group)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint16_t stream =
        scarp_ru_point_stream(&rus->unit[rus->group[group].victim]);

    return scarp_is_isolated(&drive->desc, stream) ? stream : 0;
}

uint32_t scarp_ru_victim_block(const ScarpDrive *drive, uint32_t p)
{
    uint32_t victim =
        drive->blocks.rus->group[scarp_ru_group(drive, p)].victim;

    return scarp_ru_blocks(drive, victim)[p - scarp_ru_first_plane(drive, p)];
}

void scarp_ru_erased(ScarpDrive *drive, uint32_t block)
{
    ScarpRus *rus = drive->blocks.rus;
    uint32_t p = scarp_block_plane(drive, block);
    uint32_t group = scarp_ru_group(drive, p);
    uint32_t victim = rus->group[group].victim;

    if (rus->unit_of[block] == SCARP_NONE) {
        return; /* recovery found the block useless */
    }
    scarp_ru_blocks(drive, victim)[p - scarp_ru_first_plane(drive, p)] = SCARP_NONE;
    rus->unit_of[block] = SCARP_NONE;
    if (!--rus->unit[victim].n_blocks) {
        rus->unit[victim].state = RU_NONE;
        rus->group[group].collected = false;
        memset(&rus->early[group * scarp_ru_planes(drive)], 0,
               scarp_ru_planes(drive) * sizeof(*rus->early));
        scarp_ru_count_free(drive, group);
        scarp_ru_kick(drive, group); /* the next collection may be due */
    }
}

void scarp_ru_freed(ScarpDrive *drive, uint32_t block)
{
    uint32_t p = scarp_block_plane(drive, block);
    ScarpRus *rus = drive->blocks.rus;
    uint32_t group = scarp_ru_group(drive, p);

    rus->n_free[p]++;
    rus->early[p] = rus->group[group].collected;
    scarp_ru_count_free(drive, group);
}
