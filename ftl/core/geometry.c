/*
 * Sizes of a drive that follow from its description.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/geometry.h"

ScarpGeometry scarp_geometry(const ScarpDescription *d)
{
    ScarpGeometry geo = { 0 };

    geo.unit_bytes = d->unit_bytes ? d->unit_bytes : d->page_bytes;
    geo.units_per_page = d->page_bytes / geo.unit_bytes;
    geo.units_per_block = geo.units_per_page * d->pages_per_block;
    geo.units_per_plane = geo.units_per_block * d->blocks_per_plane;
    geo.n_dies = d->channels * d->chips_per_channel * d->dies_per_chip;
    geo.n_planes = geo.n_dies * d->planes_per_die;
    geo.n_blocks = geo.n_planes * d->blocks_per_plane;
    geo.unit_shift = __builtin_ctz(geo.unit_bytes);
    geo.page_shift = __builtin_ctz(geo.units_per_page);
    geo.by_units_per_block = scarp_divisor(geo.units_per_block);
    geo.by_units_per_plane = scarp_divisor(geo.units_per_plane);
    geo.by_blocks_per_plane = scarp_divisor(d->blocks_per_plane);
    geo.by_planes_per_die = scarp_divisor(d->planes_per_die);
    geo.by_dies_per_channel = scarp_divisor(d->chips_per_channel *
                                            d->dies_per_chip);
    geo.by_planes = scarp_divisor(geo.n_planes);
    geo.translation_blocks = scarp_translation_blocks(d);
    geo.recovery_blocks = scarp_recovery_blocks(d);
    geo.kept_blocks = geo.translation_blocks + geo.recovery_blocks;
    geo.victim_units = geo.units_per_block * (uint32_t)d->reclaim_planes;
    geo.reclaim_groups = geo.n_planes / (uint32_t)d->reclaim_planes;
    geo.gain_units = scarp_gain_units(d);
    geo.not_full_blocks = scarp_blocks_not_full(d);
    geo.slc_pages = scarp_has_slc(d) ? d->pages_per_block / d->cell_bits : 0;
    geo.static_blocks = d->slc_static_blocks;
    geo.part_causes = scarp_has_slc(d) || d->heat_capacity_mj;
    geo.translation_shift = geo.unit_shift -
                            __builtin_ctz(SCARP_MAP_ENTRY_BYTES);
    /* all planes have equally many units, so that striping fills them evenly */
    geo.mapped_units = scarp_plane_pages(d) * geo.n_planes *
                       geo.units_per_page;
    geo.logical_units = geo.mapped_units;
    if (d->parity_width) {
        geo.logical_units -= geo.mapped_units / d->parity_width;
    }
    /*
     * a record has 8 bytes for each of its units: when the unit was deallocated
     */
    geo.record_lpns = geo.unit_bytes / sizeof(uint64_t);
    if (d->recovery == RECOVERY_ALL) {
        geo.logical_units -= (geo.mapped_units + geo.record_lpns) /
                             (geo.record_lpns + 1);
    }
    geo.first_translation_unit = geo.mapped_units;
    if (geo.translation_blocks) {
        geo.mapped_units += ((geo.logical_units - 1) >> geo.translation_shift) +
                            1;
        /* the last translation unit says which checkpoint is complete */
        geo.mapped_units += d->checkpoint_pages != 0;
    }
    return geo;
}
