/*
 * The list of all mappings (ftl.mapping), and calls to the drive's mapping.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

/*
 * All mappings, by the values of ScarpMappingKind. A new mapping has to be
 * added here.
 */
static const ScarpMappingOps *const mappings[MAPPING__COUNT] = {
    [MAPPING_PAGE] = &scarp_mapping_page,
    [MAPPING_DEMAND] = &scarp_mapping_demand,
    [MAPPING_BLOCK] = &scarp_mapping_block,
    [MAPPING_SUPERBLOCK] = &scarp_mapping_superblock,
    [MAPPING_FAST] = &scarp_mapping_fast,
};

static const char *name_of(const ScarpDrive *drive)
{
    /*
     * scarp_map_add_class() needs the name before scarp_map_init() has set
     * drive->map.ops.
     */
    const ScarpMappingOps *ops = mappings[drive->desc.mapping];

    return ops ? ops->name : "none that is built";
}

void scarp_map_add_class(const ScarpDrive *drive, GString *text)
{
    const ScarpDescription *d = &drive->desc;

    /*
     * Images that were made before the key ftl.mapping existed lack this line.
     * As all of them have page mapping, the line is left out for "page".
     */
    if (d->mapping != MAPPING_PAGE) {
        g_string_append_printf(text, "ftl.mapping=%s\n",
                               name_of(drive));
    }
    if (d->mapping == MAPPING_SUPERBLOCK) {
        g_string_append_printf(text, "ftl.superblock_blocks=%"
                               G_GUINT64_FORMAT "\n", d->superblock_blocks);
    }
}

bool scarp_map_keeps_order(const ScarpDrive *drive)
{
    const ScarpMappingOps *ops = mappings[drive->desc.mapping];

    return ops && ops->can & MAP_KEEPS_ORDER;
}

uint64_t scarp_map_group_blocks(const ScarpDrive *drive)
{
    return drive->map.ops->group_blocks ? drive->map.ops->group_blocks(drive)
                                        : drive->geo.n_planes;
}

uint64_t scarp_map_ram_bytes(const ScarpDrive *drive)
{
    return drive->map.ops->ram_bytes ? drive->map.ops->ram_bytes(drive)
                                     : scarp_map_bytes(&drive->geo);
}

uint64_t scarp_map_table_bytes(const ScarpDrive *drive)
{
    return drive->map.ops->table_bytes ? drive->map.ops->table_bytes(drive)
                                       : scarp_map_ram_bytes(drive);
}

/*
 * True when the drive can recover this mapping after a power cut. A mapping
 * that lets a unit lie in any page needs no own functions for recovery.
 */
static bool recovers(const ScarpMappingOps *ops)
{
    return !(ops->can & MAP_PLACES_PAGES) ||
           (ops->recover && ops->mend && ops->mend_copied && ops->mend_filled);
}

bool scarp_map_init(ScarpDrive *drive, const ScarpConfig *config G_GNUC_UNUSED,
                    GError **error)
{
    ScarpMap *map = &drive->map;

    map->ops = mappings[drive->desc.mapping];
    if (!map->ops) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.mapping: this one is not built");
        return false;
    }
    map->can = map->ops->can;
    if (drive->desc.power_cuts && !recovers(map->ops)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                    "ftl.mapping=%s: does not recover from power cuts; "
                    "nand.power_cuts=0, or another mapping, is allowed",
                    map->ops->name);
        return false;
    }
    if (scarp_map_can(drive, MAP_MERGES)) {
        map->merge = scarp_table_zeroed(drive->geo.n_planes *
                                        sizeof(ScarpMerge));
    }
    map->ppn_of = scarp_table_none(drive->geo.mapped_units, error);
    if (!map->ppn_of || (map->ops->init && !map->ops->init(drive, error))) {
        return false;
    }
    drive->stats.map_ram_bytes = scarp_map_ram_bytes(drive);
    return true;
}

void scarp_map_clear(ScarpDrive *drive)
{
    if (drive->map.ops && drive->map.ops->clear) {
        drive->map.ops->clear(drive);
    }
    scarp_table_free(drive->map.merge);
    scarp_table_free(drive->map.ppn_of);
}

void scarp_map_visit(ScarpDrive *drive, ScarpVisit *visit)
{
    if (drive->map.ops->persist) {
        drive->map.ops->persist(drive, visit);
    }
}

char *scarp_mappings_text(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(mappings); i++) {
        if (mappings[i]) {
            g_string_append_printf(text, "ftl.mapping=%s: %s (%s)\n",
                                   mappings[i]->name, mappings[i]->help,
                                   mappings[i]->source);
            g_string_append_printf(text, "  goes with %s\n",
                                   i == MAPPING_PAGE
                                       ? "every choice above"
                                   : mappings[i]->can & MAP_PLACES_PAGES
                                       ? "what needs neither parity nor a "
                                         "mapping that lets a unit lie in any "
                                         "page"
                                       : "what does not need parity");
        }
    }
    return g_string_free(text, false);
}
