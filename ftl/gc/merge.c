/*
 * Merges: jobs whose steps the mapping plans. The mapping names the pages to
 * copy, in order. Each of these pages is read, and programmed to the page that
 * the mapping chooses. Where an unmapped page precedes a mapped one, a pad (a
 * page without data) keeps the offsets. When all copies are programmed, the old
 * blocks are erased.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

bool scarp_gc_merge_due(const ScarpDrive *drive, uint32_t p)
{
    uint32_t n_free = scarp_plane_free_blocks(drive, p);

    return scarp_map_is_stuck(drive, p) || n_free <= 1 ||
           (n_free <= drive->desc.trigger_free_blocks &&
            scarp_time_ns(drive) >= drive->gc.hold_until_ns);
}

static bool begin(ScarpDrive *drive, uint32_t p, uint32_t lpn, ScarpGcJob *job)
{
    const ScarpMerge *merge = scarp_merge_of(drive, p);

    if (!scarp_merge_begin(drive, p, lpn)) {
        return false;
    }
    memset(job, 0, sizeof(*job));
    job->merge = true;
    job->kind = scarp_merge_kind(merge);
    job->plane = p;
    job->victim = scarp_merge_victim(merge);
    return true;
}

/* Counts a merge in the statistics, after the erase of its last block. */
static void count(ScarpDrive *drive, const ScarpGcJob *job)
{
    ScarpStats *stats = &drive->stats;

    stats->gc_runs++;
    stats->switch_merges += job->kind == SCARP_MERGE_SWITCH;
    stats->partial_merges += job->kind == SCARP_MERGE_PARTIAL;
    stats->full_merges += job->kind == SCARP_MERGE_FULL;
}

bool scarp_gc_merge_start(ScarpDrive *drive, uint32_t p, uint32_t lpn,
                          ScarpOrigin origin)
{
    ScarpGcJob *job = scarp_gc_job(drive, p);

    if (scarp_map_is_stuck(drive, p)) {
        lpn = scarp_map_waiting_lpn(drive, p);
    }
    if (!begin(drive, p, lpn, job)) {
        return false;
    }
    job->origin = origin;
    scarp_gc_run(drive, job);
    return true;
}

/* ---- Steps -------------------------------------------------------------- */

/*
 * Queues the program of a copied unit, or of a page without data if unit is
 * NULL.
 */
static void program(ScarpDrive *drive, ScarpGcJob *job, ScarpUnit *unit)
{
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_PROGRAM, OWNER_GC,
                                         job->origin);

    scarp_flash_set_subject(cmd, job);
    scarp_flash_set_units(cmd, unit, unit != NULL);
    scarp_flash_set_target(cmd, job->plane, 0, drive->desc.page_bytes);
    scarp_nand_enqueue(drive, cmd);
}

static void read_page(ScarpDrive *drive, ScarpGcJob *job, uint32_t ppn)
{
    ScarpCopy *copy = scarp_pool_take(&drive->gc.copies);
    bool copyback = drive->scheme.place->copyback;
    ScarpFlashCmd *cmd = scarp_flash_new(drive,
                                         copyback ? SCARP_FLASH_COPYBACK
                                                  : SCARP_FLASH_READ,
                                         OWNER_GC, job->origin);

    scarp_unit_init(&copy->unit, scarp_media_lpn(drive, ppn));
    copy->job = job;
    copy->source_ppn = ppn;
    scarp_flash_set_subject(cmd, job);
    scarp_flash_set_units(cmd, &copy->unit, 1);
    scarp_flash_set_target(cmd, job->plane, ppn, drive->geo.unit_bytes);
    scarp_flash_set_source(cmd, ppn);
    scarp_nand_enqueue(drive, cmd);
}

/* Starts the merge's next copy. Returns false if all copies were started. */
static bool next_copy(ScarpDrive *drive, ScarpGcJob *job)
{
    uint32_t ppn = scarp_merge_next_copy(drive, job->plane);

    if (ppn == SCARP_NONE) {
        return false;
    }
    scarp_gc_count_move(drive, job);
    job->pages_out++;
    if (ppn == SCARP_PAD) {
        scarp_mark(drive, merge_padded);
        program(drive, job, NULL);
    } else {
        read_page(drive, job, ppn);
    }
    return true;
}

/*
 * Called when all copies are on flash: makes the mapping use the copies.
 * Returns false if the merge must wait until the pacing policy permits its next
 * erase.
 */
static bool may_erase(ScarpDrive *drive, ScarpGcJob *job)
{
    scarp_merge_finish(drive, job->plane);
    if (!job->erase_later ||
        !scarp_merge_erases_left(scarp_merge_of(drive, job->plane))) {
        return true;
    }
    if (!job->erases) {
        scarp_mark(drive, merge_awaits_erase);
        return false;
    }
    job->erases--;
    return true;
}

/*
 * Takes the merge's next step. A merge copies one page at a time, in order,
 * even if the placement policy has a wider window of pages.
 */
void scarp_gc_merge_advance(ScarpDrive *drive, ScarpGcJob *job)
{
    uint32_t dead;

    if (job->pages_out || (!job->moves_left &&
                           (!job->erase_later ||
                            scarp_merge_copies_left(drive, job->plane)))) {
        return;
    }
    if (next_copy(drive, job) || !may_erase(drive, job)) {
        return;
    }
    dead = scarp_merge_next_dead(drive, job->plane);
    if (dead == SCARP_NONE) {
        count(drive, job);
        if (!job->begun) {
            job->begin_ns = scarp_time_ns(drive);
        }
        scarp_gc_finish(drive, job);
        return;
    }
    job->victim = dead;
    scarp_gc_erase(drive, job);
}

static void program_done(ScarpDrive *drive, ScarpGcJob *job,
                         ScarpFlashCmd *cmd)
{
    bool copyback = scarp_flash_kind(cmd) == SCARP_FLASH_COPYBACK;
    ScarpUnit *unit = scarp_flash_units(cmd);
    uint32_t ppn = scarp_flash_ppn(cmd);

    job->pages_out--;
    drive->stats.gc_page_programs++;
    drive->stats.copybacks += copyback;
    scarp_media_pages_programmed(drive, ppn, 1);
    if (!unit) {
        drive->stats.padded_units++;
        return;
    }
    if (copyback) {
        scarp_media_check_lpn(drive, scarp_copy_of(unit)->source_ppn,
                              scarp_unit_lpn(unit));
    }
    if (scarp_map_relocate(drive, scarp_unit_lpn(unit),
                           scarp_copy_of(unit)->source_ppn, ppn)) {
        job->moved++;
        drive->stats.gc_moved_units++;
    } else {
        scarp_mark(drive, merged_unit_stale);
    }
    scarp_pool_give(&drive->gc.copies, scarp_copy_of(unit));
}

void scarp_gc_merge_ended(ScarpDrive *drive, ScarpGcJob *job,
                          ScarpFlashCmd *cmd)
{
    ScarpUnit *unit = scarp_flash_units(cmd);

    switch (scarp_flash_kind(cmd)) {
    case SCARP_FLASH_READ:
        drive->stats.gc_page_reads++;
        scarp_media_check_lpn(drive, scarp_copy_of(unit)->source_ppn,
                              scarp_unit_lpn(unit));
        /*
         * A unit that the host has meanwhile written anew is programmed
         * nevertheless. If it were left out, the next pages would be programmed
         * at wrong offsets.
         */
        program(drive, job, unit);
        return;
    case SCARP_FLASH_ERASE:
        job->erasing = false;
        scarp_merge_erased(drive, job->plane);
        break;
    default:
        program_done(drive, job, cmd);
        break;
    }
    scarp_gc_advance(drive, job);
}

int64_t scarp_gc_merge_left_ns(const ScarpDrive *drive, const ScarpGcJob *job)
{
    const ScarpMerge *merge = scarp_merge_of(drive, job->plane);
    int64_t move_ns = scarp_nand_move_ns(drive, drive->scheme.place->copyback);
    int64_t ns = scarp_merge_copies_left(drive, job->plane) * move_ns +
                 scarp_merge_erases_left(merge) * (int64_t)drive->desc.erase_ns;
    int64_t left_ns = 0;

    if (job->erasing &&
        !scarp_nand_erasing(drive, scarp_plane_die(drive, job->plane),
                            &left_ns)) {
        left_ns = drive->desc.erase_ns;
    }
    return ns + left_ns;
}

/* ---- Without time ------------------------------------------------------- */

static void copy_now(ScarpDrive *drive, ScarpGcJob *job, uint32_t from)
{
    uint32_t to = scarp_merge_take(drive, job->plane);

    drive->stats.gc_page_programs++;
    scarp_media_pages_programmed(drive, to, 1);
    if (from == SCARP_PAD) {
        drive->stats.padded_units++;
        return;
    }
    drive->stats.gc_page_reads++;
    job->moved += scarp_map_relocate(drive, scarp_media_lpn(drive, from), from,
                                     to);
}

bool scarp_gc_merge_now(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    ScarpGcJob job;
    uint32_t ppn;

    if (!begin(drive, p, lpn, &job)) {
        return false;
    }
    while ((ppn = scarp_merge_next_copy(drive, p)) != SCARP_NONE) {
        copy_now(drive, &job, ppn);
    }
    scarp_merge_finish(drive, p);
    while (scarp_merge_next_dead(drive, p) != SCARP_NONE) {
        scarp_merge_erased(drive, p);
    }
    drive->stats.gc_moved_units += job.moved;
    count(drive, &job);
    job.origin = SCARP_ORIGIN_GC;
    job.begin_ns = scarp_time_ns(drive);
    scarp_gc_report(drive, &job);
    return true;
}

bool scarp_gc_make_room(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    while (scarp_gc_due(drive, p) && scarp_gc_merge_now(drive, p, SCARP_NONE)) {
        continue;
    }
    while (!scarp_map_page_possible(drive, p, lpn)) {
        if (!scarp_gc_merge_now(drive, p, lpn)) {
            return false;
        }
    }
    return true;
}
