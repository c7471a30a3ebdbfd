/*
 * Folds: collections whose victims are blocks of the SLC cache, and whose
 * copies go to blocks of the real mode (nand.cell_bits bits in a cell). This
 * file says when a plane needs a fold, which block it folds, and how dies fold
 * in idle time.
 *
 * A fold is a job like any other collection (gc/job.c), so every pacing runs
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

void scarp_fold_init(ScarpDrive *drive)
{
    ScarpFold *fold;

    if (!scarp_blocks_cached(drive)) {
        return;
    }
    fold = g_new0(ScarpFold, 1);
    fold->idle_from_ns = g_new0(int64_t, drive->geo.n_dies);
    fold->due_ns = g_new(int64_t, drive->geo.n_dies);
    fold->timer_ns = SCARP_TIME_NEVER;
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        fold->due_ns[die] = SCARP_TIME_NEVER;
    }
    drive->gc.fold = fold;
}

void scarp_fold_clear(ScarpDrive *drive)
{
    if (drive->gc.fold) {
        g_free(drive->gc.fold->idle_from_ns);
        g_free(drive->gc.fold->due_ns);
        g_free(drive->gc.fold);
    }
}

/* ---- Choice of a block -------------------------------------------------- */

/* True when the plane has so few free blocks that it collects. */
static bool is_low(const ScarpDrive *drive, uint32_t p)
{
    return scarp_plane_free_blocks(drive, p) <=
           drive->desc.trigger_free_blocks;
}

bool scarp_fold_needed(const ScarpDrive *drive, uint32_t p)
{
    return drive->desc.slc_full == SLC_FOLD &&
           scarp_gc_waits_for_page(drive, p);
}

/*
 * True when a static block may be folded now. Its fold may open a block of the
 * real mode (one at most, as an SLC block has fewer pages), but frees none,
 * because a static block stays in SLC mode. So a free block must remain for
 * other collections when the pages of the fold are reserved.
 */
static bool static_has_room(const ScarpDrive *drive, uint32_t p)
{
    return !is_low(drive, p) && scarp_plane_spare_blocks(drive, p) > 1;
}

bool scarp_fold_possible(const ScarpDrive *drive, uint32_t p)
{
    return scarp_slc_oldest(drive, p, true) != SCARP_NONE ||
           (scarp_slc_full_blocks(drive, p) && !is_low(drive, p));
}

/*
 * Returns the block that scarp_slc_oldest() finds among those that may be
 * folded now, or SCARP_NONE. With `dynamic`, static blocks do not count: their
 * erase gives no block of the real mode.
 */
static uint32_t oldest(const ScarpDrive *drive, uint32_t p, bool dynamic)
{
    scarp_mark_if(drive, fold_lacks_room,
                  !dynamic && drive->geo.static_blocks &&
                  scarp_slc_full_blocks(drive, p) &&
                  !static_has_room(drive, p));
    return scarp_slc_oldest(drive, p,
                            dynamic || !static_has_room(drive, p));
}

uint32_t scarp_fold_choose(const ScarpDrive *drive, uint32_t p, bool *first)
{
    *first = scarp_fold_needed(drive, p) && !is_low(drive, p);
    return oldest(drive, p, !*first);
}

/* ---- The pages of a static block ---------------------------------------- */

void scarp_fold_begins(ScarpDrive *drive, ScarpGcJob *job)
{
    /* pads fill the cells of the last copy */
    uint32_t shared = scarp_gain_pages(&drive->desc);

    job->fold = scarp_media_mode(drive, job->victim) != MODE_REAL;
    scarp_mark_if(drive, fold_of_stale,
                  job->fold && !scarp_block_valid(drive, job->victim));
    if (job->fold &&
        scarp_media_mode(drive, job->victim) == MODE_STATIC) {
        job->fold_pages = (drive->geo.slc_pages + shared - 1) / shared * shared;
        scarp_plane_promise(drive, job->plane, job->fold_pages);
    }
}

void scarp_fold_took_page(ScarpDrive *drive, ScarpGcJob *job, uint32_t p)
{
    if (job->fold_pages && job->plane == p) {
        job->fold_pages--;
        scarp_plane_promise(drive, p, -1);
    }
}

void scarp_fold_ends(ScarpDrive *drive, ScarpGcJob *job)
{
    scarp_plane_promise(drive, job->plane, -(int)job->fold_pages);
    job->fold_pages = 0;
}

/* ---- Several planes ----------------------------------------------------- */

/*
 * True when the plane needs a fold as well, because its SLC cache is full. With
 * slc.full=direct the plane must also have few free blocks: its cache gets no
 * dynamic block any more while the plane has more free blocks than the
 * trigger's, and the host can then write past the cache.
 */
static bool needs_too(const ScarpDrive *drive, uint32_t p)
{
    return !scarp_gc_runs(drive, p) && !scarp_slc_has_room(drive, p, 0) &&
           (drive->desc.slc_full == SLC_FOLD || is_low(drive, p));
}

/*
 * Returns the block that is to be folded beside the fold of plane `p`, or
 * SCARP_NONE. The block is of the plane with the fewest free blocks among the
 * die's other planes that need a fold. So all planes fold equally often. If
 * they did not, pages of one plane would go to the SLC cache while those of
 * others go to real cells, and their programs would not run together.
 */
static uint32_t next_beside(const ScarpDrive *drive, uint32_t p)
{
    uint32_t n = drive->desc.planes_per_die, first = p / n * n;
    uint32_t best = SCARP_NONE, best_free = UINT32_MAX;

    for (uint32_t i = 1; i < n; i++) {
        uint32_t q = first + (p - first + i) % n;
        uint32_t n_free = scarp_plane_free_blocks(drive, q);
        uint32_t victim = oldest(drive, q, false);

        if (needs_too(drive, q) && n_free < best_free &&
            victim != SCARP_NONE && scarp_block_settled(drive, victim)) {
            best = victim;
            best_free = n_free;
        }
    }
    return best;
}

/*
 * Starts folds in other planes of the die, to run beside the fold that plane
 * `p` has begun (slc.fold_planes).
 */
void scarp_fold_beside(ScarpDrive *drive, uint32_t p)
{
    uint32_t die = scarp_plane_die(drive, p);

    while (scarp_gc_job(drive, p)->fold &&
           drive->gc.die[die].jobs < drive->desc.slc_fold_planes) {
        uint32_t victim = next_beside(drive, p), q;

        if (victim == SCARP_NONE) {
            return;
        }
        q = scarp_block_plane(drive, victim);
        if (!scarp_gc_has_room(drive, q, victim)) {
            scarp_mark(drive, fold_lacks_entries);
            return;
        }
        scarp_mark(drive, folds_beside);
        scarp_gc_start_victim(drive, q, victim);
    }
}

/* ---- Idle time ---------------------------------------------------------- */

/* Returns the plane's block that may be folded in idle time, or SCARP_NONE. */
static uint32_t of_idle(const ScarpDrive *drive, uint32_t p)
{
    uint32_t victim;

    scarp_mark_if(drive, idle_kept_blocks,
                  scarp_slc_full_blocks(drive, p) &&
                  scarp_slc_full_blocks(drive, p) <=
                      drive->desc.slc_keep_blocks);
    if (scarp_slc_full_blocks(drive, p) <= drive->desc.slc_keep_blocks ||
        scarp_gc_runs(drive, p)) {
        return SCARP_NONE;
    }
    victim = oldest(drive, p, false);
    return victim != SCARP_NONE && scarp_block_settled(drive, victim)
               ? victim : SCARP_NONE;
}

/* Sets the timer to the first time at which an idle die should fold. */
static void set_timer(ScarpDrive *drive)
{
    int64_t first = SCARP_TIME_NEVER;

    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        first = MIN(first, drive->gc.fold->due_ns[die]);
    }
    drive->gc.fold->timer_ns = first;
    scarp_event_set(drive, scarp_fold_source(drive), first);
}

/*
 * Returns the block that the die is to fold next, or SCARP_NONE. The block is
 * of the plane with the most full SLC blocks. So the planes have equally much
 * room in the cache when idle time ends, and their programs still run together.
 */
static uint32_t next_of_idle(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    uint32_t best = SCARP_NONE, most = 0;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        uint32_t victim = of_idle(drive, p);

        if (victim != SCARP_NONE && scarp_slc_full_blocks(drive, p) > most) {
            best = victim;
            most = scarp_slc_full_blocks(drive, p);
        }
    }
    return best;
}

/*
 * Begins folds in the die. If the die has not been idle for long enough, it
 * sets the timer instead.
 */
static void look(ScarpDrive *drive, uint32_t die, int64_t due_ns)
{
    ScarpFold *fold = drive->gc.fold;
    uint32_t begun = 0, victim;

    while (begun < drive->desc.slc_fold_planes &&
           (victim = next_of_idle(drive, die)) != SCARP_NONE) {
        uint32_t p = scarp_block_plane(drive, victim);

        if (due_ns > scarp_time_ns(drive)) {
            fold->due_ns[die] = due_ns;
            if (due_ns < fold->timer_ns) {
                fold->timer_ns = due_ns;
                scarp_event_set(drive, scarp_fold_source(drive), due_ns);
            }
            return;
        }
        if (!scarp_gc_has_room(drive, p, victim)) {
            scarp_mark(drive, fold_lacks_entries);
            break; /* all dies look again when entries have been written */
        }
        if (drive->scheme.pacing->instant) {
            scarp_gc_collect_victim(drive, p, victim);
        } else {
            scarp_gc_start_victim(drive, p, victim);
            begun++;
        }
    }
    if (begun) {
        scarp_mark(drive, folded_while_idle);
        scarp_nand_kick(drive, die); /* the pacing may have to grant a step */
    }
}

void scarp_fold_idle(ScarpDrive *drive, uint32_t die)
{
    uint64_t idle_us = drive->desc.slc_fold_idle_us;

    if (idle_us && !drive->gc.fold->put_off) {
        look(drive, die,
             drive->gc.fold->idle_from_ns[die] + (int64_t)idle_us * 1000);
    }
}

void scarp_fold_timer(ScarpDrive *drive)
{
    ScarpFold *fold = drive->gc.fold;

    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        if (fold->due_ns[die] <= scarp_time_ns(drive)) {
            fold->due_ns[die] = SCARP_TIME_NEVER;
            scarp_nand_kick(drive, die);
        }
    }
    set_timer(drive);
}

void scarp_fold_put_off(ScarpDrive *drive, bool put_off)
{
    ScarpFold *fold = drive->gc.fold;

    if (!fold || fold->put_off == put_off) {
        return;
    }
    fold->put_off = put_off;
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        fold->due_ns[die] = SCARP_TIME_NEVER;
        if (!put_off) {
            scarp_nand_kick(drive, die);
        }
    }
    set_timer(drive);
}

void scarp_fold_power_on(ScarpDrive *drive)
{
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        drive->gc.fold->idle_from_ns[die] = scarp_time_ns(drive);
    }
}

void scarp_fold_visit(ScarpDrive *drive, ScarpVisit *visit)
{
    ScarpFold *fold = drive->gc.fold;
    int64_t past_ns = scarp_past_ns(drive);

    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        uint64_t idle_from_ns = fold->idle_from_ns[die] + past_ns;

        scarp_visit_u64(visit, "idle_from_ns", &idle_from_ns, 0,
                        visit->loading ? (uint64_t)past_ns
                                       : (uint64_t)SCARP_TIME_NEVER);
        if (visit->loading) {
            fold->idle_from_ns[die] = (int64_t)idle_from_ns - past_ns;
        }
    }
    fold->put_off |= visit->loading;
}
