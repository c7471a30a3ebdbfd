/*
 * Reads and writes translation units (pieces of the mapping table on flash). A
 * translation unit is read when one of its entries is missing in the cache. It
 * is written, with all of its changed entries, when a dirty entry has to leave
 * the cache.
 *
 * Flash cannot be written in parts, so a translation unit on flash is read
 * before it is changed and written. It stays in RAM until its program has
 * ended. An entry that changes after the contents were copied is dirty again.
 *
 * Several translation units fill a page. Each translation unit belongs to one
 * plane, and lies there in blocks that have translation units only, so host
 * data cannot take their room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

static uint32_t lpn_of(const ScarpDrive *drive, uint32_t tu)
{
    return drive->geo.first_translation_unit + tu;
}

static uint32_t index_of(const ScarpDrive *drive, const Tu *tu)
{
    return tu - drive->map.demand->tu;
}

static uint32_t plane_of(const ScarpDrive *drive, uint32_t tu)
{
    return drive->map.demand->plane_of[tu % drive->geo.n_planes];
}

/*
 * Copies the current entries of translation unit tu to entries[], as they are
 * stored on flash, in little endian.
 */
static void snapshot(ScarpDrive *drive, uint32_t tu, uint32_t *entries)
{
    uint32_t n = 1u << drive->geo.translation_shift;
    uint32_t first = tu << drive->geo.translation_shift;

    for (uint32_t i = 0; i < n; i++) {
        entries[i] = first + i < drive->geo.logical_units
                         ? GUINT32_TO_LE(drive->map.ppn_of[first + i])
                         : SCARP_NONE;
    }
}

bool scarp_tu_known(const ScarpDrive *drive, const Tu *tu)
{
    return tu->work ? !tu->work->reading
                    : !scarp_map_is_mapped(drive,
                                           lpn_of(drive, index_of(drive, tu)));
}

/* ---- Translation units to be written ------------------------------------ */

static void queue(ScarpDrive *drive, Tu *tu)
{
    ScarpDemand *demand = drive->map.demand;
    uint32_t index = index_of(drive, tu);

    drive->map.wants = true;
    if (tu->queued) {
        return;
    }
    tu->queued = true;
    tu->queue_next = SCARP_NONE;
    *(demand->queue.head == SCARP_NONE
          ? &demand->queue.head
          : &demand->tu[demand->queue.tail].queue_next) = index;
    demand->queue.tail = index;
}

void scarp_tu_want(ScarpDrive *drive, Tu *tu)
{
    tu->wanted = true;
    queue(drive, tu);
}

static Work *work_new(ScarpDrive *drive, Tu *tu)
{
    ScarpDemand *demand = drive->map.demand;
    Work *work = scarp_pool_take(&demand->works);

    memset(work, 0, sizeof(*work));
    work->tu = index_of(drive, tu);
    tu->work = work;
    demand->n_works++;
    return work;
}

static void work_free(ScarpDrive *drive, Work *work)
{
    ScarpDemand *demand = drive->map.demand;

    demand->tu[work->tu].work = NULL;
    demand->n_writing -= work->writing;
    demand->n_works--;
    drive->map.wants |= demand->queue.head != SCARP_NONE;
    scarp_pool_give(&demand->works, work);
}

static void read_unit(ScarpDrive *drive, Work *work)
{
    uint32_t lpn = lpn_of(drive, work->tu);
    uint32_t ppn = scarp_map_lookup(drive, lpn);
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_READ, OWNER_MAP,
                                         SCARP_ORIGIN_MAP);

    work->reading = true;
    scarp_flash_set_subject(cmd, work);
    scarp_flash_set_lpn(cmd, lpn, 1);
    scarp_flash_set_target(cmd, scarp_ppn_plane(drive, ppn), ppn,
                           drive->geo.unit_bytes);
    scarp_nand_enqueue(drive, cmd);
}

void scarp_tu_await(ScarpDrive *drive, Tu *tu, ScarpMapWait *wait)
{
    if (!tu->work) {
        read_unit(drive, work_new(drive, tu));
    }
    scarp_wait_push(&tu->work->waits, wait);
}

/* ---- On the way to a page ----------------------------------------------- */

static void emit(ScarpDrive *drive, uint32_t p)
{
    ScarpFlashCmd *cmd = scarp_packer_emit(drive, &drive->map.demand->packer[p],
                                           OWNER_MAP, SCARP_ORIGIN_MAP);

    scarp_mark_if(drive, translation_page_padded,
                  scarp_flash_n_units(cmd) < drive->geo.units_per_page);
    scarp_mark_if(drive, translation_blocks_full,
                  scarp_translation_due(drive, p));
    scarp_flash_set_target(cmd, p, 0, drive->desc.page_bytes);
    scarp_nand_enqueue(drive, cmd);
}

/*
 * Lets all dies look for work again, if a collection could not begin because
 * the RAM for changed entries was full.
 */
static void unstarve(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;

    if (!demand->starved) {
        return;
    }
    scarp_mark(drive, starved_collection_freed);
    demand->starved = false;
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        scarp_nand_kick(drive, die);
    }
}

/*
 * Copies the current entries into the unit that will be programmed. All changes
 * of the translation unit so far are in this copy, so its dirty entries become
 * clean, and its other changes are forgotten.
 */
static void settle(ScarpDrive *drive, Tu *tu, Work *work)
{
    ScarpDemand *demand = drive->map.demand;

    if (scarp_tu_contents_kept(drive)) {
        if (!scarp_unit_data(&work->unit)) {
            scarp_unit_set_data(&work->unit, scarp_contents_new(drive));
        }
        if (tu == scarp_checkpoint_tu(drive)) {
            scarp_checkpoint_fill(drive, scarp_unit_data(&work->unit));
        } else {
            snapshot(drive, work->tu, scarp_unit_data(&work->unit));
        }
    }
    work->checkpoint = demand->checkpoint.number;
    tu->wanted = false;
    demand->n_deallocated -= tu->deallocated;
    tu->deallocated = false;
    demand->n_updates -= tu->updates;
    if (tu->updates) {
        unstarve(drive);
    }
    tu->updates = 0;
    scarp_entries_clean(drive, tu);
    drive->map.wants |= demand->for_entry.n > 0;
}

/*
 * Adds a translation unit to the page under construction (the packer) of its
 * plane. If the unit is on flash already, it must have been read before.
 */
static void merge(ScarpDrive *drive, Tu *tu, Work *work)
{
    uint32_t p = plane_of(drive, work->tu);
    ScarpPacker *packer = &drive->map.demand->packer[p];

    scarp_unit_init(&work->unit, lpn_of(drive, work->tu));
    scarp_unit_set_seq(&work->unit, scarp_next_seq(drive));
    scarp_unit_set_plane(&work->unit, p);
    scarp_unit_set_stream(&work->unit, SCARP_MAP_STREAM);
    settle(drive, tu, work);
    if (scarp_packer_add(drive, packer, &work->unit)) {
        emit(drive, p);
    }
}

/* Starts to write a translation unit that was taken from the queue. */
static void write_one(ScarpDrive *drive, Tu *tu)
{
    ScarpDemand *demand = drive->map.demand;
    Work *work = tu->work;

    if (work && !work->reading) {
        if (scarp_unit_is_packing(&work->unit)) {
            scarp_mark(drive, changed_while_packing);
            settle(drive, tu, work);
        }
        return; /* a unit under way is written again afterwards */
    }
    if (!work) {
        work = work_new(drive, tu);
        if (scarp_map_is_mapped(drive, lpn_of(drive, work->tu)) &&
            tu != scarp_checkpoint_tu(drive)) {
            read_unit(drive, work);
        }
    }
    demand->n_writing += !work->writing;
    work->writing = true;
    if (!work->reading) {
        merge(drive, tu, work);
    }
}

void scarp_tus_write(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;

    while (demand->queue.head != SCARP_NONE &&
           demand->n_writing < demand->writing_limit) {
        Tu *tu = &demand->tu[demand->queue.head];

        demand->queue.head = tu->queue_next;
        tu->queued = false;
        if (tu->wanted) {
            write_one(drive, tu);
        }
    }
    scarp_mark_if(drive, translation_writes_limited,
                  demand->queue.head != SCARP_NONE);
}

static void close_packers(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (scarp_packer_count(&drive->map.demand->packer[p])) {
            emit(drive, p);
        }
    }
}

void scarp_map_pump(ScarpDrive *drive)
{
    while (drive->map.wants) {
        drive->map.wants = false;
        if (scarp_has_checkpoints(drive)) {
            scarp_checkpoint_pump(drive);
        }
        scarp_entries_feed(drive);
        scarp_tus_write(drive);
    }
    if (drive->map.demand->checkpoint.running &&
        drive->map.demand->queue.head == SCARP_NONE) {
        /* units in packers might wait long for further units */
        close_packers(drive);
    }
}

/* ---- Ends of reads and programs of translation units -------------------- */

void scarp_map_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    Work *work = scarp_flash_subject(cmd);
    Tu *tu = &drive->map.demand->tu[work->tu];

    scarp_flash_free(drive, cmd);
    work->reading = false;
    scarp_mark_if(drive, fetched_for_both, work->writing && work->waits.n);
    scarp_entries_loaded(drive, &work->waits);
    drive->map.wants = true;
    if (work->writing) {
        merge(drive, tu, work);
    } else {
        work_free(drive, work);
    }
}

/*
 * True when writing_limit translation units are being written, and further
 * units wait in the queue. A unit that changed during its own program then goes
 * to the end of the queue. If it were written again at once each time, the
 * commands that wait for the queued units would starve.
 */
static bool others_are_next(const ScarpDrive *drive)
{
    const ScarpDemand *demand = drive->map.demand;

    return demand->queue.head != SCARP_NONE &&
           demand->n_writing >= demand->writing_limit;
}

void scarp_map_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    uint32_t ppn = scarp_flash_ppn(cmd);
    ScarpUnit *next;

    drive->stats.map_page_programs++;
    scarp_media_pages_programmed(drive, ppn, 1);
    for (ScarpUnit *unit = scarp_flash_units(cmd); unit; unit = next, ppn++) {
        Work *work = (Work *)unit;
        Tu *tu = &drive->map.demand->tu[work->tu];

        next = scarp_unit_next(unit);
        drive->stats.map_written_units++;
        scarp_media_set_version(drive, ppn, scarp_unit_seq(unit));
        scarp_map_move(drive, scarp_unit_lpn(unit), ppn);
        scarp_contents_put(drive, ppn, scarp_unit_data(unit));
        if (scarp_has_checkpoints(drive)) {
            scarp_checkpoint_written(drive, tu, work->checkpoint);
        }
        scarp_mark_if(drive, changed_while_programmed, tu->wanted);
        if (tu->wanted && !others_are_next(drive)) {
            merge(drive, tu, work); /* the contents are still in RAM */
            /*
             * A running checkpoint may wait for this unit. scarp_map_pump()
             * then programs the page under construction, even if it is not
             * full.
             */
            drive->map.wants |= drive->map.demand->checkpoint.running;
            continue;
        }
        work_free(drive, work);
        if (tu->wanted) {
            scarp_mark(drive, changed_unit_waits_its_turn);
            queue(drive, tu);
        }
    }
    scarp_flash_free(drive, cmd);
}

/* ---- Collections -------------------------------------------------------- */

/*
 * Queues for writing the translation units whose entries the collection of
 * plane p has changed so far.
 */
static void want_batch(ScarpDrive *drive, uint32_t p)
{
    ScarpDemand *demand = drive->map.demand;
    TuList *batch = &demand->batch[p];

    while (batch->head != SCARP_NONE) {
        Tu *tu = &demand->tu[batch->head];

        batch->head = tu->batch_next;
        tu->batched = false;
        if (tu->updates) {
            scarp_tu_want(drive, tu);
        }
    }
}

/*
 * Compares the number of valid units in the block, whose entries a collection
 * would change, with the RAM left for such changes. If that RAM is too small,
 * the function queues the translation units that running collections have
 * changed, because writing these frees RAM.
 *
 * The translation units of all planes are queued. A translation unit that
 * several collections change is listed for the first of them only, and that
 * collection may be paused while this plane is short of blocks.
 */
bool scarp_demand_may_collect(ScarpDrive *drive, uint32_t block, bool behind)
{
    ScarpDemand *demand = drive->map.demand;

    if (demand->aside || scarp_block_is_translation(drive, block) ||
        (!behind && demand->n_updates + demand->n_reserved +
                        scarp_block_valid(drive, block) <=
                    demand->update_limit)) {
        return true;
    }
    scarp_mark(drive, collection_starved);
    for (uint32_t p = 0; !demand->starved && p < drive->geo.n_planes; p++) {
        scarp_mark_if(drive, starved_asks_for_batch,
                      demand->batch[p].head != SCARP_NONE);
        want_batch(drive, p);
    }
    demand->starved = true;
    return false;
}

bool scarp_map_changes_nothing(const ScarpDrive *drive)
{
    return !(drive->map.demand->n_updates + drive->map.demand->n_reserved);
}

void scarp_demand_collects(ScarpDrive *drive, uint32_t p, uint32_t n)
{
    drive->map.demand->reserved[p] = n;
    drive->map.demand->n_reserved += n;
}

void scarp_demand_collected(ScarpDrive *drive, uint32_t p)
{
    ScarpDemand *demand = drive->map.demand;

    demand->n_reserved -= demand->reserved[p];
    demand->reserved[p] = 0;
    want_batch(drive, p);
    unstarve(drive);
}

/* ---- Rest --------------------------------------------------------------- */

void scarp_map_drain(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;

    for (uint32_t i = 0; demand && i < demand->n_tus; i++) {
        Tu *tu = &demand->tu[i];

        if (tu->dirty != SCARP_NONE || tu->updates || tu->deallocated) {
            scarp_tu_want(drive, tu);
        }
    }
    if (demand) {
        close_packers(drive);
    }
}

bool scarp_map_at_rest(const ScarpDrive *drive)
{
    const ScarpDemand *demand = drive->map.demand;

    return !demand || !(demand->n_dirty || demand->n_updates ||
                        demand->n_deallocated || demand->n_works ||
                        demand->for_entry.n);
}

/*
 * While the drive ages, no translation unit is written and no entry is cached.
 * scarp_map_aged() then writes all translation units at once.
 */
void scarp_map_age_begins(ScarpDrive *drive)
{
    if (drive->map.demand) {
        drive->map.demand->aside = true;
    }
}

static bool is_empty(const ScarpDrive *drive, uint32_t tu)
{
    uint32_t first = tu << drive->geo.translation_shift;
    uint32_t n = MIN(1u << drive->geo.translation_shift,
                     drive->geo.logical_units - first);

    for (uint32_t i = 0; i < n; i++) {
        if (scarp_map_is_mapped(drive, first + i)) {
            return false;
        }
    }
    return true;
}

static void put_contents(ScarpDrive *drive, uint32_t tu)
{
    uint32_t ppn = scarp_map_lookup(drive, lpn_of(drive, tu));

    if (scarp_tu_contents_kept(drive) && ppn != SCARP_NONE &&
        !scarp_contents_get(drive, ppn)) {
        void *data = scarp_contents_new(drive);

        if (tu == drive->map.demand->n_tus) {
            scarp_checkpoint_fill(drive, data);
        } else {
            snapshot(drive, tu, data);
        }
        scarp_contents_put(drive, ppn, data);
    }
}

/*
 * Writes all translation units to flash in zero time, in the order of their
 * numbers, each to the plane that plane_of() gives for its number.
 */
void scarp_map_aged(ScarpDrive *drive, ScarpMakeRoom *make_room)
{
    ScarpDemand *demand = drive->map.demand;
    g_autofree uint32_t *next = NULL;
    uint32_t n;

    if (!demand) {
        return;
    }
    n = demand->n_tus;
    demand->aside = false;
    if (scarp_has_checkpoints(drive)) {
        scarp_checkpoint_aged(drive);
        n++;
    }
    next = g_new0(uint32_t, drive->geo.n_planes);
    for (uint32_t tu = 0; tu < n; tu++) {
        uint32_t p = plane_of(drive, tu), *ppn = &next[p];

        if (tu < demand->n_tus && is_empty(drive, tu)) {
            continue;
        }
        if (!(*ppn & (drive->geo.units_per_page - 1))) {
            make_room(drive, p);
            *ppn = scarp_page_take(drive, p, SCARP_ORIGIN_HOST,
                                   SCARP_MAP_STREAM);
            scarp_media_pages_programmed(drive, *ppn, 1);
        }
        scarp_media_set_version(drive, *ppn, scarp_next_seq(drive));
        scarp_map_move(drive, lpn_of(drive, tu), (*ppn)++);
        put_contents(drive, tu);
    }
}

void scarp_map_loaded(ScarpDrive *drive)
{
    for (uint32_t tu = 0; drive->map.demand && tu < drive->map.demand->n_tus;
         tu++) {
        put_contents(drive, tu);
    }
}
