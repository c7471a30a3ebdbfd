/*
 * Demand-cached page mapping (DFTL: Gupta, Kim, Urgaonkar, ASPLOS 2009). The
 * mapping table lies on flash, cut into translation units, and RAM has a cache
 * of the entries in use.
 *
 * This file creates the mapping, loads it from an image, and computes the RAM
 * that it needs. map/demand_cache.c has the cache of entries.
 * map/demand_units.c reads and writes translation units.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

/*
 * Returns the smallest number of entries that the cache may have: one for each
 * unit of the write buffer, as each such unit can pin an entry, and 16 for
 * reads.
 */
static uint64_t least_entries(const ScarpDrive *drive)
{
    uint64_t buffered = drive->desc.buffer_bytes / drive->geo.unit_bytes;

    return MIN(buffered + 16, drive->geo.logical_units);
}

static uint64_t entries(const ScarpDrive *drive)
{
    uint64_t bytes = drive->desc.map_cache_bytes
                         ? drive->desc.map_cache_bytes
                         : scarp_map_bytes(&drive->geo) / 100;

    return CLAMP(bytes / DEMAND_ENTRY_BYTES, least_entries(drive),
                 drive->geo.logical_units);
}

uint64_t scarp_map_cache_bytes(const ScarpDrive *drive)
{
    /*
     * Beside its record, each entry needs up to two slots of the hash table,
     * each of four bytes.
     */
    return drive->geo.first_translation_unit == drive->geo.mapped_units
               ? 0 : entries(drive) * (sizeof(Entry) + 2 * sizeof(uint32_t));
}

static bool count_entries(ScarpDrive *drive, uint64_t *n, GError **error)
{
    uint64_t least = least_entries(drive);
    uint64_t bytes = drive->desc.map_cache_bytes;

    if (bytes && bytes / DEMAND_ENTRY_BYTES < least) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.map_cache_bytes=%" G_GUINT64_FORMAT ": must be 0, or "
                    "at least %" G_GUINT64_FORMAT ", %d for each unit of "
                    "controller.buffer_bytes and 16 more", bytes,
                    least * DEMAND_ENTRY_BYTES, DEMAND_ENTRY_BYTES);
        return false;
    }
    *n = entries(drive);
    return true;
}

static void init_entries(ScarpDemand *demand)
{
    uint32_t n = demand->n_entries;

    while ((uint64_t)demand->hash_mask + 1 < n) {
        demand->hash_mask = demand->hash_mask * 2 + 1;
    }
    demand->hash = scarp_table_new(((uint64_t)demand->hash_mask + 1) *
                                   sizeof(*demand->hash));
    memset(demand->hash, 0xff,
           ((uint64_t)demand->hash_mask + 1) * sizeof(*demand->hash));
    demand->entry = scarp_table_zeroed(n * sizeof(*demand->entry));
    demand->probation = demand->protected =
        (EntryList) { SCARP_NONE, SCARP_NONE, 0 };
    for (uint32_t i = 0; i < n; i++) {
        demand->entry[i].next = i + 1 < n ? i + 1 : SCARP_NONE;
    }
}

static void init_units(ScarpDrive *drive, ScarpDemand *demand)
{
    uint32_t planes = drive->geo.n_planes;

    uint32_t n = drive->geo.mapped_units - drive->geo.first_translation_unit;

    demand->n_tus = n - scarp_has_checkpoints(drive);
    demand->tu = scarp_table_zeroed(n * sizeof(*demand->tu));
    for (uint32_t i = 0; i < n; i++) {
        demand->tu[i].dirty = SCARP_NONE;
    }
    demand->plane_of = g_new(uint32_t, planes);
    demand->packer = g_new0(ScarpPacker, planes);
    demand->batch = g_new(TuList, planes);
    demand->reserved = g_new0(uint32_t, planes);
    for (uint32_t p = 0; p < planes; p++) {
        demand->plane_of[p] = scarp_plane_in_order(&drive->desc, p);
        demand->batch[p] = (TuList) { SCARP_NONE, SCARP_NONE };
    }
    demand->queue = (TuList) { SCARP_NONE, SCARP_NONE };
    scarp_pool_init(&demand->works, sizeof(Work));
    scarp_pool_init(&demand->waits, sizeof(ScarpMapWait));
    /*
     * Translation units wait in a packer (the page under construction) until it
     * is full. As writing_limit is greater than the number of units that all
     * packers can hold, at least one page becomes full before the limit stops
     * further writes.
     */
    demand->writing_limit = planes * drive->geo.units_per_page + 64;
    demand->update_limit = (uint64_t)planes * drive->geo.units_per_block;
}

static bool init(ScarpDrive *drive, GError **error)
{
    ScarpDemand *demand;
    uint64_t n;

    if (!count_entries(drive, &n, error)) {
        return false;
    }
    demand = drive->map.demand = g_new0(ScarpDemand, 1);
    demand->n_entries = n;
    scarp_turns_scale(drive, PASS_USES, n);
    init_entries(demand);
    init_units(drive, demand);
    return true;
}

static void clear(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;

    if (!demand) {
        return;
    }
    for (uint32_t i = 0; i < demand->n_tus + scarp_has_checkpoints(drive);
         i++) {
        if (demand->tu[i].work) {
            g_free(scarp_unit_data(&demand->tu[i].work->unit));
        }
    }
    scarp_table_free(demand->entry);
    scarp_table_free(demand->hash);
    scarp_table_free(demand->tu);
    g_free(demand->plane_of);
    g_free(demand->packer);
    g_free(demand->batch);
    g_free(demand->reserved);
    scarp_pool_clear(&demand->works);
    scarp_pool_clear(&demand->waits);
    g_free(demand);
}

/*
 * Adds up the RAM of the cached entries, of the entries that collections
 * changed, of the table of the translation units' PPNs, and of the translation
 * units that are being written.
 */
static uint64_t ram_bytes(const ScarpDrive *drive)
{
    const ScarpDemand *demand = drive->map.demand;

    return ((uint64_t)demand->n_entries + demand->update_limit +
            (uint64_t)drive->geo.n_planes * drive->geo.units_per_page) *
               DEMAND_ENTRY_BYTES +
           4 * (uint64_t)demand->n_tus +
           (uint64_t)demand->writing_limit * drive->geo.unit_bytes;
}

/*
 * Counts four bytes for the PPN of each translation unit. An idle drive needs
 * nothing else, as every entry can be fetched from flash.
 */
static uint64_t table_bytes(const ScarpDrive *drive)
{
    return 4 * (uint64_t)drive->map.demand->n_tus;
}

/*
 * Saves the LPNs of the cached entries of one LRU segment to an image, or loads
 * them. The least recently used entry comes first.
 */
static void visit_list(ScarpDrive *drive, EntryList *list, uint32_t state,
                       ScarpVisit *visit)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t n = list->n, at = list->tail;

    scarp_visit_u32(visit, "cached entries", &n, 0, drive->geo.logical_units);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        uint32_t lpn = visit->loading ? 0 : demand->entry[at].lpn;

        scarp_visit_u32(visit, "a cached entry", &lpn, 0,
                        drive->geo.logical_units - 1);
        if (!visit->loading) {
            at = demand->entry[at].prev;
        } else if (!visit->problem &&
                   scarp_entry_find(demand, lpn) != SCARP_NONE) {
            scarp_visit_fail(visit, "the entry of unit %u is cached twice",
                             lpn);
        } else if (!visit->problem) {
            scarp_entry_load(drive, lpn, state);
        }
    }
}

static void persist(ScarpDrive *drive, ScarpVisit *visit)
{
    uint64_t evictions = drive->stats.map_evictions;

    /*
     * If the drive's cache is smaller than the cache in the image, loading
     * evicts the least recently used entries.
     */
    visit_list(drive, &drive->map.demand->probation, 0, visit);
    visit_list(drive, &drive->map.demand->protected, ENTRY_PROTECTED, visit);
    scarp_mark_if(drive, cache_too_small_for_image,
                  visit->loading && drive->stats.map_evictions > evictions);
    drive->stats.map_evictions = evictions;
    if (scarp_has_checkpoints(drive)) {
        scarp_visit_u64(visit, "units since a checkpoint",
                        &drive->map.demand->checkpoint.units, 0, INT64_MAX);
    }
}

/*
 * True when the unit at ppn lies in the plane where it belongs. Translation
 * unit i always lies in plane plane_of[i % n_planes]; any other unit may lie in
 * any plane.
 */
static bool may_hold(const ScarpDrive *drive, uint32_t ppn)
{
    const ScarpDemand *demand = drive->map.demand;
    uint32_t lpn = scarp_media_lpn(drive, ppn);
    uint32_t turn = (lpn - drive->geo.first_translation_unit) %
                    drive->geo.n_planes;

    return !scarp_is_translation_unit(drive, lpn) ||
           demand->plane_of[turn] == scarp_ppn_plane(drive, ppn);
}

const ScarpMappingOps scarp_mapping_demand = {
    .name = "demand",
    .help = "an entry per unit on flash, those in use cached in RAM",
    .source = "Gupta, Kim, Urgaonkar 2009, DFTL",
    .can = MAP_FETCHES | MAP_KEEPS_ORDER,
    .init = init,
    .clear = clear,
    .ram_bytes = ram_bytes,
    .table_bytes = table_bytes,
    .check = scarp_demand_check,
    .persist = persist,
    .may_hold = may_hold,
    .reread = scarp_checkpoint_reread,
    .recovered = scarp_demand_recovered,
};
