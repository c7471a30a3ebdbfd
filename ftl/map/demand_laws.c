/*
 * Invariants of ftl.mapping=demand. Checked builds compare the counters and
 * lists with a fresh count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

/* ---- The cache ---------------------------------------------------------- */

static bool check_list(const ScarpDemand *demand, const EntryList *list,
                       uint32_t protected, GError **error)
{
    uint32_t n = 0, last = SCARP_NONE;

    for (uint32_t i = list->head; i != SCARP_NONE; i = demand->entry[i].next) {
        uint32_t state = demand->entry[i].state & ~(uint32_t)ENTRY_DIRTY;

        if (state != protected || demand->entry[i].prev != last ||
            scarp_entry_find(demand, demand->entry[i].lpn) != i) {
            return scarp_law_differs(error, "state of cached entry",
                                     demand->entry[i].lpn, state, protected);
        }
        last = i;
        n++;
    }
    return (n == list->n && list->tail == last) ||
           scarp_law_differs(error, "cached entries of segment", protected,
                             list->n, n);
}

/*
 * Checks that every entry in the hash table is in an LRU segment, or is pinned,
 * loading or leaving. A loading entry must have a read under way, and a leaving
 * entry must be dirty and have its translation unit queued for writing.
 */
static bool check_entries(const ScarpDrive *drive, GError **error)
{
    const ScarpDemand *demand = drive->map.demand;
    uint32_t used = 0, listed = 0, leaving = 0, dirty = 0, unused = 0;

    for (uint32_t h = 0; h <= demand->hash_mask; h++) {
        for (uint32_t i = demand->hash[h]; i != SCARP_NONE;
             i = demand->entry[i].hash_next) {
            const Entry *entry = &demand->entry[i];
            uint32_t tu = entry->lpn >> drive->geo.translation_shift;

            used++;
            dirty += !!(entry->state & ENTRY_DIRTY);
            leaving += !!(entry->state & ENTRY_LEAVING);
            listed += entry->state < ENTRY_PIN &&
                      !(entry->state & (ENTRY_LOADING | ENTRY_LEAVING));
            if (entry->state & ENTRY_LOADING &&
                (!demand->tu[tu].work || !demand->tu[tu].work->reading)) {
                return scarp_law_differs(error, "entry that nobody reads",
                                         entry->lpn, 0, 1);
            }
            if (entry->state & ENTRY_LEAVING &&
                (!(entry->state & ENTRY_DIRTY) || !demand->tu[tu].wanted)) {
                return scarp_law_differs(error, "entry that waits for nothing",
                                         entry->lpn, 0, 1);
            }
        }
    }
    for (uint32_t i = demand->unused; i != SCARP_NONE;
         i = demand->entry[i].next) {
        unused++;
    }
    if (used != demand->n_used || used + unused != demand->n_entries) {
        return scarp_law_differs(error, "cached entries", 0,
                                 demand->n_used + unused, demand->n_entries);
    }
    if (listed != demand->probation.n + demand->protected.n) {
        return scarp_law_differs(error, "cached entries in a list", 0, listed,
                                 demand->probation.n + demand->protected.n);
    }
    if (dirty != demand->n_dirty || leaving != demand->n_leaving) {
        return scarp_law_differs(error, "dirty entries", 0, demand->n_dirty,
                                 dirty);
    }
    return check_list(demand, &demand->probation, 0, error) &&
           check_list(demand, &demand->protected, ENTRY_PROTECTED, error);
}

/* ---- Translation units -------------------------------------------------- */

/*
 * Returns the newest contents of a translation unit, from RAM or else from
 * flash. Returns NULL if it was never written, so that all of its entries are
 * unmapped.
 */
static const uint32_t *newest(const ScarpDrive *drive, uint32_t tu)
{
    const Work *work = drive->map.demand->tu[tu].work;
    uint32_t lpn = drive->geo.first_translation_unit + tu;

    if (work && !work->reading) {
        return scarp_unit_data(&work->unit);
    }
    return scarp_map_is_mapped(drive, lpn)
               ? scarp_contents_get(drive, scarp_map_lookup(drive, lpn)) : NULL;
}

/*
 * Checks the newest contents of a translation unit: each entry must agree with
 * the forward map, or be dirty in the cache. Further entries may differ if a
 * collection moved the unit, or the host deallocated it, while its entry was
 * not cached. The counter tu->updates and the flag tu->deallocated limit the
 * number of such entries.
 */
static bool check_contents(const ScarpDrive *drive, uint32_t index,
                           GError **error)
{
    const ScarpDemand *demand = drive->map.demand;
    const Tu *tu = &demand->tu[index];
    const uint32_t *says = newest(drive, index);
    uint32_t first = index << drive->geo.translation_shift, moved = 0;
    uint32_t n = MIN(1u << drive->geo.translation_shift,
                     drive->geo.logical_units - first);

    for (uint32_t k = 0; k < n; k++) {
        uint32_t ppn = drive->map.ppn_of[first + k];
        uint32_t said = says ? GUINT32_FROM_LE(says[k]) : SCARP_NONE, i;

        if (said == ppn) {
            continue;
        }
        i = scarp_entry_find(demand, first + k);
        if (i != SCARP_NONE && demand->entry[i].state & ENTRY_DIRTY) {
            continue;
        }
        if (i != SCARP_NONE && !(demand->entry[i].state & ENTRY_LOADING) &&
            !tu->updates && !tu->deallocated) {
            return scarp_law_differs(error, "clean entry of unit", first + k,
                                     said, ppn);
        }
        if (ppn != SCARP_NONE || !tu->deallocated) {
            moved++;
        }
    }
    return moved <= tu->updates ||
           scarp_law_differs(error, "entries that are lost in translation unit",
                             index, moved, tu->updates);
}

static bool check_units(const ScarpDrive *drive, GError **error)
{
    const ScarpDemand *demand = drive->map.demand;
    uint64_t updates = 0, dirty = 0, works = 0, deallocated = 0, writing = 0;

    uint32_t n = demand->n_tus + scarp_has_checkpoints(drive);

    for (uint32_t t = 0; t < n; t++) {
        const Tu *tu = &demand->tu[t];

        for (uint32_t i = tu->dirty; i != SCARP_NONE;
             i = demand->entry[i].dirty_next) {
            dirty++;
        }
        updates += tu->updates;
        deallocated += tu->deallocated;
        works += !!tu->work;
        writing += tu->work && tu->work->writing;
        if (tu->updates && !tu->batched && !tu->wanted) {
            return scarp_law_differs(error,
                                     "translation unit that nobody will write",
                                     t, tu->updates, 0);
        }
        if (scarp_tu_contents_kept(drive) && !demand->aside &&
            t < demand->n_tus &&
            !check_contents(drive, t, error)) {
            return false;
        }
    }
    if (dirty != demand->n_dirty) {
        return scarp_law_differs(error, "dirty entries of translation units", 0,
                                 dirty, demand->n_dirty);
    }
    if (updates != demand->n_updates || deallocated != demand->n_deallocated ||
        works != demand->n_works || writing != demand->n_writing) {
        return scarp_law_differs(error, "changed translation units", 0, updates,
                                 demand->n_updates);
    }
    if (demand->n_updates + demand->n_reserved >
            demand->update_limit + demand->n_recovered +
                (uint64_t)drive->geo.n_planes * drive->geo.units_per_page ||
        demand->n_writing > demand->writing_limit) {
        return scarp_law_differs(error, "entries that collections changed", 0,
                                 demand->n_updates, demand->update_limit);
    }
    return true;
}

/*
 * Checks that each translation unit lies in the plane that plane_of gives it,
 * in a block for translation units. Such a block must contain no other valid
 * units.
 */
static bool check_places(const ScarpDrive *drive, GError **error)
{
    const ScarpDemand *demand = drive->map.demand;
    uint32_t mapped = 0, valid = 0;

    for (uint32_t t = 0; t < demand->n_tus + scarp_has_checkpoints(drive);
         t++) {
        uint32_t lpn = drive->geo.first_translation_unit + t;
        uint32_t own = demand->plane_of[t % drive->geo.n_planes];
        uint32_t ppn = scarp_map_lookup(drive, lpn);

        if (ppn == SCARP_NONE) {
            continue;
        }
        mapped++;
        if (scarp_ppn_plane(drive, ppn) != own) {
            return scarp_law_differs(error, "plane of translation unit", t,
                                     scarp_ppn_plane(drive, ppn), own);
        }
        if (!scarp_block_is_translation(drive, scarp_ppn_block(drive, ppn))) {
            return scarp_law_differs(error, "block of translation unit", t, 0,
                                     1);
        }
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        valid += scarp_block_is_translation(drive, b)
                     ? scarp_block_valid(drive, b) : 0;
    }
    return valid == mapped ||
           scarp_law_differs(error, "units in blocks of translation units", 0,
                             valid, mapped);
}

bool scarp_demand_check(const ScarpDrive *drive, GError **error)
{
    return check_entries(drive, error) && check_units(drive, error) &&
           check_places(drive, error);
}
