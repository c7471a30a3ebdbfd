/*
 * Computes how many blocks a plane needs beside those for its data, so that GC
 * always finds a victim, even when the host has filled the drive. A description
 * that gives a plane fewer blocks is refused. docs/model.md derives these
 * numbers in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description.h"

static uint64_t units_of_page(const ScarpDescription *d)
{
    return d->unit_bytes ? d->page_bytes / d->unit_bytes : 1;
}

/*
 * Returns the number of blocks for translation units (parts of the mapping,
 * written with ftl.mapping=demand): room for one and a half times the
 * translation units of a plane, and two more blocks, one open for new units and
 * one open for units that GC moves. Not counted are units_of_page() - 1 units
 * of each block: GC never collects a block with fewer stale units than a page
 * has.
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
    uint64_t blocks = d->blocks_per_plane -
                      MIN(d->blocks_per_plane,
                          translation + d->slc_static_blocks);

    return blocks * d->pages_per_block * 1000 /
           (1000 + d->over_provisioning_permille);
}

/*
 * Planes are in several groups if a reclaim unit has blocks in some of the
 * planes only. Each page of the host then goes to a group that has at most a
 * group's share of all data and of all that the buffer can hold
 * (allocation/reclaim.c). So a group gets at most that share and one page.
 * Copies do not change the number, because they stay in their group.
 */
uint64_t scarp_uneven_pages(const ScarpDescription *d)
{
    uint64_t planes = d->channels * d->chips_per_channel * d->dies_per_chip *
                      d->planes_per_die;
    uint64_t buffer = d->buffer_bytes / d->page_bytes;

    return scarp_has_units(d) && d->reclaim_planes < planes
               ? (buffer + planes - 1) / planes + 1 : 0;
}

uint64_t scarp_bad_blocks(const ScarpDescription *d)
{
    return d->blocks_per_plane * d->bad_blocks_permille / 1000;
}

/*
 * Returns how many blocks of a plane are free while a write of the host waits.
 * A write that waits for a collection leaves GC's one block. With
 * slc.full=fold, a write that waits for the fold of a static block leaves
 * gc.trigger_free_blocks, and a write that waits until a block can be opened in
 * SLC mode leaves scarp_reserved_blocks().
 */
static uint64_t free_when_waiting(const ScarpDescription *d)
{
    return d->slc_full != SLC_FOLD ? 1
           : d->slc_static_blocks >= d->streams ? d->trigger_free_blocks
                                                : scarp_reserved_blocks(d);
}

/*
 * Returns how many older units streams of the host may have open while one of
 * their programs waits for a free unit. That program is the oldest that waits,
 * so its own stream has none open. Another stream may have two: the older one
 * has pages whose programs wait behind that program in a plane's queue, while
 * other planes have begun the newer one.
 */
static uint64_t older_open_units(const ScarpDescription *d)
{
    return scarp_has_units(d) ? d->streams - 1 : 0;
}

/*
 * Returns how many blocks are empty or partly written when the plane collects.
 * These are the free blocks, recovery's block, GC's open blocks, an aligned
 * block (for multi-plane programs), the open blocks of the other streams, and
 * each stream's open block of a dynamic SLC cache.
 */
uint64_t scarp_blocks_not_full(const ScarpDescription *d)
{
    return free_when_waiting(d) +
           (d->separate_active_block ? scarp_copy_blocks(d) : 0) +
           (d->planes_per_die > 1) + d->streams - 1 + older_open_units(d) +
           scarp_recovery_blocks(d) + scarp_slc_open_blocks(d);
}

/*
 * With reclaim units of several planes (ftl.reclaim_planes) each number is that
 * of a plane's part of the units. A group of planes is like one plane whose
 * blocks are the units: when the host's next page waits for a collection, one
 * unit is free, which is GC's, GC's own unit is open, and each other stream may
 * have two open units (older_open_units()). A unit that the host has closed
 * before it was full counts as full: it has less valid data than others.
 *
 * The numbers hold plane by plane because a unit of N planes may have N times
 * as many stale mapping units as a block before it is worth a collection
 * (scarp_gain_units()).
 *
 * Each persistently isolated stream (ftl.isolated_streams) has an open unit for
 * its copies. A collection may open the last free unit for them, and then frees
 * its victim. The victim needs less room for its copies than it frees, by a
 * page at least. So after finitely many collections the open units have room
 * for all copies of a victim, and that victim is a free unit for the host.
 *
 * GC finds a victim on a drive with an SLC cache, too:
 * - Static blocks (slc.static_blocks) need no space for data: the other blocks
 *   have room for all data that is in static blocks.
 * - A full dynamic SLC block stores the data of 1/cell_bits of a block. Its
 *   fold fills that part of GC's block, and frees a whole block. So the fold
 *   always gains space, and a plane with such a block is never short of
 *   victims. With ftl.paired_pages=pad that needs SLC blocks of two pages or
 *   more, as the fold fills whole cells.
 * - The fold of a static block frees no block that GC could use, and may open
 *   one. The fold begins only with more than gc.trigger_free_blocks free
 *   blocks, and the pages that it needs are reserved for it, so GC's last free
 *   block stays. GC can free that many blocks, because scarp_slc_spare_blocks()
 *   counts one block beyond the trigger's.
 * - With slc.full=fold a write waits until a block can be opened in SLC mode. A
 *   static block can be opened once one is folded: there are as many static
 *   blocks as streams, and the waiting stream has no open one. A dynamic block
 *   can be opened when more than scarp_reserved_blocks() blocks are free. GC
 *   and folds go on until then. They can free that many blocks, because the
 *   host has no open block in the real mode, and scarp_slc_spare_blocks()
 *   counts the open SLC blocks of all streams.
 */
uint64_t scarp_needed_blocks(const ScarpDescription *d)
{
    uint64_t pages = scarp_plane_pages(d) + scarp_uneven_pages(d);
    uint64_t page_units = units_of_page(d);
    uint64_t data = (pages + d->pages_per_block - 1) / d->pages_per_block;
    /* GC does not collect a block with `least` or more valid units */
    uint64_t least = (d->pages_per_block - scarp_gain_pages(d)) * page_units +
                     1;
    /*
     * With `full` full blocks, the plane has too little data to put `least`
     * valid units into each of them, so GC finds a victim. One page more is
     * counted, because a plane may get pages for which other planes have no
     * room.
     */
    uint64_t full = (pages + 1) * page_units / least + 1;

    return scarp_translation_blocks(d) + d->slc_static_blocks +
           MAX(data + scarp_reserved_blocks(d) + scarp_slc_spare_blocks(d),
               scarp_blocks_not_full(d) + full);
}
