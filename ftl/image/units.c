/*
 * Reclaim units of several planes in an image: for each group, its full units
 * in the order of filling, then the order of the full units by valid units,
 * then its open units. Each unit is saved as its blocks, one of each plane. The
 * records of these blocks say how many pages and valid units the unit has, and
 * which stream it is of.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"

/*
 * Marks of state.c: the block is in a full unit, in a list by valid units, or
 * in an open unit.
 */
enum { IN_UNIT = 2, IN_BUCKET = 4, IS_OPEN = 8 };

void image_add_units_class(const ScarpDescription *d, GString *text)
{
    if (!scarp_has_units(d)) {
        return;
    }
    g_string_append_printf(text, "ftl.reclaim_planes=%" G_GUINT64_FORMAT "\n",
                           d->reclaim_planes);
    if (d->isolated_streams) {
        g_string_append_printf(text, "ftl.streams=%" G_GUINT64_FORMAT
                               "\nftl.isolated_streams=%" G_GUINT64_FORMAT "\n",
                               d->streams, d->isolated_streams);
    }
}

/*
 * Visits the blocks of a unit: block[0], which the caller knows when it saves,
 * and one of each further plane of the group.
 */
static void visit_unit(ScarpDrive *drive, uint32_t first_plane, uint32_t *block,
                       ScarpBlockState state, uint8_t *seen,
                       ScarpVisit *visit)
{
    for (uint32_t i = 0; i < drive->desc.reclaim_planes && !visit->problem;
         i++) {
        uint32_t p = first_plane + i;
        uint8_t mark = state == BLOCK_ACTIVE ? IS_OPEN
                       : i ? IN_UNIT | IN_BUCKET : IN_UNIT;

        if (i && !visit->loading) {
            block[i] = scarp_ru_block_in(drive, block[0], p);
        }
        block[i] = image_visit_member(drive, p, block[i], state, seen, mark,
                                      visit);
    }
}

static void load_unit(ScarpDrive *drive, const uint32_t *block, bool full,
                      ScarpVisit *visit)
{
    if (visit->loading && !visit->problem &&
        !scarp_ru_load(drive, block, full)) {
        scarp_visit_fail(visit, "blocks %u and more are no reclaim unit",
                         block[0]);
    }
}

static void visit_full(ScarpDrive *drive, uint32_t p, uint32_t *block,
                       uint8_t *seen, ScarpVisit *visit)
{
    uint32_t n = scarp_plane_full_blocks(drive, p);
    uint32_t at = scarp_plane_oldest_full(drive, p);

    scarp_visit_u32(visit, "full reclaim units of a group", &n, 0,
                    drive->desc.blocks_per_plane);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        block[0] = at;
        visit_unit(drive, p, block, BLOCK_FULL, seen, visit);
        load_unit(drive, block, true, visit);
        if (!visit->loading) {
            at = scarp_blocks_next_full(drive, at);
        }
    }
    image_visit_buckets(drive, p, n, seen, IN_BUCKET, visit);
}

/*
 * Checks that the pages of an open unit have gone round the planes in the order
 * of ftl.allocation: only then has each plane a page left when it is its turn.
 */
static void check_order(const ScarpDrive *drive, uint32_t p,
                        const uint32_t *block, ScarpVisit *visit)
{
    uint32_t n = (uint32_t)drive->desc.reclaim_planes, turn = 0, written = 0;

    for (uint32_t i = 0; i < n; i++) {
        written += scarp_block_written(drive, block[i]);
    }
    for (uint32_t i = 0; i < drive->geo.n_planes; i++) {
        uint32_t own = scarp_plane_in_order(&drive->desc, i);

        if (scarp_ru_first_plane(drive, own) == p) {
            if (scarp_block_written(drive, block[own - p]) !=
                written / n + (turn < written % n)) {
                scarp_visit_fail(visit, "block %u of an open reclaim unit has "
                                 "%u of its pages", block[own - p],
                                 scarp_block_written(drive, block[own - p]));
            }
            turn++;
        }
    }
}

static void visit_open(ScarpDrive *drive, uint32_t p, uint32_t *block,
                       uint8_t *seen, ScarpVisit *visit)
{
    for (int i = 0; i < RU_POINTS && !visit->problem; i++) {
        uint32_t number = scarp_ru_open_at(drive, scarp_ru_group(drive, p), i);
        bool open = number != SCARP_NONE;

        scarp_visit_bool(visit, "an open reclaim unit", &open);
        if (!open) {
            continue;
        }
        if (!visit->loading) {
            block[0] = scarp_ru_first_block(drive, number);
        }
        visit_unit(drive, p, block, BLOCK_ACTIVE, seen, visit);
        load_unit(drive, block, false, visit);
        if (!visit->problem) {
            check_order(drive, p, block, visit);
        }
        if (visit->loading && !visit->problem &&
            scarp_ru_open_at(drive, scarp_ru_group(drive, p), i) ==
                SCARP_NONE) {
            scarp_visit_fail(visit, "blocks %u and more are open for another "
                             "stream", block[0]);
        }
    }
}

void image_visit_units(ScarpDrive *drive, uint8_t *seen, ScarpVisit *visit)
{
    uint32_t n = (uint32_t)drive->desc.reclaim_planes;
    g_autofree uint32_t *block = g_new0(uint32_t, n);

    if (visit->loading) {
        scarp_blocks_set_units(drive); /* the free blocks are loaded */
    }
    for (uint32_t p = 0; p < drive->geo.n_planes && !visit->problem; p += n) {
        visit_full(drive, p, block, seen, visit);
        visit_open(drive, p, block, seen, visit);
    }
}
