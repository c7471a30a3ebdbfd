/*
 * Reclaim units of several planes after a power cut. The blocks of a unit have
 * one sequence number in their spare areas, which tells what belongs together.
 * A unit with valid mapping units becomes full, and gets no more pages. Its
 * blocks without any readable page tell nothing: some were opened and not
 * written yet, some had been erased as a victim's, and some erases were cut
 * short. Other blocks of their planes that have no readable page either take
 * their places, so that a unit always has a block in each plane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

static bool is_readable(const ScarpDrive *drive, uint32_t b)
{
    uint32_t pages = (uint32_t)drive->desc.pages_per_block;

    for (uint32_t i = 0; i < scarp_media_used_pages(drive, b); i++) {
        if (scarp_media_page(drive, b * pages + i) == PAGE_PROGRAMMED) {
            return true;
        }
    }
    return false;
}

/*
 * Returns a block of the plane that has no readable page: one whose erase or
 * first program was cut short, or a free one. There is one, as the unit's own
 * block is among them, or became bad when another one was free.
 */
static uint32_t take_unreadable(ScarpDrive *drive, uint32_t p)
{
    uint32_t blocks = (uint32_t)drive->desc.blocks_per_plane;

    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        if (scarp_block_record(drive, b)->state == BLOCK_APART &&
            !is_readable(drive, b)) {
            scarp_mark(drive, unit_with_torn_block);
            return b;
        }
    }
    scarp_mark(drive, unit_with_erased_block);
    return scarp_ru_take_free(drive, p);
}

/* Makes a full unit of the n blocks, unless none has a valid unit. */
static void put_together(ScarpDrive *drive, const uint32_t *member, uint32_t n)
{
    uint32_t planes = (uint32_t)drive->desc.reclaim_planes, valid = 0;
    uint32_t first = scarp_ru_first_plane(drive,
                                          scarp_block_plane(drive, member[0]));
    g_autofree uint32_t *block = g_new(uint32_t, planes);
    bool loaded;

    for (uint32_t i = 0; i < planes; i++) {
        block[i] = SCARP_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        block[scarp_block_plane(drive, member[i]) - first] = member[i];
        valid += scarp_block_valid(drive, member[i]);
    }
    if (!valid) {
        return; /* recovery erases the blocks */
    }
    for (uint32_t i = 0; i < planes; i++) {
        if (block[i] == SCARP_NONE) {
            block[i] = take_unreadable(drive, first + i);
            scarp_media_open_beside(drive, block[i], member[0]);
        }
        scarp_block_close_early(drive, block[i]);
        scarp_block_record(drive, block[i])->state = BLOCK_FULL;
    }
    loaded = scarp_ru_load(drive, block, true);
    g_assert(loaded);
    scarp_blocks_add_candidate(drive, block[0]);
}

void scarp_ru_recover(ScarpDrive *drive, const uint32_t *used, uint32_t n)
{
    g_autofree uint32_t *member = g_new(uint32_t, n);
    uint32_t n_members = 0;

    scarp_blocks_set_units(drive);
    drive->blocks.rus->recovers = true;
    for (uint32_t i = 0; i < n; i++) {
        if (is_readable(drive, used[i])) {
            member[n_members++] = used[i];
        }
    }
    for (uint32_t i = 0, end; i < n_members; i = end) {
        uint64_t seq = scarp_media_seq(drive, member[i]);

        end = i + 1;
        while (end < n_members &&
               scarp_media_seq(drive, member[end]) == seq) {
            end++;
        }
        put_together(drive, &member[i], end - i);
    }
    /* collections may be due at once */
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        drive->blocks.opened[die] = true;
    }
}

uint32_t scarp_ru_least_valid(const ScarpDrive *drive, uint32_t group)
{
    uint32_t p = group * (uint32_t)drive->desc.reclaim_planes;

    for (uint32_t v = 0; v <= drive->geo.victim_units; v++) {
        if (scarp_bucket_first(drive, p, v) != SCARP_NONE) {
            return scarp_bucket_first(drive, p, v);
        }
    }
    return SCARP_NONE;
}
