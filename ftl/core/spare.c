/*
 * Blocks that a plane must have beside its data, so that an accepted
 * description works: full, and for ever. docs/model.md derives them in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description.h"

static uint64_t units_of_page(const ScarpDescription *d)
{
    return d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;
}

/*
 * Half as many blocks again as the plane's translation units need, each without
 * its last page, whose stale units are out of reach; then one for units on
 * their way in, and one for those that a collection of such a block moves.
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
 * Counts the blocks that are not full when the plane collects: the free block
 * that is kept for the collection, the one for recovery, GC's open block, an
 * aligned one, and the open blocks of the other streams.
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
    /* Valid units from which on a block is no victim. */
    uint64_t least = (d->pages_per_block - scarp_gain_pages(d)) * page_units +
                     1;
    /*
     * With so many full blocks not all of them can have least valid units, so
     * one is a victim. A page more, as a plane may get pages that others have
     * no room for.
     */
    uint64_t full = (pages + 1) * page_units / least + 1;

    return scarp_translation_blocks(d) +
           MAX(data + scarp_reserved_blocks(d),
               scarp_blocks_not_full(d) + full);
}
