/*
 * ftl.mapping=demand: the cache of mapping entries, and the list of reads and
 * writes that wait until their entry is in the cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

/* ---- Lists -------------------------------------------------------------- */

static void list_push(ScarpDemand *demand, EntryList *list, uint32_t i)
{
    Entry *entry = demand->entry;

    entry[i].prev = SCARP_NONE;
    entry[i].next = list->head;
    *(list->head == SCARP_NONE ? &list->tail : &entry[list->head].prev) = i;
    list->head = i;
    list->n++;
}

static void list_remove(ScarpDemand *demand, EntryList *list, uint32_t i)
{
    Entry *entry = demand->entry;
    uint32_t prev = entry[i].prev, next = entry[i].next;

    *(prev == SCARP_NONE ? &list->head : &entry[prev].next) = next;
    *(next == SCARP_NONE ? &list->tail : &entry[next].prev) = prev;
    list->n--;
}

static EntryList *list_of(ScarpDemand *demand, const Entry *entry)
{
    return entry->state & ENTRY_PROTECTED ? &demand->protected
                                          : &demand->probation;
}

/*
 * True when the entry is in one of the two LRU segments. An entry is in no
 * segment while it is pinned, while it is read from flash, and while it is
 * dirty and waits for its eviction.
 */
static bool is_listed(const Entry *entry)
{
    return !(entry->state & ~(uint32_t)(ENTRY_DIRTY | ENTRY_PROTECTED));
}

/*
 * Makes entry i the most recently used entry of its segment. The protected
 * segment may have at most half of all entries. If it has more, its least
 * recently used entry moves to the probation segment.
 */
static void enlist(ScarpDemand *demand, uint32_t i)
{
    list_push(demand, list_of(demand, &demand->entry[i]), i);
    if (demand->protected.n > demand->n_entries / 2) {
        uint32_t last = demand->protected.tail;

        list_remove(demand, &demand->protected, last);
        demand->entry[last].state &= ~(uint32_t)ENTRY_PROTECTED;
        list_push(demand, &demand->probation, last);
    }
}

/* ---- Entries ------------------------------------------------------------ */

static uint32_t bucket_of(const ScarpDemand *demand, uint32_t lpn)
{
    return (lpn * 2654435761u >> 7 ^ lpn) & demand->hash_mask;
}

uint32_t scarp_entry_find(const ScarpDemand *demand, uint32_t lpn)
{
    uint32_t i = demand->hash[bucket_of(demand, lpn)];

    while (i != SCARP_NONE && demand->entry[i].lpn != lpn) {
        i = demand->entry[i].hash_next;
    }
    return i;
}

static void hash_remove(ScarpDemand *demand, uint32_t i)
{
    uint32_t *link = &demand->hash[bucket_of(demand, demand->entry[i].lpn)];

    while (*link != i) {
        link = &demand->entry[*link].hash_next;
    }
    *link = demand->entry[i].hash_next;
}

/* Makes the unused entry i the entry of lpn, and adds it to the hash table. */
static void fill(ScarpDemand *demand, uint32_t i, uint32_t lpn, uint32_t state)
{
    uint32_t *head = &demand->hash[bucket_of(demand, lpn)];

    demand->entry[i] = (Entry) { .lpn = lpn, .hash_next = *head,
                                 .dirty_next = SCARP_NONE, .state = state };
    *head = i;
    demand->n_used++;
}

static void empty(ScarpDemand *demand, uint32_t i)
{
    hash_remove(demand, i);
    demand->entry[i].next = demand->unused;
    demand->unused = i;
    demand->n_used--;
}

static void make_dirty(ScarpDrive *drive, uint32_t i)
{
    ScarpDemand *demand = drive->map.demand;
    Entry *entry = &demand->entry[i];

    if (!(entry->state & ENTRY_DIRTY)) {
        Tu *tu = scarp_tu_of(drive, entry->lpn);

        entry->state |= ENTRY_DIRTY;
        entry->dirty_next = tu->dirty;
        tu->dirty = i;
        demand->n_dirty++;
    }
}

void scarp_entries_clean(ScarpDrive *drive, Tu *tu)
{
    ScarpDemand *demand = drive->map.demand;

    while (tu->dirty != SCARP_NONE) {
        uint32_t i = tu->dirty;
        Entry *entry = &demand->entry[i];

        tu->dirty = entry->dirty_next;
        entry->state &= ~(uint32_t)ENTRY_DIRTY;
        demand->n_dirty--;
        if (entry->state & ENTRY_LEAVING) {
            demand->n_leaving--;
            empty(demand, i);
        }
    }
}

/* ---- Eviction ----------------------------------------------------------- */

/*
 * Evicts the least recently used entries until an entry is unused. A clean
 * entry is freed at once. A dirty entry is marked ENTRY_LEAVING, and is freed
 * when its translation unit has been copied for a write, because then all dirty
 * entries of that unit become clean. At most one dirty entry leaves for each
 * read or write that waits for an entry.
 */
static void evict(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;

    while (demand->unused == SCARP_NONE) {
        EntryList *list = demand->probation.n ? &demand->probation
                                              : &demand->protected;
        uint32_t i = list->tail;

        scarp_mark_if(drive, no_entry_to_evict, i == SCARP_NONE);
        if (i == SCARP_NONE ||
            demand->n_leaving >= MAX(demand->for_entry.n, 1)) {
            return;
        }
        scarp_mark_if(drive, used_entry_evicted, list == &demand->protected);
        scarp_mark_if(drive, changed_entry_evicted,
                      demand->entry[i].state & ENTRY_DIRTY);
        drive->stats.map_evictions++;
        list_remove(demand, list, i);
        if (demand->entry[i].state & ENTRY_DIRTY) {
            demand->entry[i].state |= ENTRY_LEAVING;
            demand->n_leaving++;
            scarp_tu_want(drive, scarp_tu_of(drive, demand->entry[i].lpn));
        } else {
            empty(demand, i);
        }
    }
}

#ifdef SCARP_CHECKED
bool scarp_map_evicts(const ScarpDrive *drive)
{
    return drive->map.demand && drive->map.demand->n_leaving;
}
#endif

/*
 * Returns the index of an unused entry. If all entries are used, evicts one.
 * Returns SCARP_NONE if no entry can be freed at once.
 */
static uint32_t take(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t i;

    if (demand->unused == SCARP_NONE) {
        evict(drive);
    }
    i = demand->unused;
    if (i != SCARP_NONE) {
        demand->unused = demand->entry[i].next;
    }
    return i;
}

/* ---- Use ---------------------------------------------------------------- */

/*
 * Records that entry i was used again after it was cached: it becomes the most
 * recently used entry of the protected segment.
 */
static void touch(ScarpDemand *demand, uint32_t i)
{
    Entry *entry = &demand->entry[i];

    if (entry->state & ENTRY_LEAVING) {
        entry->state &= ~(uint32_t)ENTRY_LEAVING;
        demand->n_leaving--;
    } else if (is_listed(entry)) {
        list_remove(demand, list_of(demand, entry), i);
    } else {
        /* scarp_map_unpin() puts the entry into a segment */
        entry->state |= ENTRY_PROTECTED;
        return;
    }
    entry->state |= ENTRY_PROTECTED;
    enlist(demand, i);
}

static void pin(ScarpDemand *demand, uint32_t i)
{
    Entry *entry = &demand->entry[i];

    if (entry->state & ENTRY_LEAVING) {
        entry->state &= ~(uint32_t)ENTRY_LEAVING;
        demand->n_leaving--;
    } else if (is_listed(entry)) {
        list_remove(demand, list_of(demand, entry), i);
    }
    entry->state += ENTRY_PIN;
}

/*
 * Returns the index of lpn's cache entry, or SCARP_NONE if the caller has to
 * wait for an entry. Sets *hit if the entry was in the cache.
 *
 * If the entry was not cached, but its translation unit is in RAM or was never
 * written, an unused entry is filled at once. This is not done while earlier
 * requests wait for an unused entry. A hit may go before these requests, but
 * only as often as ftl/turns allows (PASS_USES). After that, hits have to wait,
 * too.
 */
static uint32_t get(ScarpDrive *drive, uint32_t lpn, bool *hit)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t i = scarp_entry_find(demand, lpn);

    *hit = i != SCARP_NONE && !(demand->entry[i].state & ENTRY_LOADING);
    if (*hit && demand->for_entry.n &&
        !scarp_turn_may_pass(drive, PASS_USES, 0,
                             demand->for_entry.head->seq)) {
        scarp_mark(drive, hit_waits_its_turn);
        *hit = false;
        drive->stats.map_misses++;
        return SCARP_NONE;
    }
    if (*hit) {
        drive->stats.map_hits++;
        return i;
    }
    drive->stats.map_misses++;
    scarp_mark_if(drive, entry_behind_others,
                  i == SCARP_NONE && demand->for_entry.n &&
                  scarp_tu_known(drive, scarp_tu_of(drive, lpn)));
    if (i != SCARP_NONE || demand->for_entry.n ||
        !scarp_tu_known(drive, scarp_tu_of(drive, lpn))) {
        return SCARP_NONE;
    }
    i = take(drive);
    if (i != SCARP_NONE) {
        fill(demand, i, lpn, 0);
    }
    return i;
}

bool scarp_demand_get(ScarpDrive *drive, uint32_t lpn)
{
    bool hit;
    uint32_t i = get(drive, lpn, &hit);

    if (i == SCARP_NONE) {
        return false;
    }
    if (hit) {
        scarp_mark_if(drive, leaving_entry_used,
                      drive->map.demand->entry[i].state & ENTRY_LEAVING);
        touch(drive->map.demand, i);
    } else {
        enlist(drive->map.demand, i);
    }
    return true;
}

static ScarpMapWait *wait_new(ScarpDrive *drive, uint32_t lpn)
{
    ScarpMapWait *wait = scarp_pool_take(&drive->map.demand->waits);

    *wait = (ScarpMapWait) { .lpn = lpn,
                             .seq = drive->map.demand->n_waited++ };
    scarp_wait_push(&drive->map.demand->for_entry, wait);
    drive->map.wants = true;
    return wait;
}

void scarp_map_wait_read(ScarpDrive *drive, ScarpFlashCmd *read)
{
    wait_new(drive, scarp_flash_lpn(read))->read = read;
}

bool scarp_map_pin(ScarpDrive *drive, ScarpUnit *unit)
{
    bool hit;
    uint32_t i = get(drive, scarp_unit_lpn(unit), &hit);

    if (i == SCARP_NONE) {
        wait_new(drive, scarp_unit_lpn(unit))->unit = unit;
        return false;
    }
    if (hit) {
        scarp_mark_if(drive, leaving_entry_held,
                      drive->map.demand->entry[i].state & ENTRY_LEAVING);
        pin(drive->map.demand, i);
        drive->map.demand->entry[i].state |= ENTRY_PROTECTED;
    } else {
        drive->map.demand->entry[i].state += ENTRY_PIN;
    }
    return true;
}

void scarp_map_unpin(ScarpDrive *drive, uint32_t lpn)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t i = scarp_entry_find(demand, lpn);

    demand->entry[i].state -= ENTRY_PIN;
    if (demand->entry[i].state < ENTRY_PIN) {
        enlist(demand, i);
        drive->map.wants |= demand->for_entry.n > 0;
    }
}

/* ---- Waiting ------------------------------------------------------------ */

static void grant(ScarpDemand *demand, ScarpMapWait *wait, uint32_t i)
{
    if (wait->unit) {
        pin(demand, i);
    }
    scarp_wait_push(&demand->ready, wait);
}

void scarp_entries_loaded(ScarpDrive *drive, WaitList *waits)
{
    ScarpDemand *demand = drive->map.demand;

    while (waits->n) {
        ScarpMapWait *wait = scarp_wait_pop(waits);
        uint32_t i = scarp_entry_find(demand, wait->lpn);
        Entry *entry = &demand->entry[i];

        if (entry->state & ENTRY_LOADING) {
            entry->state &= ~(uint32_t)ENTRY_LOADING;
            enlist(demand, i);
        }
        grant(demand, wait, i);
    }
}

/*
 * Serves the first request in the list for_entry. The request gets its entry,
 * or waits until its translation unit has been read. Returns false if no entry
 * could be freed for it.
 */
static bool feed_one(ScarpDrive *drive, ScarpMapWait *wait)
{
    ScarpDemand *demand = drive->map.demand;
    Tu *tu = scarp_tu_of(drive, wait->lpn);
    uint32_t i = scarp_entry_find(demand, wait->lpn);
    bool known;

    if (i != SCARP_NONE && !(demand->entry[i].state & ENTRY_LOADING)) {
        scarp_wait_pop(&demand->for_entry);
        if (wait->read) {
            touch(demand, i);
        }
        grant(demand, wait, i);
        return true;
    }
    if (i == SCARP_NONE) {
        i = take(drive);
        if (i == SCARP_NONE) {
            return false;
        }
        known = scarp_tu_known(drive, tu);
        fill(demand, i, wait->lpn, known ? 0 : ENTRY_LOADING);
        if (known) {
            scarp_wait_pop(&demand->for_entry);
            enlist(demand, i);
            grant(demand, wait, i);
            return true;
        }
    }
    scarp_mark_if(drive, fetch_shared, tu->work && tu->work->waits.n);
    scarp_wait_pop(&demand->for_entry);
    scarp_tu_await(drive, tu, wait);
    return true;
}

void scarp_entries_feed(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;
    bool fed = true;

    while (fed && demand->for_entry.n) {
        fed = feed_one(drive, demand->for_entry.head);
    }
}

ScarpMapWait *scarp_map_take_ready(ScarpDrive *drive)
{
    ScarpMapWait *first = drive->map.demand->ready.n
                              ? drive->map.demand->ready.head : NULL;

    drive->map.demand->ready.n = 0;
    return first;
}

ScarpMapWait *scarp_map_wait_next(const ScarpMapWait *wait)
{
    return wait->next;
}

ScarpFlashCmd *scarp_map_wait_cmd(const ScarpMapWait *wait)
{
    return wait->read;
}

ScarpUnit *scarp_map_wait_unit(const ScarpMapWait *wait)
{
    return wait->unit;
}

uint32_t scarp_map_wait_lpn(const ScarpMapWait *wait)
{
    return wait->lpn;
}

void scarp_map_give_ready(ScarpDrive *drive, ScarpMapWait *wait)
{
    scarp_pool_give(&drive->map.demand->waits, wait);
}

/* ---- Changes ------------------------------------------------------------ */

void scarp_demand_written(ScarpDrive *drive, uint32_t lpn)
{
    if (scarp_has_checkpoints(drive)) {
        scarp_checkpoint_count(drive);
    }
    if (lpn < drive->geo.logical_units) { /* the PPNs of records are in RAM */
        make_dirty(drive, scarp_entry_find(drive->map.demand, lpn));
    }
}

void scarp_demand_deallocated(ScarpDrive *drive, uint32_t lpn)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t i = scarp_entry_find(demand, lpn);
    Tu *tu = scarp_tu_of(drive, lpn);

    if (i != SCARP_NONE) {
        make_dirty(drive, i);
        return;
    }
    scarp_mark(drive, trimmed_without_entry);
    /*
     * lpn has no entry that could be marked dirty. The controller remembers the
     * deallocated range in RAM until the translation unit is written.
     */
    demand->n_deallocated += !tu->deallocated;
    tu->deallocated = true;
    scarp_tu_want(drive, tu);
}

void scarp_demand_moved(ScarpDrive *drive, uint32_t lpn, uint32_t from)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t p, i;
    Tu *tu;

    if (demand->aside || scarp_is_translation_unit(drive, lpn)) {
        return; /* the PPNs of translation units are in RAM */
    }
    if (scarp_has_checkpoints(drive)) {
        scarp_checkpoint_count(drive);
    }
    p = scarp_ppn_plane(drive, from);
    if (demand->reserved[p]) {
        demand->reserved[p]--;
        demand->n_reserved--;
    }
    if (lpn >= drive->geo.logical_units) {
        return; /* the PPNs of records are in RAM */
    }
    i = scarp_entry_find(demand, lpn);
    if (i != SCARP_NONE) {
        make_dirty(drive, i);
        return;
    }
    scarp_mark(drive, moved_without_entry);
    tu = scarp_tu_of(drive, lpn);
    tu->updates++;
    demand->n_updates++;
    if (!tu->batched) {
        uint32_t index = tu - demand->tu;
        TuList *batch = &demand->batch[p];

        tu->batched = true;
        tu->batch_next = SCARP_NONE;
        *(batch->head == SCARP_NONE ? &batch->head
                                    : &demand->tu[batch->tail].batch_next) =
            index;
        batch->tail = index;
    }
}

void scarp_entry_load(ScarpDrive *drive, uint32_t lpn, uint32_t state)
{
    uint32_t i = take(drive);

    fill(drive->map.demand, i, lpn, state);
    enlist(drive->map.demand, i);
}
