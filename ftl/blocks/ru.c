/*
 * Reclaim units of several planes (ftl.reclaim_planes): how they are opened,
 * filled, collected and erased. A unit is a block of each plane of a group,
 * taken from the heads of the planes' free lists, so bad blocks, wear and free
 * lists are as on other drives.
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

static uint32_t planes_of(const ScarpDrive *drive)
{
    return (uint32_t)drive->desc.reclaim_planes;
}

static uint32_t *blocks_of(const ScarpDrive *drive, uint32_t number)
{
    return &drive->blocks.rus->block[(uint64_t)number * planes_of(drive)];
}

/* Returns the number of the full or open unit with this first block. */
static uint32_t number_of(const ScarpDrive *drive, uint32_t block)
{
    return drive->blocks.rus->unit_of[block];
}

static ScarpRu *unit_of(const ScarpDrive *drive, uint32_t block)
{
    return &drive->blocks.rus->unit[number_of(drive, block)];
}

static ScarpBlocksPlane *lists_of(const ScarpDrive *drive, uint32_t group)
{
    return &drive->blocks.plane[group * planes_of(drive)];
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
    ScarpBlocksPlane *lists = lists_of(drive, group);

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
static void count_free(ScarpDrive *drive, uint32_t group)
{
    const ScarpRus *rus = drive->blocks.rus;
    uint32_t n = planes_of(drive), least = UINT32_MAX;
    uint32_t first = group * n;

    for (uint32_t p = first; p < first + n; p++) {
        least = MIN(least, rus->n_free[p] - rus->early[p]);
    }
    for (uint32_t p = first; p < first + n; p++) {
        drive->blocks.plane[p].n_free = least;
    }
}

void scarp_blocks_set_units(ScarpDrive *drive)
{
    const ScarpGeometry *geo = &drive->geo;
    uint32_t n = planes_of(drive);
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
        count_free(drive, g);
    }
}

void scarp_ru_clear(ScarpDrive *drive)
{
    ScarpRus *rus = drive->blocks.rus;

    if (!rus) {
        return;
    }
    g_free(rus->group);
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

/* ---- Opening and filling ------------------------------------------------ */

int scarp_ru_point_for(const ScarpDrive *drive, ScarpOrigin origin,
                       uint16_t stream)
{
    return origin == SCARP_ORIGIN_HOST ? RU_POINT_HOST + stream
           : scarp_is_isolated(&drive->desc, stream)
               ? RU_POINT_ISOLATED + stream : RU_POINT_GC;
}

uint16_t scarp_ru_point_stream(const ScarpRu *unit)
{
    return unit->point >= RU_POINT_ISOLATED ? unit->point - RU_POINT_ISOLATED
           : unit->point >= RU_POINT_HOST   ? unit->point - RU_POINT_HOST : 0;
}

/* True for the write points of copies, which may open the last free unit. */
static bool is_of_copies(int point)
{
    return point == RU_POINT_GC || point >= RU_POINT_ISOLATED;
}

static ScarpRuPoint *point_of(const ScarpDrive *drive, uint32_t p, int point)
{
    return &drive->blocks.rus->group[scarp_ru_group(drive, p)].point[point];
}

/* Returns the plane's block in an open unit if it has a page left. */
static uint32_t with_page(const ScarpDrive *drive, uint32_t number, uint32_t p)
{
    uint32_t block;

    if (number == SCARP_NONE) {
        return SCARP_NONE;
    }
    block = blocks_of(drive, number)[p - scarp_ru_first_plane(drive, p)];
    return scarp_block_written(drive, block) < drive->desc.pages_per_block
               ? block : SCARP_NONE;
}

/* Returns the open block for the plane's next page, or SCARP_NONE. */
static uint32_t open_block(const ScarpDrive *drive, uint32_t p, int point)
{
    const ScarpRuPoint *at = point_of(drive, p, point);
    uint32_t block = with_page(drive, at->older, p);

    return block != SCARP_NONE ? block : with_page(drive, at->newer, p);
}

/*
 * True when the write point may open a unit. It has two open ones at most: a
 * plane that goes a whole unit ahead of another waits for it.
 */
static bool may_open(const ScarpDrive *drive, uint32_t p, int point)
{
    const ScarpRuPoint *at = point_of(drive, p, point);
    uint32_t left = is_of_copies(point) ? 0 : 1;

    scarp_mark_if(drive, unit_kept_for_collection,
                  left && scarp_plane_free_blocks(drive, p) == 1);
    if (at->older != SCARP_NONE && at->newer != SCARP_NONE) {
        scarp_mark(drive, plane_a_unit_ahead);
        return false;
    }
    return scarp_plane_free_blocks(drive, p) > left;
}

bool scarp_ru_possible(const ScarpDrive *drive, uint32_t p, ScarpOrigin origin,
                       uint16_t stream)
{
    int point = scarp_ru_point_for(drive, origin, stream);

    return open_block(drive, p, point) != SCARP_NONE ||
           may_open(drive, p, point);
}

uint32_t scarp_ru_offset(const ScarpDrive *drive, uint32_t p,
                         ScarpOrigin origin, uint16_t stream)
{
    uint32_t block = open_block(drive, p,
                                scarp_ru_point_for(drive, origin, stream));

    return block == SCARP_NONE ? 0 : scarp_block_written(drive, block);
}

uint32_t scarp_ru_next_turn(ScarpDrive *drive, uint32_t group,
                            ScarpOrigin origin, uint16_t stream)
{
    ScarpRuPoint *at = &drive->blocks.rus->group[group]
                            .point[scarp_ru_point_for(drive, origin, stream)];
    uint32_t turn = at->turn;

    at->turn = turn + 1 == planes_of(drive) ? 0 : turn + 1;
    return turn;
}

uint32_t scarp_ru_number(const ScarpDrive *drive, uint32_t group,
                         uint32_t block)
{
    return group * (uint32_t)drive->desc.blocks_per_plane +
           block % (uint32_t)drive->desc.blocks_per_plane;
}

uint32_t scarp_ru_take_free(ScarpDrive *drive, uint32_t p)
{
    uint32_t b = scarp_free_pop(drive, &drive->blocks.plane[p]);

    drive->blocks.rus->n_free[p]--;
    count_free(drive, scarp_ru_group(drive, p));
    return b;
}

static void open_unit(ScarpDrive *drive, uint32_t p, int point,
                      ScarpOrigin origin, uint16_t stream)
{
    ScarpRus *rus = drive->blocks.rus;
    ScarpRuPoint *at = point_of(drive, p, point);
    uint32_t n = planes_of(drive), first = scarp_ru_first_plane(drive, p);
    uint32_t group = scarp_ru_group(drive, p);
    uint32_t number = scarp_ru_number(drive, group,
                                      drive->blocks.plane[first].free.head);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = scarp_free_pop(drive, &drive->blocks.plane[first + i]);

        rus->n_free[first + i]--;
        rus->unit_of[b] = number;
        blocks_of(drive, number)[i] = b;
        scarp_block_record(drive, b)->state = BLOCK_ACTIVE;
        if (i) {
            scarp_media_open_beside(drive, b, blocks_of(drive, number)[0]);
        } else {
            scarp_media_open(drive, b, origin, stream);
        }
        drive->blocks.opened[scarp_plane_die(drive, first + i)] = true;
    }
    rus->unit[number] = (ScarpRu) {
        .n_blocks = n, .point = point, .state = RU_OPEN,
    };
    scarp_mark_if(drive, opened_beside_victim, rus->group[group].collected);
    scarp_mark_if(drive, isolated_copies_opened, point >= RU_POINT_ISOLATED);
    scarp_mark_if(drive, isolated_copies_took_last,
                  point >= RU_POINT_ISOLATED &&
                  scarp_plane_free_blocks(drive, first) == 1);
    scarp_mark_if(drive, two_units_open,
                  at->older != SCARP_NONE || at->newer != SCARP_NONE);
    if (at->older == SCARP_NONE) {
        at->older = at->newer;
        at->newer = number;
    } else {
        at->newer = number;
    }
    count_free(drive, group);
}

/* Lets all dies of the group look for work: programs may have a page now. */
static void kick(ScarpDrive *drive, uint32_t group)
{
    uint32_t n = planes_of(drive);

    for (uint32_t p = group * n; p < group * n + n;
         p += (uint32_t)drive->desc.planes_per_die) {
        scarp_nand_kick(drive, scarp_plane_die(drive, p));
    }
}

static void fill_unit(ScarpDrive *drive, uint32_t number, uint32_t group)
{
    ScarpRus *rus = drive->blocks.rus;
    ScarpRu *unit = &rus->unit[number];
    ScarpRuPoint *at = &rus->group[group].point[unit->point];
    const uint32_t *block = blocks_of(drive, number);
    bool waited = at->older != SCARP_NONE && at->newer != SCARP_NONE;

    *(at->older == number ? &at->older : &at->newer) = SCARP_NONE;
    unit->state = RU_FULL;
    for (uint32_t i = 0; i < planes_of(drive); i++) {
        scarp_block_record(drive, block[i])->state = BLOCK_FULL;
    }
    scarp_full_append(drive, lists_of(drive, group), block[0]);
    scarp_bucket_insert(drive, lists_of(drive, group), block[0], unit->valid);
    if (waited) {
        kick(drive, group);
    }
}

void scarp_ru_close_early(ScarpDrive *drive, uint32_t number, uint32_t group)
{
    uint32_t pages = (uint32_t)drive->desc.pages_per_block;
    const uint32_t *block = blocks_of(drive, number);

    for (uint32_t i = 0; i < planes_of(drive); i++) {
        scarp_block_record(drive, block[i])->written = pages;
        scarp_media_set_programmed(drive, block[i], pages);
    }
    drive->blocks.rus->unit[number].written = pages * planes_of(drive);
    drive->blocks.rus->group[group]
        .point[drive->blocks.rus->unit[number].point].turn = 0;
    fill_unit(drive, number, group);
}

uint32_t scarp_ru_take(ScarpDrive *drive, uint32_t p, ScarpOrigin origin,
                       uint16_t stream)
{
    int point = scarp_ru_point_for(drive, origin, stream);
    uint32_t block = open_block(drive, p, point), ppn, number;
    ScarpBlock *record;
    ScarpRu *unit;

    if (block == SCARP_NONE) {
        open_unit(drive, p, point, origin, stream);
        block = open_block(drive, p, point);
    }
    number = number_of(drive, block);
    unit = &drive->blocks.rus->unit[number];
    record = scarp_block_record(drive, block);
    ppn = scarp_block_ppn(drive, block) +
          record->written * drive->geo.units_per_page;
    record->written++;
    record->modified_ns = unit->modified_ns = scarp_time_ns(drive);
    if (++unit->written == drive->desc.pages_per_block * planes_of(drive)) {
        fill_unit(drive, number, scarp_ru_group(drive, p));
    }
    return ppn;
}

void scarp_ru_valid_changed(ScarpDrive *drive, uint32_t block, int change)
{
    ScarpRus *rus = drive->blocks.rus;
    uint32_t number = number_of(drive, block);
    uint32_t group = scarp_ru_group(drive, scarp_block_plane(drive, block));
    ScarpRu *unit = &rus->unit[number];

    rus->group[group].valid += change;
    unit->modified_ns = scarp_time_ns(drive);
    if (unit->state == RU_FULL) {
        ScarpBlocksPlane *lists = lists_of(drive, group);
        uint32_t first = blocks_of(drive, number)[0];

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
    return blocks_of(drive, number_of(drive, block))
        [p - scarp_ru_first_plane(drive, p)];
}

bool scarp_ru_settled(const ScarpDrive *drive, uint32_t block)
{
    const uint32_t *blocks = blocks_of(drive, number_of(drive, block));

    for (uint32_t i = 0; i < planes_of(drive); i++) {
        if (!scarp_block_settled(drive, blocks[i])) {
            return false;
        }
    }
    return true;
}

uint32_t scarp_ru_erases(const ScarpDrive *drive, uint32_t block)
{
    const uint32_t *blocks = blocks_of(drive, number_of(drive, block));
    uint64_t erases = 0;

    for (uint32_t i = 0; i < planes_of(drive); i++) {
        erases += scarp_media_erases(drive, blocks[i]);
    }
    return erases / planes_of(drive);
}

void scarp_ru_take_victim(ScarpDrive *drive, uint32_t block)
{
    ScarpRus *rus = drive->blocks.rus;
    uint32_t number = number_of(drive, block), n = planes_of(drive);
    uint32_t group = scarp_ru_group(drive, scarp_block_plane(drive, block));

    scarp_full_unlink(drive, lists_of(drive, group), block);
    scarp_bucket_remove(drive, lists_of(drive, group), block,
                        rus->unit[number].valid);
    rus->unit[number].state = RU_VICTIM;
    rus->group[group].victim = number;
    rus->group[group].collected = true;
    for (uint32_t i = 0; i < n; i++) {
        scarp_block_record(drive, blocks_of(drive, number)[i])->state =
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
    return blocks_of(
        drive, drive->blocks.rus->group[scarp_ru_group(drive, p)].victim)
            [p - scarp_ru_first_plane(drive, p)];
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
    blocks_of(drive, victim)[p - scarp_ru_first_plane(drive, p)] = SCARP_NONE;
    rus->unit_of[block] = SCARP_NONE;
    if (!--rus->unit[victim].n_blocks) {
        rus->unit[victim].state = RU_NONE;
        rus->group[group].collected = false;
        memset(&rus->early[group * planes_of(drive)], 0,
               planes_of(drive) * sizeof(*rus->early));
        count_free(drive, group);
        kick(drive, group); /* the next collection may be due */
    }
}

void scarp_ru_freed(ScarpDrive *drive, uint32_t block)
{
    uint32_t p = scarp_block_plane(drive, block);
    ScarpRus *rus = drive->blocks.rus;
    uint32_t group = scarp_ru_group(drive, p);

    rus->n_free[p]++;
    rus->early[p] = rus->group[group].collected;
    count_free(drive, group);
}
