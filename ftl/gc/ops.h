/*
 * What other rooms may ask of gc.
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

/* The plane is so short of free blocks that it must collect. */
bool scarp_gc_due(const ScarpDrive *drive, uint32_t plane);
/*
 * Of a die's planes that are due the one whose program waits longest, or
 * SCARP_NONE: that plane comes first.  Else its program would wait for as long as
 * others go to the other planes, and keep those due.
 */
uint32_t scarp_gc_longest_in_need(const ScarpDrive *drive, uint32_t die);
/*
 * A plane at or below floor must not be kept waiting, nor one where a program
 * of the host waits until something is merged, or one of translation units
 * until theirs are collected.
 */
static inline bool scarp_gc_is_urgent(const ScarpDrive *drive, uint32_t plane,
                                      uint64_t floor)
{
    return scarp_plane_spare_blocks(drive, plane) <= floor ||
           scarp_translation_short(drive, plane) ||
           scarp_map_is_stuck(drive, plane);
}
/* The die is about to choose what to do: starts what is due. */
static inline void scarp_gc_check(ScarpDrive *drive, uint32_t die)
{
    drive->scheme.pacing->check(drive, die);
}
/*
 * The same while a program runs, before another is loaded behind it (nand.cache).
 * False: none may be, as the die has to come to rest first.
 */
bool scarp_gc_check_behind(ScarpDrive *drive, uint32_t die);
/* The die has nothing to do and collects nothing: work ahead of time. */
static inline void scarp_gc_idle(ScarpDrive *drive, uint32_t die)
{
    if (scarp_time_ns(drive) >= drive->gc.hold_until_ns) {
        drive->scheme.ahead->idle(drive, die);
    }
}
/* The hold on collections has ended: every die looks whether one is due. */
void scarp_gc_hold_ended(ScarpDrive *drive);
/* scarp.h: scarp_hold_collections(), scarp_collect_now() */
void scarp_gc_hold(ScarpDrive *drive, int64_t until_ns);
uint32_t scarp_gc_request(ScarpDrive *drive, uint32_t free_blocks);
/* At rest nobody waits for a turn: no collections count for one any more. */
void scarp_gc_counts_end(ScarpDrive *drive);
/* Starts one collection of the die, if one is due and none runs. */
void scarp_gc_check_one(ScarpDrive *drive, uint32_t die);

/*
 * Whose turn it is at the die, between the host and the collections that run
 * or have commands there.
 */
static inline ScarpTurn scarp_gc_turn(ScarpDrive *drive, uint32_t die)
{
    bool collects = scarp_nand_collecting(drive, die);
    ScarpTurn turn;

    if (!collects && !scarp_nand_queued(drive, die, QUEUE_GC)) {
        return TURN_HOST;
    }
    turn = drive->scheme.pacing->turn(drive, die);
    /* Another die's collection programs here: it holds nothing. */
    return turn == TURN_HELD && !collects ? TURN_GC : turn;
}

/* The die collects, and the host's commands do not come first. */
static inline bool scarp_gc_delays(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_collecting(drive, die) &&
           drive->scheme.pacing->turn(drive, die) != TURN_HOST;
}

/* The die collects, and the host waits until that ends. */
static inline bool scarp_gc_holds(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_collecting(drive, die) &&
           drive->scheme.pacing->turn(drive, die) == TURN_HELD;
}

#ifdef SCARP_CHECKED
/* For marks: a merge of this kind runs in some plane. */
bool scarp_gc_merges(const ScarpDrive *drive, ScarpMergeKind kind);
/* Of a job: its copies are done; it is ahead of time; of translation units. */
bool scarp_gc_erases(const ScarpGcJob *job);
bool scarp_gc_is_ahead(const ScarpGcJob *job);
bool scarp_gc_is_translation(const ScarpDrive *drive, const ScarpGcJob *job);
#endif

/* ---- Jobs: gc/job.c ----------------------------------------------------- */

/* False: the plane collects already, or there is no victim. */
bool scarp_gc_start(ScarpDrive *drive, uint32_t plane, ScarpOrigin origin);
/* One page of a full block moves; the plane has no collection running. */
void scarp_gc_premigrate(ScarpDrive *drive, uint32_t plane, uint32_t victim);

/* The plane's job, whether it runs or not. */
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

/* Every collection that runs may go on to its end. */
void scarp_gc_release_all(ScarpDrive *drive);
/* The same, but for those that run ahead of time: their scheme has changed. */
void scarp_gc_release_due(ScarpDrive *drive);
/* No collection runs. */
bool scarp_gc_at_rest(const ScarpDrive *drive);

/* Flow tells of the flash commands that gc owns. */
void scarp_gc_cmd_started(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_gc_cmd_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* And of those that it does not, when they have ended. */
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
 * While the host waited, so many collections of the die have begun that nothing
 * may come in that makes the next ones due.
 */
bool scarp_gc_goes_on_and_on(const ScarpDrive *drive, uint32_t die);

/* gc/instant.c: a collection that takes no time; false: there is no victim */
bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t plane);
/* The same until lpn's next page can be programmed; false: it never can. */
bool scarp_gc_make_room(ScarpDrive *drive, uint32_t plane, uint32_t lpn);

/* ---- Costs: gc/cost.c --------------------------------------------------- */

/*
 * How long a collection of the plane's least valid block takes, if its die
 * does nothing else, and each page stays in its plane; 0: none is worth it.
 * Linear in a block's pages.
 */
int64_t scarp_gc_cost_ns(const ScarpDrive *drive, uint32_t plane);
/* Until the die's collections end, if nothing disturbs them. */
int64_t scarp_gc_remaining_ns(const ScarpDrive *drive, uint32_t die);

/* ---- Pages by grant: gc/rounds.c, gc/reclaim.c -------------------------- */

/*
 * Only while that is the scheme's pacing, which hios-1 and hios-2 bring with
 * them.  A segment is a page's read and program; a round is what is left of
 * one victim, or of one merge, after the erases of the one before, whose
 * blocks went back unerased.
 */

/* The pages of a write that go to one plane. */
typedef struct {
    uint32_t plane;
    uint32_t lpn; /* the first of them */
    uint32_t n;   /* so many, each n_planes further, if a unit is a page */
    uint16_t stream;
    const uint32_t *ahead; /* such pages that are on their way there */
    uint32_t n_ahead;
} ScarpGcWrite;

typedef enum {
    RECLAIM_NOTHING, /* it needs nothing that is not under way, or granted */
    RECLAIM_DUE,     /* a round that can be opened */
    RECLAIM_NEEDED,  /* ditto, and it has no room before */
    RECLAIM_WAITS,   /* what is under way must end before it has room */
} ScarpReclaim;

/* What a plane's round has left: pages at most, and erases that come first. */
typedef struct {
    uint32_t plane, pages, erases;
} ScarpGcRound;

/* What must be reclaimed before such a write, and what a due round costs. */
ScarpReclaim scarp_gc_reclaim(const ScarpDrive *drive,
                              const ScarpGcWrite *write);
int64_t scarp_gc_reclaim_ns(const ScarpDrive *drive, const ScarpGcWrite *write);
/* What a segment costs, and an erase, at most, if nothing is in the way. */
int64_t scarp_gc_segment_ns(const ScarpDrive *drive);
int64_t scarp_gc_erase_ns(const ScarpDrive *drive);
/*
 * A segment on that die.  It is longer while other dies of its channel move
 * pages, too, as it may have to wait for their transfers.
 */
int64_t scarp_gc_segment_on_ns(const ScarpDrive *drive, uint32_t die);
/* Opens the round that is due; false: there is nothing to collect. */
bool scarp_gc_open_round(ScarpDrive *drive, const ScarpGcWrite *write);
/* The plane's round has something left to be granted. */
bool scarp_gc_has_round(const ScarpDrive *drive, uint32_t plane);
/* A plane whose round has something left, or SCARP_NONE. */
uint32_t scarp_gc_round(ScarpDrive *drive);
/* All such rounds; *open is valid until the next call.  Returns how many. */
uint32_t scarp_gc_rounds(ScarpDrive *drive, const ScarpGcRound **open);
/* Erases that its round ends with. */
uint32_t scarp_gc_round_erases(const ScarpDrive *drive, uint32_t plane);
/*
 * So much of it is done now, erases before the pages, or, when they do not come
 * first, all of them behind the pages.
 */
void scarp_gc_grant(ScarpDrive *drive, uint32_t plane, uint32_t erases,
                    uint32_t pages);
/* What was granted in planes of the die and is not done yet. */
int64_t scarp_gc_granted_ns(const ScarpDrive *drive, uint32_t die);

/* ---- A power cut -------------------------------------------------------- */

/* Of a program that gc owns: where a unit of it is copied from. */
uint32_t scarp_gc_copied_from(const ScarpUnit *unit);

/* ---- Laws: gc/laws.c ---------------------------------------------------- */

/* What is promised of a plane is known to be, and is there. */
bool scarp_gc_laws(const ScarpDrive *drive, uint32_t plane, GError **error);

/* ---- For its policies --------------------------------------------------- */

/* Lets a collection that was left alone move so many pages more. */
void scarp_gc_allow(ScarpDrive *drive, ScarpGcJob *job, uint32_t pages);
/*
 * gc/choose_victim.c: what the victim policy chooses, or one to level wear.
 * SCARP_NONE: there is none, or a program of it is on its way.
 */
uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t plane,
                                bool *levelling);
/*
 * gc/victim_candidates.c: up to max full blocks of the least valid units; none
 * when all are valid.
 */
uint32_t scarp_victim_least(const ScarpDrive *drive, uint32_t plane,
                            uint32_t *candidates, uint32_t max);
/*
 * The full block with the least valid units of those with more than least;
 * *n_below: how many have no more.  Walks those.  SCARP_NONE: there is none.
 */
uint32_t scarp_victim_above(const ScarpDrive *drive, uint32_t plane,
                            uint32_t least, uint32_t *n_below);
/* block if it has something to gain, else one of the least, or SCARP_NONE. */
uint32_t scarp_victim_or_least(const ScarpDrive *drive, uint32_t plane,
                               uint32_t block);
uint32_t scarp_victim_random_full(ScarpDrive *drive, uint32_t plane);
/* gc/place_common.c: may plane take one more relocated unit from elsewhere? */
bool scarp_place_room(const ScarpDrive *drive, uint32_t plane);
/* Where a channel writes its share of a victim: its planes take turns. */
uint32_t scarp_place_plane_of(const ScarpDrive *drive, const ScarpGcJob *job,
                              uint32_t channel);
/* plane, or the next one with room (counted), or the victim's own. */
uint32_t scarp_place_or_next(ScarpDrive *drive, const ScarpGcJob *job,
                             uint32_t plane);

#endif /* SCARP_GC_OPS_H */
