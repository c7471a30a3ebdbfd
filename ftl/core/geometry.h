/*
 * Sizes of a drive that follow from its description and are fixed when it is
 * made.
 *
 * Addresses: an LPN names a logical mapping unit, and a PPN a physical one. A
 * flash page contains units_per_page units, next to each other. Planes, dies
 * and blocks are numbered through the whole drive: channel, then chip, die,
 * plane, block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GEOMETRY_H
#define SCARP_GEOMETRY_H

#include "core/description.h"
#include "core/divisor.h"

#define SCARP_NONE UINT32_MAX /* no unit, no block, no plane */
#define SCARP_CACHE_LINE 64

typedef struct {
    uint32_t n_dies, n_planes, n_blocks;
    uint32_t units_per_page, units_per_block, units_per_plane, unit_bytes;
    uint32_t logical_units; /* units that the host may address */
    /*
     * The number of all LPNs. The host's units come first, then parity pages or
     * records of deallocations, then translation units (parts of the mapping).
     * With ftl.checkpoint_pages the last translation unit says which checkpoint
     * is complete.
     */
    uint32_t mapped_units;
    uint32_t record_lpns; /* units whose deallocations a record can hold */
    uint32_t first_translation_unit; /* mapped_units if there are none */
    uint32_t translation_blocks; /* of a plane, for translation units alone */
    uint32_t recovery_blocks;        /* blocks of a plane for recovery alone */
    uint32_t kept_blocks;            /* translation_blocks + recovery_blocks */
    uint32_t translation_shift; /* log2 of a translation unit's entries */
    uint32_t gain_units; /* invalid units that a victim must have */
    /* mapping units of a victim: of a block, or of a reclaim unit */
    uint32_t victim_units;
    uint32_t reclaim_groups; /* sets of planes that share reclaim units */
    uint32_t not_full_blocks; /* scarp_blocks_not_full(), of a plane */
    uint32_t slc_pages; /* pages of a block in SLC mode; 0: no SLC cache */
    uint32_t static_blocks; /* of a plane, in SLC mode for ever */
    bool part_causes; /* causes have parts (core/cause_parts.h) */
    uint32_t unit_shift, page_shift; /* log2 of unit_bytes, units_per_page */
    ScarpDivisor by_units_per_block, by_units_per_plane, by_blocks_per_plane,
        by_planes_per_die, by_dies_per_channel, by_planes;
} ScarpGeometry;

ScarpGeometry scarp_geometry(const ScarpDescription *desc);

/* Returns the number of physical units of the drive. */
static inline uint64_t scarp_geometry_units(const ScarpGeometry *geo)
{
    return (uint64_t)geo->units_per_plane * geo->n_planes;
}

#endif /* SCARP_GEOMETRY_H */
