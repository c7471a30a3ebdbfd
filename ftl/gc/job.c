/*
 * The job that collects one victim: copies its valid units page by page, and
 * then erases the block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

#define PREFETCH_AHEAD 48 /* units */
#define FETCHED_UNITS 4

void scarp_gc_report(ScarpDrive *drive, const ScarpGcJob *job)
{
    /*
     * Work ahead of time copies pages but erases no victim, so it is not
     * reported as a collection.
     */
    if (drive->observer.gc_done && job->origin == SCARP_ORIGIN_GC) {
        ScarpGcRun run = {
            .begin_ns = job->begin_ns, .end_ns = scarp_time_ns(drive),
            .die = scarp_plane_die(drive, job->plane), .plane = job->plane,
            .victim_block = job->victim % drive->desc.blocks_per_plane,
            .moved_units = job->moved, .origin = scarp_gc_origin(job),
            .merge = job->kind,
        };

        drive->observer.gc_done(drive->observer.opaque, &run);
    }
}

/* ---- Steps -------------------------------------------------------------- */

static void drop(ScarpDrive *drive, ScarpGcJob *job, ScarpCopy *copy)
{
    job->units_out--;
    scarp_pool_give(&drive->gc.copies, copy);
}

/*
 * Returns the LPN of the victim's unit at ppn, from its spare area.
 *
 * The end of the copy will change the forward map's entry of that LPN, which
 * may lie anywhere in memory. So the entries of several units are prefetched
 * together, and the processor waits for all of them at once. The LPNs of these
 * units are copied to job->line, a cache line at a time, where the prefetch
 * reads them.
 */
static uint32_t victim_lpn(ScarpDrive *drive, ScarpGcJob *job, uint32_t ppn)
{
    if (ppn >= job->line_end) {
        uint32_t first = ppn / SCARP_GC_LINE * SCARP_GC_LINE;
        const uint32_t *lpns = scarp_media_lpns(drive, first);

        memcpy(job->line, lpns, sizeof(job->line));
        job->line_end = first + SCARP_GC_LINE;
        __builtin_prefetch(lpns + PREFETCH_AHEAD);
    }
    if (ppn >= job->fetched_end) {
        uint32_t end = scarp_block_ppn(drive, job->victim + 1);
        uint32_t n = MIN(FETCHED_UNITS, MIN(job->line_end, end) - ppn);
        uint64_t valid = scarp_valid_bits(drive, ppn, n);

        for (uint32_t i = 0; i < n; i++) {
            if (valid >> i & 1) {
                scarp_map_expect_write(drive,
                                       job->line[(ppn + i) % SCARP_GC_LINE]);
            }
        }
        job->fetched_end = ppn + n;
    }
    return job->line[ppn % SCARP_GC_LINE];
}

/*
 * Queues the read of the victim's valid units in one page. Returns false if the
 * page has no valid unit.
 */
static bool read_page(ScarpDrive *drive, ScarpGcJob *job, uint32_t page)
{
    uint32_t first = scarp_block_ppn(drive, job->victim) +
                     page * drive->geo.units_per_page;
    ScarpUnit *units = NULL, **tail = &units;
    uint32_t n = 0;
    uint64_t valid;
    bool copyback;
    ScarpFlashCmd *cmd;

    valid = scarp_valid_bits(drive, first, drive->geo.units_per_page);
    for (uint32_t i = 0; i < drive->geo.units_per_page; i++) {
        if (valid >> i & 1) {
            ScarpCopy *copy = scarp_pool_take(&drive->gc.copies);

            scarp_unit_init(&copy->unit, victim_lpn(drive, job, first + i));
            copy->job = job;
            copy->source_ppn = first + i;
            if (scarp_is_translation_unit(drive, scarp_unit_lpn(&copy->unit))) {
                scarp_unit_set_stream(&copy->unit, SCARP_MAP_STREAM);
            }
            scarp_unit_append(&tail, &copy->unit);
            n++;
        }
    }
    if (!n) {
        return false;
    }
    /*
     * A copyback programs the whole page, so it would copy stale units, too. It
     * is used only if all units of the page are valid.
     */
    copyback = drive->scheme.place->copyback && n == drive->geo.units_per_page;
    scarp_mark_if(drive, copyback_of_part,
                  drive->scheme.place->copyback && !copyback);
    cmd = scarp_flash_new(drive,
                          copyback ? SCARP_FLASH_COPYBACK : SCARP_FLASH_READ,
                          OWNER_GC, scarp_gc_origin(job));
    scarp_flash_set_subject(cmd, job);
    scarp_flash_set_units(cmd, units, n);
    scarp_flash_set_target(cmd, job->plane, first, n * drive->geo.unit_bytes);
    scarp_flash_set_source(cmd, first);
    if (copyback) {
        scarp_flash_set_promised(cmd, job->promised);
        job->promised = false;
    }
    job->units_out += n;
    job->pages_out++;
    scarp_nand_enqueue(drive, cmd);
    return true;
}

/*
 * With ftl.paired_pages=pad: programs a pad, a page without data, if the cells
 * of the last copy have unprogrammed pages. Until all pages of these cells are
 * programmed, a power cut can destroy the copy, so the victim must not be
 * erased earlier. Returns false if no pad is needed.
 */
static bool pad_pairs(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpFlashCmd *cmd;

    if (drive->desc.paired_pages != PAIRED_PAD ||
        scarp_page_offset(drive, job->plane, SCARP_ORIGIN_GC, 0) %
                drive->desc.cell_bits == 0) {
        return false;
    }
    scarp_mark(drive, copies_padded);
    cmd = scarp_flash_new(drive, SCARP_FLASH_PROGRAM, OWNER_GC,
                          scarp_gc_origin(job));
    scarp_flash_set_subject(cmd, job);
    scarp_flash_set_target(cmd, job->plane, 0, drive->desc.page_bytes);
    scarp_nand_enqueue(drive, cmd);
    return true;
}

void scarp_gc_erase(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpFlashCmd *cmd;

    job->erasing = true;
    if (pad_pairs(drive, job)) {
        return;
    }
    cmd = scarp_flash_new(drive, SCARP_FLASH_ERASE, OWNER_GC,
                          scarp_gc_origin(job));
    scarp_flash_set_subject(cmd, job);
    scarp_flash_set_target(cmd, job->plane, scarp_block_ppn(drive, job->victim),
                           0);
    scarp_nand_enqueue(drive, cmd);
}

void scarp_gc_finish(ScarpDrive *drive, ScarpGcJob *job)
{
    uint32_t index = scarp_plane_die(drive, job->plane);
    ScarpGcDie *die = &drive->gc.die[index];

    job->running = false;
    if (job->promised) {
        /*
         * no unit needed the page: all units were stale, or moved to another
         * plane
         */
        job->promised = false;
        scarp_plane_promise(drive, job->plane, -1);
    }
    scarp_mark_if(drive, due_after_premigration,
                  job->origin == SCARP_ORIGIN_PREMIGRATE &&
                  scarp_gc_due(drive, job->plane));
    scarp_mark_if(drive, command_met_premigration,
                  job->origin == SCARP_ORIGIN_PREMIGRATE &&
                  scarp_in_device(drive));
    if (job->fold_pages) {
        scarp_fold_ends(drive, job);
    }
    scarp_map_collected(drive, job->plane);
    scarp_nand_set_collecting(drive, index, --die->jobs);
    if (job->begun) {
        job->begun = false;
        drive->stats.gc_busy_ns += scarp_stat_since(drive, job->begin_ns);
        if (!--die->begun) {
            drive->stats.gc_window_ns +=
                scarp_stat_since(drive, die->window_ns) *
                drive->desc.planes_per_die;
        }
    }
    scarp_gc_report(drive, job);
    if (drive->scheme.pacing->gc_done) {
        drive->scheme.pacing->gc_done(drive, job);
    }
    scarp_nand_kick(drive, index);
}

void scarp_gc_count_move(ScarpDrive *drive, ScarpGcJob *job)
{
    job->moves_left--;
    if (drive->scheme.pacing->gc_moves) {
        drive->scheme.pacing->gc_moves(drive, job);
    }
}

void scarp_gc_advance(ScarpDrive *drive, ScarpGcJob *job)
{
    uint32_t window = drive->scheme.place->window;

    if (!job->running || job->erasing) {
        return;
    }
    if (job->merge) {
        scarp_gc_merge_advance(drive, job);
        return;
    }
    while (job->pages_out < window && job->moves_left &&
           job->next_page < drive->desc.pages_per_block &&
           scarp_block_valid(drive, job->victim) > job->units_out) {
        if (read_page(drive, job, job->next_page++)) {
            scarp_gc_count_move(drive, job);
        }
    }
    if (job->pages_out) {
        return;
    }
    if (job->units_out) {
        /*
         * If no further page will be read soon, the pages under construction
         * are programmed now. Otherwise they wait until units of the next page
         * fill them.
         */
        if (job->moves_left || job->origin == SCARP_ORIGIN_PREMIGRATE ||
            scarp_block_valid(drive, job->victim) <= job->units_out) {
            scarp_gc_close_packers(drive, job);
        } else {
            scarp_mark(drive, step_leaves_units);
        }
    } else if (job->origin == SCARP_ORIGIN_PREMIGRATE) {
        scarp_block_put_back(drive, job->victim);
        scarp_gc_finish(drive, job);
    } else if (job->moves_left && !job->erase_later) {
        scarp_mark_if(drive, victim_emptied_meanwhile,
                      !job->moved && job->next_page);
        scarp_gc_erase(drive, job);
    }
}

/* ---- Starting ----------------------------------------------------------- */

/*
 * Returns the greatest number of mapping entries that the job can change.
 * Translation units do not count: their own PPNs are always in RAM.
 */
static uint32_t changes(const ScarpDrive *drive, const ScarpGcJob *job)
{
    if (scarp_block_is_translation(drive, job->victim)) {
        return 0;
    }
    return job->origin == SCARP_ORIGIN_PREMIGRATE
               ? drive->geo.units_per_page
               : scarp_block_valid(drive, job->victim);
}

void scarp_gc_run(ScarpDrive *drive, ScarpGcJob *job)
{
    uint32_t die = scarp_plane_die(drive, job->plane);

    job->running = true;
    scarp_turn_passed(drive, PASS_COLLECTIONS, die,
                      scarp_nand_oldest(drive, die, SCARP_HOST_QUEUES));
    /*
     * Work ahead of time moves one page in a step. Other jobs move all pages,
     * unless a pacing policy lowers moves_left.
     */
    job->moves_left = job->origin == SCARP_ORIGIN_PREMIGRATE ? 1 : UINT32_MAX;
    scarp_nand_set_collecting(drive, die, ++drive->gc.die[die].jobs);
    drive->stats.wear_runs += job->levelling;
    scarp_mark_if(drive, wear_victim, job->levelling);
    if (!job->merge) {
        scarp_map_collects(drive, job->plane, changes(drive, job));
    }
    if (drive->scheme.place->gc_start) {
        drive->scheme.place->gc_start(drive, job);
    }
    if (drive->scheme.pacing->gc_start && job->origin == SCARP_ORIGIN_GC) {
        drive->scheme.pacing->gc_start(drive, job);
    }
    if (drive->scheme.redundancy->gc_start) {
        drive->scheme.redundancy->gc_start(drive, job);
    }
    scarp_gc_advance(drive, job);
}

static void start(ScarpDrive *drive, uint32_t p, uint32_t victim,
                  ScarpOrigin origin, bool levelling)
{
    scarp_mark_if(drive, evictions_met_translation_collection,
                  scarp_block_is_translation(drive, victim) &&
                  scarp_map_evicts(drive));
    scarp_block_take(drive, victim);
    scarp_gc_start_taken(drive, p, victim, origin, levelling);
}

void scarp_gc_start_taken(ScarpDrive *drive, uint32_t p, uint32_t victim,
                          ScarpOrigin origin, bool levelling)
{
    ScarpGcJob *job = scarp_gc_job(drive, p);

    memset(job, 0, sizeof(*job));
    job->origin = origin;
    job->levelling = levelling;
    job->plane = p;
    job->victim = victim;
    if (origin == SCARP_ORIGIN_PREMIGRATE) {
        job->promised = true;
        scarp_plane_promise(drive, p, 1);
    }
    if (drive->gc.fold) {
        scarp_fold_begins(drive, job);
    }
    scarp_gc_run(drive, job);
}

bool scarp_gc_start(ScarpDrive *drive, uint32_t p, ScarpOrigin origin)
{
    bool levelling = false;
    uint32_t victim;

    if (scarp_gc_runs(drive, p)) {
        return false;
    }
    if (scarp_map_can(drive, MAP_MERGES)) {
        return scarp_gc_merge_start(drive, p, SCARP_NONE, origin);
    }
    if (scarp_blocks_in_units(drive)) {
        return scarp_gc_start_unit(drive, p, origin);
    }
    victim = scarp_gc_choose_victim(drive, p, &levelling);
    if (victim == SCARP_NONE || !scarp_gc_has_room(drive, p, victim)) {
        return false;
    }
    start(drive, p, victim, origin, levelling);
    return true;
}

void scarp_gc_start_victim(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    start(drive, p, victim, SCARP_ORIGIN_GC, false);
}

void scarp_gc_premigrate(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    start(drive, p, victim, SCARP_ORIGIN_PREMIGRATE, false);
}

static void __attribute__((noinline)) begin(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpGcDie *die = &drive->gc.die[scarp_plane_die(drive, job->plane)];

    job->begun = true;
    job->begin_ns = scarp_time_ns(drive);
    if (!die->begun++) {
        die->window_ns = scarp_time_ns(drive);
    }
}

static void __attribute__((noinline)) take_page(ScarpDrive *drive,
                                                ScarpGcJob *job,
                                                ScarpFlashCmd *cmd)
{
    uint32_t p = scarp_flash_plane(cmd);

    if (scarp_flash_promised(cmd)) {
        scarp_plane_promise(drive, p, -1);
    } else {
        scarp_fold_took_page(drive, job, p);
    }
    scarp_flash_set_ppn(cmd, job->merge ? scarp_merge_take(drive, p)
        : scarp_flash_aligned(cmd)
            ? scarp_aligned_take(drive, p, SCARP_ORIGIN_GC)
            : scarp_page_take(drive, p, SCARP_ORIGIN_GC,
                              scarp_gc_stream_of(cmd)));
}

void scarp_gc_cmd_started(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpGcJob *job = scarp_flash_subject(cmd);

    if (!job->begun) {
        begin(drive, job);
    }
    if (scarp_flash_kind(cmd) == SCARP_FLASH_PROGRAM ||
        scarp_flash_kind(cmd) == SCARP_FLASH_COPYBACK) {
        take_page(drive, job, cmd);
    }
}

/* ---- Ends of its flash commands ----------------------------------------- */

static void read_done(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpUnit *unit = scarp_flash_units(cmd);
    ScarpGcJob *job = scarp_flash_subject(cmd);

    drive->stats.gc_page_reads++;
    job->pages_out--;
    while (unit) {
        ScarpUnit *next = scarp_unit_next(unit);
        ScarpCopy *copy = scarp_copy_of(unit);

        scarp_media_check_lpn(drive, copy->source_ppn, scarp_unit_lpn(unit));
        if (scarp_unit_is_valid(drive, copy->source_ppn)) {
            scarp_gc_stage(drive, job, copy);
        } else {
            scarp_mark(drive, stale_when_read);
            drop(drive, job, copy);
        }
        unit = next;
    }
}

/*
 * Advances the job when one of its programs, perhaps at another die, has ended.
 * If the job may not read more pages now, the victim's own die has to look for
 * its next command.
 */
static inline void go_on(ScarpDrive *drive, ScarpGcJob *job)
{
    scarp_gc_advance(drive, job);
    if (!job->moves_left && !job->pages_out && job->running) {
        scarp_nand_kick(drive, scarp_plane_die(drive, job->plane));
    }
}

/*
 * Calls go_on(). Out of line, because few pages contain units of two victims.
 */
static void __attribute__((noinline)) go_on_too(ScarpDrive *drive,
                                                ScarpGcJob *job)
{
    scarp_mark(drive, page_of_two_victims);
    go_on(drive, job);
}

/*
 * Handles the end of a program or copyback. The programmed page may have units
 * of several victims, whose jobs all advance.
 */
static void program_done(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    bool copyback = scarp_flash_kind(cmd) == SCARP_FLASH_COPYBACK;
    ScarpUnit *unit = scarp_flash_units(cmd);
    uint32_t ppn = scarp_flash_ppn(cmd);
    ScarpGcJob *last = NULL;

    drive->stats.gc_page_programs += unit != NULL;
    drive->stats.copybacks += copyback;
    if (!copyback) {
        scarp_pack_gc_units(drive, scarp_flash_plane(cmd),
                            -(int)scarp_flash_n_units(cmd));
    }
    scarp_media_pages_programmed(drive, ppn, 1);
    if (!unit) { /* a pad of pad_pairs() */
        drive->stats.pair_pad_pages++;
        drive->stats.padded_units += drive->geo.units_per_page;
        scarp_gc_erase(drive, scarp_flash_subject(cmd));
        return;
    }
    while (unit) {
        ScarpUnit *next = scarp_unit_next(unit);
        ScarpCopy *copy = scarp_copy_of(unit);
        ScarpGcJob *job = copy->job;

        if (copyback) {
            scarp_media_check_lpn(drive, copy->source_ppn,
                                  scarp_unit_lpn(unit));
        }
        if (scarp_map_relocate(drive, scarp_unit_lpn(unit), copy->source_ppn,
                               ppn)) {
            job->moved++;
            drive->slc_stats.folded_units += job->fold;
            *(job->origin == SCARP_ORIGIN_GC ? &drive->stats.gc_moved_units
                                             : &drive->stats.premigrated_units)
                += 1;
        } else {
            scarp_mark(drive, stale_when_moved);
        }
        if (!copyback) {
            job->pages_out--;
        }
        drop(drive, job, copy);
        if (last && last != job) {
            go_on_too(drive, last);
        }
        last = job;
        unit = next;
        ppn++;
    }
    if (copyback) {
        last->pages_out--;
    }
    go_on(drive, last);
}

uint32_t scarp_gc_copied_from(const ScarpUnit *unit)
{
    return ((const ScarpCopy *)unit)->source_ppn;
}

void scarp_gc_cmd_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpGcJob *job = scarp_flash_subject(cmd);

    if (job->merge) {
        scarp_gc_merge_ended(drive, job, cmd);
        scarp_flash_free(drive, cmd);
        return;
    }
    switch (scarp_flash_kind(cmd)) {
    case SCARP_FLASH_READ:
        read_done(drive, cmd);
        scarp_gc_advance(drive, job);
        break;
    case SCARP_FLASH_PROGRAM:
    case SCARP_FLASH_COPYBACK:
        program_done(drive, cmd);
        break;
    case SCARP_FLASH_ERASE:
        drive->stats.gc_runs++;
        scarp_block_erased(drive, job->victim);
        scarp_gc_finish(drive, job);
        break;
    }
    scarp_flash_free(drive, cmd);
}
