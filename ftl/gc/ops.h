/*
 * The functions of gc that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_GC_OPS_H
#define SCARP_GC_OPS_H

#include "map/ops.h"
#include "stat/ops.h"

bool scarp_gc_init(ScarpDrive *drive, const ScarpConfig *config,
                   GError **error);
void scarp_gc_clear(ScarpDrive *drive);

/* ---- Folds of the SLC cache: gc/fold.c ---------------------------------- */

/*
 * Only a drive with an SLC cache may call the functions from here to
 * scarp_fold_idle().
 */

/*
 * True when a program of the host waits in the plane for room in the SLC cache
 * (slc.full=fold).
 */
bool scarp_fold_needed(const ScarpDrive *drive, uint32_t plane);
/*
 * True when a full block of the SLC cache can be folded, now or a little later.
 */
bool scarp_fold_possible(const ScarpDrive *drive, uint32_t plane);
/*
 * Called when the die has nothing to do. Begins folds, or sets a timer for
 * them.
 */
void scarp_fold_idle(ScarpDrive *drive, uint32_t die);
/*
 * Called when the timer for folds of idle dies (scarp_fold_source()) has run
 * out.
 */
void scarp_fold_timer(ScarpDrive *drive);
/*
 * Puts off folds in idle time while the drive is drained (`put_off`), or allows
 * them again. Drives without an SLC cache may call it, too.
 */
void scarp_fold_put_off(ScarpDrive *drive, bool put_off);

/*
 * Called when recovery or Sanitize has ended: all dies are idle from then on.
 */
void scarp_fold_power_on(ScarpDrive *drive);
/*
 * Saves or loads since when each die is idle, so that a loaded drive folds at
 * the time at which the saved drive would fold.
 */
void scarp_fold_visit(ScarpDrive *drive, ScarpVisit *visit);

static inline bool scarp_fold_is_put_off(const ScarpDrive *drive)
{
    return drive->gc.fold && drive->gc.fold->put_off;
}

/* ---- When: gc/trigger.c ------------------------------------------------- */

/*
 * True when garbage collection is due in the plane: it has too few free blocks,
 * or too few blocks for translation units, or a program waits there for a
 * merge. While scarp_hold_collections() delays collections, "too few free
 * blocks" means at most one.
 */
bool scarp_gc_due(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns the plane of the die that must collect first, or SCARP_NONE. Of the
 * planes in which collection is due, that is the plane whose program has waited
 * longest for a page. In another order, this program could wait for ever:
 * programs in the die's other planes could make collection due there again and
 * again.
 */
uint32_t scarp_gc_longest_in_need(const ScarpDrive *drive, uint32_t die);
/*
 * True when collection in the plane must not be delayed, because at most
 * `floor` free blocks are unreserved there, or because a program waits for a
 * merge, for a collection of translation units, or for room in the SLC cache.
 */
static inline bool scarp_gc_is_urgent(const ScarpDrive *drive, uint32_t plane,
                                      uint64_t floor)
{
    return scarp_plane_spare_blocks(drive, plane) <= floor ||
           scarp_translation_short(drive, plane) ||
           scarp_map_is_stuck(drive, plane) ||
           (drive->gc.fold && scarp_fold_needed(drive, plane));
}
/*
 * Called before the die chooses its next command: the pacing policy starts the
 * collections that are due.
 */
static inline void scarp_gc_check(ScarpDrive *drive, uint32_t die)
{
    drive->scheme.pacing->check(drive, die);
}
/*
 * Called while a program runs, before a further program is loaded behind it
 * (nand.cache). Returns false if no program may be loaded, because a queued
 * program waits for a collection, which cannot begin before the die is at rest.
 */
bool scarp_gc_check_behind(ScarpDrive *drive, uint32_t die);
/*
 * Called when the die has no command and no collection. The policy for work
 * ahead of time (AXIS_AHEAD) may then start such work.
 */
static inline void scarp_gc_idle(ScarpDrive *drive, uint32_t die)
{
    if (scarp_time_ns(drive) >= drive->gc.hold_until_ns) {
        if (drive->gc.fold) {
            scarp_fold_idle(drive, die);
        }
        drive->scheme.ahead->idle(drive, die);
    }
}
/*
 * Called when scarp_hold_collections() has run out: all dies look for
 * collections that are due.
 */
void scarp_gc_hold_ended(ScarpDrive *drive);
/* Implement scarp_hold_collections() and scarp_collect_now(). */
void scarp_gc_hold(ScarpDrive *drive, int64_t until_ns);
uint32_t scarp_gc_request(ScarpDrive *drive, uint32_t free_blocks);
/*
 * Starts a collection in one plane of the die, if a collection is due and none
 * runs in the die.
 */
void scarp_gc_check_one(ScarpDrive *drive, uint32_t die);

/*
 * Asks the pacing policy whether the die's next command is the host's or a
 * collection's. If the die neither collects nor has a queued command of a
 * collection, the host's command is next.
 */
static inline ScarpTurn scarp_gc_turn(ScarpDrive *drive, uint32_t die)
{
    bool collects = scarp_nand_collecting(drive, die);
    ScarpTurn turn;

    if (!collects && !scarp_nand_queued(drive, die, QUEUE_GC)) {
        return TURN_HOST;
    }
    turn = drive->scheme.pacing->turn(drive, die);
    /*
     * If only programs of other dies' collections wait here, the host's
     * commands need not wait until a collection ends (TURN_HELD). These
     * programs only go first (TURN_GC).
     */
    return turn == TURN_HELD && !collects ? TURN_GC : turn;
}

/*
 * True when the die collects, and the pacing policy lets the collection go
 * before the host's commands.
 */
static inline bool scarp_gc_delays(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_collecting(drive, die) &&
           drive->scheme.pacing->turn(drive, die) != TURN_HOST;
}

/*
 * True when the die collects, and the pacing policy lets no host command go
 * before the collection has ended.
 */
static inline bool scarp_gc_holds(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_collecting(drive, die) &&
           drive->scheme.pacing->turn(drive, die) == TURN_HELD;
}

#ifdef SCARP_CHECKED
/*
 * For marks (counts of rare states): true when a merge of this kind runs in any
 * plane.
 */
bool scarp_gc_merges(const ScarpDrive *drive, ScarpMergeKind kind);
/*
 * For marks (counts of rare states): true when the job has begun to erase, when
 * it works ahead of time, when it is a fold, and when it moves translation
 * units.
 */
bool scarp_gc_erases(const ScarpGcJob *job);
bool scarp_gc_is_ahead(const ScarpGcJob *job);
bool scarp_gc_folds(const ScarpGcJob *job);
bool scarp_gc_is_translation(const ScarpDrive *drive, const ScarpGcJob *job);
#endif

/* ---- Jobs: gc/job.c ----------------------------------------------------- */

/*
 * Starts a collection, or a merge, in the plane. Returns false if a job runs
 * there already, if there is no victim, or if RAM has no room for the mapping
 * entries that the collection would change.
 */
bool scarp_gc_start(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin);
/*
 * Starts to copy one page of the full block `victim` elsewhere, ahead of time.
 * The caller must make sure that no job runs in the plane.
 */
void scarp_gc_premigrate(ScarpDrive *drive, uint32_t plane, uint32_t victim);

/* Returns the plane's job, whether it runs or not. */
static inline ScarpGcJob *scarp_gc_job(const ScarpDrive *drive, uint32_t plane)
{
    return &drive->gc.plane[plane].job;
}

static inline bool scarp_gc_runs(const ScarpDrive *drive, uint32_t plane)
{
    return drive->gc.plane[plane].job.running;
}

static inline uint32_t scarp_gc_job_plane(const ScarpGcJob *job)
{
    return job->plane;
}

/*
 * Lets every running job go on to its end without further permission of the
 * pacing policy.
 */
void scarp_gc_release_all(ScarpDrive *drive);
/*
 * Called when the drive's policies change. Every running job goes on to its end
 * without further permission, except work ahead of time.
 */
void scarp_gc_release_due(ScarpDrive *drive);
/* True when no collection runs. */
bool scarp_gc_at_rest(const ScarpDrive *drive);

/* Called by flow when a flash command that gc owns starts, or has ended. */
void scarp_gc_cmd_started(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_gc_cmd_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* Called by flow when a flash command has ended that gc does not own. */
static inline void scarp_gc_host_ended(ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd)
{
    uint32_t die = scarp_plane_die(drive, scarp_flash_plane(cmd));

    if (drive->gc.fold) {
        drive->gc.fold->idle_from_ns[die] = scarp_time_ns(drive);
    }
    if (scarp_nand_collecting(drive, die) && drive->gc.die[die].begun &&
        !drive->gc.plane[scarp_flash_plane(cmd)].job.begun) {
        drive->stats.gc_shared_ns +=
            scarp_stat_since(drive, MAX(scarp_flash_begin_ns(cmd),
                                        drive->gc.die[die].window_ns));
    }
    if (drive->scheme.pacing->host_done) {
        drive->scheme.pacing->host_done(drive, die, cmd);
    }
}

/*
 * True when collections of the die have gone before a waiting host command as
 * often as the limit allows (PASS_COLLECTIONS). Until that command has gone,
 * nothing may be added that makes further collections of the die due: the die
 * takes in no units from other planes' collections, and a host program may join
 * a collection's command (gc-par) only if it is the host's oldest command. Once
 * the collections that are due have ended, the host's commands go. Without this
 * limit new collections could be due for ever while a read waits.
 */
bool scarp_gc_owes_host(const ScarpDrive *drive, uint32_t die);

/*
 * gc/instant.c: collects one victim, or does one merge, in zero time. Returns
 * false if the plane can collect nothing at the moment.
 */
bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t plane);
/*
 * Merges blocks in zero time until the plane has a page for lpn. Returns false
 * if no merge can make room.
 */
bool scarp_gc_make_room(ScarpDrive *drive, uint32_t plane, uint32_t lpn);

/* ---- Costs: gc/cost.c --------------------------------------------------- */

/*
 * Returns the time needed to collect the plane's full block with the fewest
 * valid units, or 0 if no block is worth collecting. The result assumes that
 * the die does nothing else, and that all copies stay in the plane. The call is
 * slow, as it may look at each page of the block.
 */
int64_t scarp_gc_cost_ns(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns how long the running jobs of the die still take if no other command
 * runs in between.
 */
int64_t scarp_gc_remaining_ns(const ScarpDrive *drive, uint32_t die);

/* ---- Pages by grant: gc/rounds.c, gc/reclaim.c -------------------------- */

/*
 * Redistributed pacing (hios-1, hios-2) permits collections piece by piece;
 * each permission is a grant. A segment is the read and the program of one
 * page. A round is the rest of the work for one victim, or for one merge: pages
 * to copy, then blocks to erase. If the previous round still has erases to do,
 * those come first.
 */

/* The pages of a write that go to one plane. */
typedef struct {
    uint32_t plane;
    uint32_t lpn; /* LPN of the first page */
    uint32_t n;   /* number of pages, whose LPNs are n_planes apart */
    uint16_t stream;
    /* LPNs of pages that are on their way to the plane */
    const uint32_t *ahead;
    uint32_t n_ahead;
} ScarpGcWrite;

typedef enum {
    RECLAIM_NOTHING, /* no collection is needed, or one runs or is granted */
    RECLAIM_DUE,     /* a round is due, and can be opened */
    /* a round is due, can be opened, and without it the write has no room */
    RECLAIM_NEEDED,
    RECLAIM_WAITS,   /* the write has no room until running work has ended */
} ScarpReclaim;

/*
 * The pages and erases of a plane's round that still need a grant. `pages` is
 * an upper bound. `erases` counts only erases of the previous round, which are
 * granted before the pages.
 */
typedef struct {
    uint32_t plane, pages, erases;
} ScarpGcRound;

/*
 * scarp_gc_reclaim() returns whether a collection or merge is needed before the
 * write. scarp_gc_reclaim_ns() returns the time that this collection or merge
 * takes.
 */
ScarpReclaim scarp_gc_reclaim(const ScarpDrive *drive,
                              const ScarpGcWrite *write);
int64_t scarp_gc_reclaim_ns(const ScarpDrive *drive, const ScarpGcWrite *write);
/*
 * Return upper bounds of the time to read and program one page, and of the time
 * of an erase, if no other command is in the way.
 */
int64_t scarp_gc_segment_ns(const ScarpDrive *drive);
int64_t scarp_gc_erase_ns(const ScarpDrive *drive);
/*
 * Returns an upper bound of a segment's time at the die `die`. Each other die
 * of the channel that moves pages makes the bound longer, as the segment may
 * have to wait for that die's transfers.
 */
int64_t scarp_gc_segment_on_ns(const ScarpDrive *drive, uint32_t die);
/*
 * Opens the round that scarp_gc_reclaim() found due. Returns false if the plane
 * has nothing to collect.
 */
bool scarp_gc_open_round(ScarpDrive *drive, const ScarpGcWrite *write);
/* True when a page or an erase of the plane's round still needs a grant. */
bool scarp_gc_has_round(const ScarpDrive *drive, uint32_t plane);
/* Returns a plane of which scarp_gc_has_round() is true, or SCARP_NONE. */
uint32_t scarp_gc_round(ScarpDrive *drive);
/*
 * Returns the number of planes whose rounds have pages or erases that need a
 * grant, and lets *open point to these rounds. The array is valid until the
 * next call.
 */
uint32_t scarp_gc_rounds(ScarpDrive *drive, const ScarpGcRound **open);
/*
 * Returns how many blocks are to be erased when the pages of the plane's round
 * have moved.
 */
uint32_t scarp_gc_round_erases(const ScarpDrive *drive, uint32_t plane);
/*
 * Grants `erases` erases and `pages` pages to the plane's round. This work
 * begins as soon as the die can begin it. If the previous round still has
 * erases to do, the granted erases come before the pages; otherwise all erases
 * follow the pages.
 */
void scarp_gc_grant(ScarpDrive *drive, uint32_t plane, uint32_t erases,
                    uint32_t pages);
/*
 * Returns how long the die needs for its granted pages and erases that are not
 * complete.
 */
int64_t scarp_gc_granted_ns(const ScarpDrive *drive, uint32_t die);

/* ---- A power cut -------------------------------------------------------- */

/* Returns the PPN that a unit in a program of gc was copied from. */
uint32_t scarp_gc_copied_from(const ScarpUnit *unit);

/* ---- Laws: gc/laws.c ---------------------------------------------------- */

/*
 * Checks that the plane's counter of reserved pages (scarp_plane_promise())
 * equals a fresh count of the reservations, and that the plane has at least
 * that many pages left.
 */
bool scarp_gc_laws(const ScarpDrive *drive, uint32_t plane, GError **error);

/* ---- Helpers for gc's policies ------------------------------------------ */

/*
 * Permits the job to move `pages` more pages. With UINT32_MAX the job may go on
 * to its end, erase included.
 */
void scarp_gc_allow(ScarpDrive *drive, ScarpGcJob *job, uint32_t pages);
/*
 * gc/choose_victim.c: returns the block that the victim policy chooses. If wear
 * is too uneven, returns a little-worn block instead, and sets *levelling.
 * Returns SCARP_NONE if the plane has no victim, or if a program in the chosen
 * block has not ended.
 */
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t plane,
                                bool *levelling);
/*
 * gc/victim_candidates.c: fills candidates[] with at most `max` of the plane's
 * full blocks that have the fewest valid units, and returns their number.
 * Returns 0 if no block is worth collecting.
 */
uint32_t scarp_victim_least(const ScarpDrive *drive, uint32_t plane,
                            uint32_t *candidates, uint32_t max);
/*
 * Returns the full block with the fewest valid units among those with more than
 * `least`, or SCARP_NONE. Sets *n_below to the number of full blocks with at
 * most `least` valid units. The function walks through all blocks that it
 * counts.
 */
uint32_t scarp_victim_above(const ScarpDrive *drive, uint32_t plane,
                            uint32_t least, uint32_t *n_below);
/*
 * Returns `block` if it is worth collecting, otherwise the full block with the
 * fewest valid units. SCARP_NONE: no block is worth collecting.
 */
uint32_t scarp_victim_or_least(const ScarpDrive *drive, uint32_t plane,
                               uint32_t block);
uint32_t scarp_victim_random_full(ScarpDrive *drive, uint32_t plane);
/*
 * gc/place_common.c: true when the plane may take in one more unit that a
 * collection of another plane moves.
 */
bool scarp_place_room(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns the plane of `channel` that takes all units of the job that go to
 * this channel. The channel's planes take turns, victim by victim.
 */
uint32_t scarp_place_plane_of(const ScarpDrive *drive, const ScarpGcJob *job,
                              uint32_t channel);
/*
 * Returns `plane` if it is the victim's own plane, or has room. Otherwise
 * returns the next plane with room, or else the victim's own plane, and adds 1
 * to gc_fallback_units.
 */
uint32_t scarp_place_or_next(ScarpDrive *drive, const ScarpGcJob *job,
                             uint32_t plane);

#endif /* SCARP_GC_OPS_H */
