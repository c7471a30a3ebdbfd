/*
 * How many blocks a plane needs beside those for its data, so that GC never
 * gets stuck, even when the host has filled the drive. A description that gives
 * a plane fewer is refused. docs/model.md derives these numbers in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description.h"

static uint64_t units_of_page(const ScarpDescription *d)
{
    return d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;
}

/*
 * Returns the blocks for translation units (parts of the mapping, written with
 * ftl.mapping=demand): room for one and a half times the translation units of a
 * plane, and two more blocks. In each block, units_of_page() - 1 units are not
 * counted: GC never collects a block that has fewer stale units than a page. Of
 * the two blocks, one is open for new units and one for units that GC moves.
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
 * Returns how many blocks are empty or partly written when the plane collects:
 * GC's free block, recovery's block, GC's open block, an aligned block (for
 * copies that several planes write in step), and the open blocks of the other
 * streams.
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
    /* GC does not collect a block with `least` or more valid units */
    uint64_t least = (d->pages_per_block - scarp_gain_pages(d)) * page_units +
                     1;
    /*
     * If `full` blocks are full, the plane has too little data to put `least`
     * valid units into each, so GC finds a victim. One page more is counted,
     * because a plane may get pages for which other planes have no room.
     */
    uint64_t full = (pages + 1) * page_units / least + 1;

    return scarp_translation_blocks(d) +
           MAX(data + scarp_reserved_blocks(d),
               scarp_blocks_not_full(d) + full);
}
