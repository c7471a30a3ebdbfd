/*
 * Write points of reclaim units of several planes: each has a unit that it
 * fills, whose pages go round the planes of the group.
 *
 * A page gets its turn when its program is queued, and its place in a block
 * when the program starts. Programs of a plane start in their order, so the
 * unit that a plane's next page belongs to follows from how many pages each
 * unit gets (ScarpRu.end) and from what the plane has taken. The host may close
 * a unit while programs of it wait, and even before it is opened.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"
#include "nand/ops.h"

/* ---- Write points -------------------------------------------------------- */

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

/* Returns how many pages a unit has. */
static uint32_t all_pages(const ScarpDrive *drive)
{
    return (uint32_t)drive->desc.pages_per_block * scarp_ru_planes(drive);
}

static ScarpRuPoint *point_of(const ScarpDrive *drive, uint32_t p, int point)
{
    return &drive->blocks.rus->group[scarp_ru_group(drive, p)].point[point];
}

/* Returns how many pages of the plane a unit takes that gets so many pages. */
static uint32_t pages_in(const ScarpDrive *drive, uint32_t pages, uint32_t p)
{
    uint32_t n = scarp_ru_planes(drive);

    return pages / n + (drive->blocks.rus->turn_of[p] < pages % n);
}

/* Returns the plane's block in an open unit if it has a page left. */
static uint32_t with_page(const ScarpDrive *drive, uint32_t number, uint32_t p)
{
    uint32_t block;

    if (number == SCARP_NONE) {
        return SCARP_NONE;
    }
    block = scarp_ru_blocks(drive, number)[p - scarp_ru_first_plane(drive, p)];
    return scarp_block_written(drive, block) <
                   pages_in(drive, drive->blocks.rus->unit[number].end, p)
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
 * True when the write point may open a unit for the plane. It has two open ones
 * at most: a plane that goes a whole unit ahead of another waits for it. Units
 * are opened in their order: if the next one has no page for this plane, the
 * planes that it has pages for go first.
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
    if (at->ended && at->ended->len &&
        !pages_in(drive, g_array_index(at->ended, uint32_t, 0), p)) {
        scarp_mark(drive, other_plane_opens_unit);
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
    scarp_ru_count_free(drive, scarp_ru_group(drive, p));
    return b;
}

/*
 * Returns how many pages the point's next unit to be opened gets, as far as is
 * known: all, if the host may still write to it.
 */
static uint32_t take_end(const ScarpDrive *drive, ScarpRuPoint *at)
{
    uint32_t end = all_pages(drive);

    if (at->ended && at->ended->len) {
        end = g_array_index(at->ended, uint32_t, 0);
        g_array_remove_index(at->ended, 0);
    } else {
        at->begun = true;
    }
    return end;
}

static void open_unit(ScarpDrive *drive, uint32_t p, int point,
                      ScarpOrigin origin, uint16_t stream)
{
    ScarpRus *rus = drive->blocks.rus;
    ScarpRuPoint *at = point_of(drive, p, point);
    uint32_t n = scarp_ru_planes(drive), first = scarp_ru_first_plane(drive, p);
    uint32_t group = scarp_ru_group(drive, p);
    uint32_t number = scarp_ru_number(drive, group,
                                      drive->blocks.plane[first].free.head);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t b = scarp_free_pop(drive, &drive->blocks.plane[first + i]);

        rus->n_free[first + i]--;
        rus->unit_of[b] = number;
        scarp_ru_blocks(drive, number)[i] = b;
        scarp_block_record(drive, b)->state = BLOCK_ACTIVE;
        if (i) {
            scarp_media_open_beside(drive, b, scarp_ru_blocks(drive, number)[0]);
        } else {
            scarp_media_open(drive, b, origin, stream);
        }
        drive->blocks.opened[scarp_plane_die(drive, first + i)] = true;
    }
    rus->unit[number] = (ScarpRu) {
        .n_blocks = n, .point = point, .state = RU_OPEN,
        .end = take_end(drive, at),
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
    scarp_ru_count_free(drive, group);
    if (!at->begun) {
        scarp_ru_kick(drive, group); /* another plane may open the next one */
    }
}

void scarp_ru_kick(ScarpDrive *drive, uint32_t group)
{
    uint32_t n = scarp_ru_planes(drive);

    for (uint32_t p = group * n; p < group * n + n;
         p += (uint32_t)drive->desc.planes_per_die) {
        scarp_nand_kick(drive, scarp_plane_die(drive, p));
    }
}

/*
 * Passes over the pages that the unit will not get: its blocks count as full,
 * and the pages stay empty until the erase.
 */
static void skip_rest(ScarpDrive *drive, uint32_t number)
{
    const uint32_t *block = scarp_ru_blocks(drive, number);

    for (uint32_t i = 0; i < scarp_ru_planes(drive); i++) {
        ScarpBlock *record = scarp_block_record(drive, block[i]);
        uint32_t pages = (uint32_t)drive->desc.pages_per_block;

        scarp_media_set_programmed(
            drive, block[i],
            scarp_media_programmed(drive, block[i]) + pages - record->written);
        record->written = pages;
    }
    drive->blocks.rus->unit[number].written = all_pages(drive);
}

static void fill_unit(ScarpDrive *drive, uint32_t number, uint32_t group)
{
    ScarpRus *rus = drive->blocks.rus;
    ScarpRu *unit = &rus->unit[number];
    ScarpRuPoint *at = &rus->group[group].point[unit->point];
    const uint32_t *block = scarp_ru_blocks(drive, number);
    bool waited = at->older != SCARP_NONE && at->newer != SCARP_NONE;

    if (unit->written < all_pages(drive)) {
        skip_rest(drive, number);
    }
    *(at->older == number ? &at->older : &at->newer) = SCARP_NONE;
    unit->state = RU_FULL;
    for (uint32_t i = 0; i < scarp_ru_planes(drive); i++) {
        scarp_block_record(drive, block[i])->state = BLOCK_FULL;
    }
    scarp_full_append(drive, scarp_ru_lists(drive, group), block[0]);
    scarp_bucket_insert(drive, scarp_ru_lists(drive, group), block[0], unit->valid);
    if (waited) {
        scarp_ru_kick(drive, group);
    }
}

/* ---- Turns --------------------------------------------------------------- */

/* Ends the unit whose pages have programs: the next program is of another. */
static void end_unit(ScarpDrive *drive, uint32_t group, ScarpRuPoint *at)
{
    uint32_t end = at->reserved;

    at->reserved = 0;
    if (!at->begun) {
        if (!at->ended) {
            at->ended = g_array_new(false, false, sizeof(end));
        }
        g_array_append_val(at->ended, end);
        return;
    }
    at->begun = false;
    drive->blocks.rus->unit[at->newer].end = end;
    if (drive->blocks.rus->unit[at->newer].written == end) {
        fill_unit(drive, at->newer, group);
    }
}

uint32_t scarp_ru_next_plane(ScarpDrive *drive, uint32_t group,
                             ScarpOrigin origin, uint16_t stream)
{
    uint32_t n = scarp_ru_planes(drive);
    ScarpRuPoint *at = &drive->blocks.rus->group[group]
                            .point[scarp_ru_point_for(drive, origin, stream)];
    uint32_t turn = at->reserved % n;

    if (++at->reserved == all_pages(drive)) {
        end_unit(drive, group, at);
    }
    return drive->blocks.rus->plane_of[group * n + turn];
}

uint32_t scarp_ru_left(const ScarpDrive *drive, uint32_t group, uint16_t stream)
{
    return all_pages(drive) -
           drive->blocks.rus->group[group].point[RU_POINT_HOST + stream]
               .reserved;
}

bool scarp_ru_close(ScarpDrive *drive, uint32_t group, uint16_t stream)
{
    ScarpRuPoint *at =
        &drive->blocks.rus->group[group].point[RU_POINT_HOST + stream];

    if (!at->reserved) {
        return false;
    }
    scarp_mark_if(drive, closed_with_programs,
                  !at->begun || drive->blocks.rus->unit[at->newer].written <
                                    at->reserved);
    scarp_mark_if(drive, closed_before_opened, !at->begun);
    end_unit(drive, group, at);
    return true;
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
    number = scarp_ru_of(drive, block);
    unit = &drive->blocks.rus->unit[number];
    record = scarp_block_record(drive, block);
    ppn = scarp_block_ppn(drive, block) +
          record->written * drive->geo.units_per_page;
    record->written++;
    record->modified_ns = unit->modified_ns = scarp_time_ns(drive);
    if (++unit->written == unit->end) {
        fill_unit(drive, number, scarp_ru_group(drive, p));
    }
    return ppn;
}
