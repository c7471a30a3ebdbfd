/*
 * Blocks that a plane must have beside those for its data, so that a drive of
 * an accepted description works when it is full, and for ever. docs/model.md
 * derives these numbers in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description.h"

static uint64_t units_of_page(const ScarpDescription *d)
{
    return d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;
}

/*
 * Returns half as many blocks again as the plane's translation units need, and
 * two more. Each block is counted without its last page, whose stale units a
 * collection may never reach. Of the two one is for new units, and one for
 * units that a collection moves.
 */
uint64_t scarp_translation_blocks(const ScarpDescription *d)
{
    uint64_t page_units = units_of_page(d);
    uint64_t unit_bytes = d->page_bytes / page_units;
    uint64_t block_units = d->pages_per_block * page_units;
    uint64_t entries = unit_bytes / SCARP_MAP_ENTRY_BYTES;
    uint64_t units = d->blocks_per_plane * block_units / entries + 1;

    if (d->mapping != MAPPING_DEMAND) {
        return 0;
    }
    return 2 + (units * 3 / 2 + block_units - page_units) /
                   (block_units - page_units + 1);
}

uint64_t scarp_plane_pages(const ScarpDescription *d)
{
    uint64_t translation = scarp_translation_blocks(d);
    uint64_t blocks = d->blocks_per_plane - MIN(d->blocks_per_plane,
                                                translation);

    return blocks * d->pages_per_block * 1000 /
           (1000 + d->over_provisioning_permille);
}

uint64_t scarp_bad_blocks(const ScarpDescription *d)
{
    return d->blocks_per_plane * d->bad_blocks_permille / 1000;
}

/*
 * Returns the number of blocks that are not full when the plane collects: the
 * free block that is kept for the collection, recovery's block, GC's open
 * block, an aligned block, and the open blocks of the other streams.
 */
uint64_t scarp_blocks_not_full(const ScarpDescription *d)
{
    return 1 + d->separate_active_block + (d->planes_per_die > 1) +
           d->streams - 1 + scarp_recovery_blocks(d);
}

uint64_t scarp_needed_blocks(const ScarpDescription *d)
{
    uint64_t pages = scarp_plane_pages(d), page_units = units_of_page(d);
    uint64_t data = (pages + d->pages_per_block - 1) / d->pages_per_block;
    /* a block with so many valid units, or more, is no victim */
    uint64_t least = (d->pages_per_block - scarp_gain_pages(d)) * page_units +
                     1;
    /*
     * If the plane has `full` full blocks, its data cannot fill each of them
     * with `least` valid units, so one of them is a victim. One page more is
     * counted, because a plane may get pages for which other planes have no
     * room.
     */
    uint64_t full = (pages + 1) * page_units / least + 1;

    return scarp_translation_blocks(d) +
           MAX(data + scarp_reserved_blocks(d),
               scarp_blocks_not_full(d) + full);
}
