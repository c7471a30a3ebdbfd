/*
 * Reclaim units of several planes from an image: a unit is put together from
 * its blocks, which have been loaded, and from what their spare areas say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

uint32_t scarp_ru_open_at(const ScarpDrive *drive, uint32_t group, int point)
{
    return drive->blocks.rus->group[group].point[point].newer;
}

uint32_t scarp_ru_first_block(const ScarpDrive *drive, uint32_t number)
{
    return drive->blocks.rus->block[(uint64_t)number *
                                    drive->desc.reclaim_planes];
}

/* Returns the unit of these blocks, as their records have it. */
static ScarpRu sum_up(const ScarpDrive *drive, const uint32_t *block)
{
    ScarpRu unit = { .n_blocks = (uint32_t)drive->desc.reclaim_planes };

    unit.end = unit.n_blocks * (uint32_t)drive->desc.pages_per_block;

    unit.point = scarp_ru_point_for(drive, scarp_media_origin(drive, block[0]),
                                    scarp_media_stream(drive, block[0]));
    for (uint32_t i = 0; i < unit.n_blocks; i++) {
        const ScarpBlock *record = scarp_block_record(drive, block[i]);

        unit.valid += record->valid;
        unit.written += record->written;
        unit.modified_ns = i ? MAX(unit.modified_ns, record->modified_ns)
                             : record->modified_ns;
    }
    return unit;
}

static bool same_spare_areas(const ScarpDrive *drive, const uint32_t *block)
{
    for (uint32_t i = 1; i < drive->desc.reclaim_planes; i++) {
        if (scarp_media_origin(drive, block[i]) !=
                scarp_media_origin(drive, block[0]) ||
            scarp_media_stream(drive, block[i]) !=
                scarp_media_stream(drive, block[0])) {
            return false;
        }
    }
    return true;
}

/* Tells the laws which stream has written the unit's mapping units. */
static void remember_stream(ScarpDrive *drive, uint32_t b, const ScarpRu *unit)
{
    uint32_t first = scarp_block_ppn(drive, b);
    uint8_t *stream_of = drive->blocks.rus->stream_of;

    for (uint32_t i = 0; stream_of && i < drive->geo.units_per_block; i++) {
        if (scarp_valid_bits(drive, first + i, 1)) {
            stream_of[*scarp_media_lpns(drive, first + i)] =
                scarp_ru_point_stream(unit);
        }
    }
}

bool scarp_ru_load(ScarpDrive *drive, const uint32_t *block, bool full)
{
    ScarpRus *rus = drive->blocks.rus;
    uint32_t n = (uint32_t)drive->desc.reclaim_planes;
    uint32_t pages = n * (uint32_t)drive->desc.pages_per_block;
    uint32_t group = scarp_ru_group(drive, scarp_block_plane(drive, block[0]));
    uint32_t number = scarp_ru_number(drive, group, block[0]);
    ScarpRu unit = sum_up(drive, block);
    ScarpRuPoint *at = &rus->group[group].point[unit.point];

    if (!same_spare_areas(drive, block) || full != (unit.written == pages) ||
        (!full && (!unit.written || at->newer != SCARP_NONE))) {
        return false;
    }
    unit.state = full ? RU_FULL : RU_OPEN;
    for (uint32_t i = 0; i < n; i++) {
        rus->unit_of[block[i]] = number;
        rus->block[(uint64_t)number * n + i] = block[i];
        remember_stream(drive, block[i], &unit);
    }
    rus->unit[number] = unit;
    rus->group[group].valid += unit.valid;
    if (full) {
        scarp_full_append(drive, scarp_blocks_plane_of(drive, block[0]),
                          block[0]);
    } else {
        at->newer = number;
        at->reserved = unit.written;
        at->begun = true;
    }
    return true;
}

void scarp_ru_close_unused(ScarpDrive *drive)
{
    for (uint32_t g = 0; g < drive->geo.reclaim_groups; g++) {
        for (uint32_t s = (uint32_t)drive->desc.streams;
             s < SCARP_MAX_RU_STREAMS; s++) {
            uint32_t number = scarp_ru_open_at(drive, g, RU_POINT_HOST + s);

            if (number != SCARP_NONE) {
                scarp_mark(drive, closed_on_load);
                scarp_ru_close(drive, g, s);
            }
        }
    }
}
