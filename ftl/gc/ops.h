/*
 * Functions of gc for other rooms.
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

/* ---- When: gc/trigger.c ------------------------------------------------- */

/* True when the plane is so short of free blocks that it must collect. */
bool scarp_gc_due(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns the plane, of those of the die that are due, whose program waits
 * longest, or SCARP_NONE. This plane must collect first: otherwise its program
 * would starve while other programs of the die keep the other planes due.
 */
uint32_t scarp_gc_longest_in_need(const ScarpDrive *drive, uint32_t die);
/*
 * True when the plane must not be kept waiting: it is at or below floor, a
 * program of the host waits there for a merge, or a program of translation
 * units for their collection.
 */
static inline bool scarp_gc_is_urgent(const ScarpDrive *drive, uint32_t plane,
                                      uint64_t floor)
{
    return scarp_plane_spare_blocks(drive, plane) <= floor ||
           scarp_translation_short(drive, plane) ||
           scarp_map_is_stuck(drive, plane);
}
/*
 * Called before the die chooses its next command: starts collections that are
 * due.
 */
static inline void scarp_gc_check(ScarpDrive *drive, uint32_t die)
{
    drive->scheme.pacing->check(drive, die);
}
/*
 * Called while a program runs, before another is loaded behind it (nand.cache).
 * False: none may be loaded, as the die has to come to rest first.
 */
bool scarp_gc_check_behind(ScarpDrive *drive, uint32_t die);
/*
 * Called when the die has nothing to do and collects nothing: works ahead of
 * time.
 */
static inline void scarp_gc_idle(ScarpDrive *drive, uint32_t die)
{
    if (scarp_time_ns(drive) >= drive->gc.hold_until_ns) {
        drive->scheme.ahead->idle(drive, die);
    }
}
/*
 * Called when the hold on collections has ended: every die looks for
 * collections that are due.
 */
void scarp_gc_hold_ended(ScarpDrive *drive);
/* Implement scarp_hold_collections() and scarp_collect_now(). */
void scarp_gc_hold(ScarpDrive *drive, int64_t until_ns);
uint32_t scarp_gc_request(ScarpDrive *drive, uint32_t free_blocks);
/* Starts one collection of the die, if one is due and none runs. */
void scarp_gc_check_one(ScarpDrive *drive, uint32_t die);

/*
 * Tells whose turn it is at the die: the host's, or that of the collections
 * that run or have commands there.
 */
static inline ScarpTurn scarp_gc_turn(ScarpDrive *drive, uint32_t die)
{
    bool collects = scarp_nand_collecting(drive, die);
    ScarpTurn turn;

    if (!collects && !scarp_nand_queued(drive, die, QUEUE_GC)) {
        return TURN_HOST;
    }
    turn = drive->scheme.pacing->turn(drive, die);
    /* Commands of another die's collection give no reason to hold the host. */
    return turn == TURN_HELD && !collects ? TURN_GC : turn;
}

/* True when the die collects, and commands of the host do not come first. */
static inline bool scarp_gc_delays(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_collecting(drive, die) &&
           drive->scheme.pacing->turn(drive, die) != TURN_HOST;
}

/* True when the die collects, and the host waits until that ends. */
static inline bool scarp_gc_holds(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_collecting(drive, die) &&
           drive->scheme.pacing->turn(drive, die) == TURN_HELD;
}

#ifdef SCARP_CHECKED
/* True when a merge of this kind runs in some plane; for marks. */
bool scarp_gc_merges(const ScarpDrive *drive, ScarpMergeKind kind);
/*
 * True when the job's copies are done; when it works ahead of time; when it
 * moves translation units.
 */
bool scarp_gc_erases(const ScarpGcJob *job);
bool scarp_gc_is_ahead(const ScarpGcJob *job);
bool scarp_gc_is_translation(const ScarpDrive *drive, const ScarpGcJob *job);
#endif

/* ---- Jobs: gc/job.c ----------------------------------------------------- */

/* Starts a collection; false: the plane collects already, or has no victim. */
bool scarp_gc_start(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin);
/* Moves one page of a full block; the plane must not be collecting. */
void scarp_gc_premigrate(ScarpDrive *drive, uint32_t plane, uint32_t victim);

/* Returns the plane's job, running or not. */
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

/* Lets every running collection go on to its end. */
void scarp_gc_release_all(ScarpDrive *drive);
/*
 * Lets every running collection go on to its end, except those ahead of time:
 * the scheme has changed.
 */
void scarp_gc_release_due(ScarpDrive *drive);
/* True when no collection runs. */
bool scarp_gc_at_rest(const ScarpDrive *drive);

/* flow reports the flash commands that gc owns when they start and end. */
void scarp_gc_cmd_started(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_gc_cmd_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* flow reports the other flash commands when they end. */
static inline void scarp_gc_host_ended(ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd)
{
    uint32_t die = scarp_plane_die(drive, scarp_flash_plane(cmd));

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
 * True when collections of the die have passed over a waiting command of the
 * host to the limit (PASS_COLLECTIONS). Until that command has gone, nothing
 * may come in that makes further collections of the die due: no copies from
 * other dies, and no program that joins a collection's command (gc-par), unless
 * it is the host's oldest command. So the collections that are due end, and the
 * host's commands go. Without this limit new collections could be due for ever
 * while a read waits.
 */
bool scarp_gc_owes_host(const ScarpDrive *drive, uint32_t die);

/* gc/instant.c: collects one victim without time; false: there is none. */
bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t plane);
/*
 * Merges without time until lpn's next page can be programmed; false: it never
 * can.
 */
bool scarp_gc_make_room(ScarpDrive *drive, uint32_t plane, uint32_t lpn);

/* ---- Costs: gc/cost.c --------------------------------------------------- */

/*
 * Returns how long a collection of the plane's least valid block takes, if its
 * die does nothing else and each page stays in its plane; 0: no block is worth
 * it. Linear in a block's pages.
 */
int64_t scarp_gc_cost_ns(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns how long the die's collections take to end, if nothing disturbs them.
 */
int64_t scarp_gc_remaining_ns(const ScarpDrive *drive, uint32_t die);

/* ---- Pages by grant: gc/rounds.c, gc/reclaim.c -------------------------- */

/*
 * Only redistributed pacing has grants; hios-1 and hios-2 bring it along. A
 * segment is the read and program of a page; a round is the rest of one
 * victim, or of one merge, behind the erases of the round before, whose blocks
 * went back unerased.
 */

/* The pages of a write that go to one plane. */
typedef struct {
    uint32_t plane;
    uint32_t lpn; /* of the first page */
    uint32_t n;   /* pages, each n_planes further, if a unit is a page */
    uint16_t stream;
    const uint32_t *ahead; /* lpns of pages on their way there */
    uint32_t n_ahead;
} ScarpGcWrite;

typedef enum {
    RECLAIM_NOTHING, /* what the write needs runs, or is granted */
    RECLAIM_DUE,     /* a round is due and can be opened */
    RECLAIM_NEEDED,  /* as RECLAIM_DUE, and the write has no room before */
    RECLAIM_WAITS,   /* the write has no room until running work ends */
} ScarpReclaim;

/*
 * The pages, at most, that a plane's round has left, and the erases before
 * them.
 */
typedef struct {
    uint32_t plane, pages, erases;
} ScarpGcRound;

/* Tells what must be reclaimed before the write, and what a due round costs. */
ScarpReclaim scarp_gc_reclaim(const ScarpDrive *drive,
                              const ScarpGcWrite *write);
int64_t scarp_gc_reclaim_ns(const ScarpDrive *drive, const ScarpGcWrite *write);
/*
 * Return upper bounds of the time of a segment, and of an erase, if nothing is
 * in the way.
 */
int64_t scarp_gc_segment_ns(const ScarpDrive *drive);
int64_t scarp_gc_erase_ns(const ScarpDrive *drive);
/*
 * Returns an upper bound of a segment's time on that die. Other dies of its
 * channel that move pages, too, make it longer, as the segment may wait for
 * their transfers.
 */
int64_t scarp_gc_segment_on_ns(const ScarpDrive *drive, uint32_t die);
/* Opens the round that is due; false: there is nothing to collect. */
bool scarp_gc_open_round(ScarpDrive *drive, const ScarpGcWrite *write);
/* True when the plane's round has something left to be granted. */
bool scarp_gc_has_round(const ScarpDrive *drive, uint32_t plane);
/* Returns a plane whose round has something left, or SCARP_NONE. */
uint32_t scarp_gc_round(ScarpDrive *drive);
/*
 * Sets *open to all such rounds, valid until the next call, and returns their
 * number.
 */
uint32_t scarp_gc_rounds(ScarpDrive *drive, const ScarpGcRound **open);
/* Erases at the end of the plane's round. */
uint32_t scarp_gc_round_erases(const ScarpDrive *drive, uint32_t plane);
/*
 * Grants erases and pages of the round, to be done now: erases before the pages
 * if they come first, otherwise all of them behind the pages.
 */
void scarp_gc_grant(ScarpDrive *drive, uint32_t plane, uint32_t erases,
                    uint32_t pages);
/* Returns the time of the grants in planes of the die that are not done yet. */
int64_t scarp_gc_granted_ns(const ScarpDrive *drive, uint32_t die);

/* ---- A power cut -------------------------------------------------------- */

/* Returns where a unit of a program that gc owns is copied from. */
uint32_t scarp_gc_copied_from(const ScarpUnit *unit);

/* ---- Laws: gc/laws.c ---------------------------------------------------- */

/* The promises of a plane add up, and its pages suffice to keep them. */
bool scarp_gc_laws(const ScarpDrive *drive, uint32_t plane, GError **error);

/* ---- Helpers for gc's policies ------------------------------------------ */

/* Lets a collection move up to pages more pages. */
void scarp_gc_allow(ScarpDrive *drive, ScarpGcJob *job, uint32_t pages);
/*
 * gc/choose_victim.c: returns the victim policy's choice, or a victim that
 * levels wear; SCARP_NONE: there is none, or a program of it is on its way.
 */
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t plane,
                                bool *levelling);
/*
 * gc/victim_candidates.c: finds up to max full blocks with the fewest valid
 * units, and returns their number; 0 when no block is worth collecting.
 */
uint32_t scarp_victim_least(const ScarpDrive *drive, uint32_t plane,
                            uint32_t *candidates, uint32_t max);
/*
 * Returns the full block with the fewest valid units above least, or
 * SCARP_NONE; *n_below: the number of blocks with at most least, all of which
 * are walked.
 */
uint32_t scarp_victim_above(const ScarpDrive *drive, uint32_t plane,
                            uint32_t least, uint32_t *n_below);
/*
 * Returns block if it is worth collecting, else one with the fewest valid
 * units, or SCARP_NONE.
 */
uint32_t scarp_victim_or_least(const ScarpDrive *drive, uint32_t plane,
                               uint32_t block);
uint32_t scarp_victim_random_full(ScarpDrive *drive, uint32_t plane);
/*
 * gc/place_common.c: true when plane may take one more relocated unit from
 * elsewhere.
 */
bool scarp_place_room(const ScarpDrive *drive, uint32_t plane);
/*
 * Returns the plane where a channel writes its share of a victim: its planes
 * take turns.
 */
uint32_t scarp_place_plane_of(const ScarpDrive *drive, const ScarpGcJob *job,
                              uint32_t channel);
/* Returns plane, or the next one with room (counted), or the victim's own. */
uint32_t scarp_place_or_next(ScarpDrive *drive, const ScarpGcJob *job,
                             uint32_t plane);

#endif /* SCARP_GC_OPS_H */
