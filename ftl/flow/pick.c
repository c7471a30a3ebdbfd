/*
 * Which of the flash commands that wait at a die runs next: reads before
 * programs, oldest first in a class (controller.reads_first=0: oldest first),
 * but only controller.reads_first_limit of them in a row; where GC stands is
 * the pacing policy's choice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

typedef struct {
    uint32_t first, last; /* planes of the die */
} Planes;

static Planes planes_of(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);

    return (Planes) { first, first + drive->desc.planes_per_die };
}

/* The first of a queue leaves it. */
static ScarpFlashCmd *take_head(ScarpDrive *drive, uint32_t plane,
                                ScarpQueueKind kind)
{
    ScarpFlashQueue *queue = scarp_nand_queue(drive, plane, kind);

    return scarp_nand_dequeue(drive, queue, scarp_nand_first_link(queue));
}

static const ScarpFlashCmd *oldest_read(const ScarpDrive *drive, Planes planes)
{
    const ScarpFlashCmd *best = NULL;

    for (uint32_t p = planes.first; p < planes.last; p++) {
        const ScarpFlashCmd *head = scarp_nand_head(drive, p, QUEUE_READS);

        best = scarp_flow_is_older(head, best) ? head : best;
    }
    return best;
}

void scarp_flow_place_program(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    uint32_t plane = scarp_flash_plane(cmd);

    if (scarp_map_can(drive, MAP_PLACES_PAGES)) {
        scarp_flash_set_ppn(cmd, scarp_map_page_take(
            drive, plane, scarp_unit_lpn(scarp_flash_units(cmd))));
        return;
    }
    scarp_flash_set_ppn(cmd, scarp_flash_aligned(cmd)
        ? scarp_aligned_take(drive, plane, SCARP_ORIGIN_HOST)
        : scarp_page_take(drive, plane, SCARP_ORIGIN_HOST,
                          scarp_flash_stream(cmd)));
}

/* A program of the host can have its page now. */
static bool has_page(const ScarpDrive *drive, uint32_t p,
                     const ScarpFlashCmd *cmd)
{
    return scarp_map_can(drive, MAP_PLACES_PAGES)
               ? scarp_map_page_possible(
                     drive, p, scarp_unit_lpn(scarp_flash_units(cmd)))
               : scarp_page_possible(drive, p, SCARP_ORIGIN_HOST,
                                     scarp_flash_stream(cmd));
}

/*
 * best, or the oldest head of the queues that can have its page and is older;
 * passes, unless it is NULL: whether an older one has none.
 */
static const ScarpFlashCmd *older_program(const ScarpDrive *drive,
                                          Planes planes, ScarpQueueKind kind,
                                          const ScarpFlashCmd *best,
                                          bool *passes)
{
    for (uint32_t p = planes.first; p < planes.last; p++) {
        const ScarpFlashCmd *head = scarp_nand_head(drive, p, kind);

        scarp_mark_if(drive, program_without_page,
                      head && !has_page(drive, p, head));
        if (!scarp_flow_is_older(head, best)) {
            continue;
        }
        if (has_page(drive, p, head)) {
            best = head;
        } else if (passes) {
            *passes = true;
        }
    }
    return best;
}

/* One for which there is a page; or NULL. */
static const ScarpFlashCmd *awaits_pad(const ScarpDrive *drive, uint32_t die)
{
    return scarp_flow_pairs(drive) ? scarp_flow_pressed(drive, die, true)
                                   : NULL;
}

/* Whether a read goes before every program that can have its page. */
static bool __attribute__((noinline)) read_is_oldest(const ScarpDrive *drive,
                                                     uint32_t die)
{
    Planes planes = planes_of(drive, die);
    const ScarpFlashCmd *read = oldest_read(drive, planes);

    return older_program(drive, planes, QUEUE_PROGRAMS, read, NULL) == read &&
           older_program(drive, planes, QUEUE_MAP, read, NULL) == read &&
           !scarp_flow_is_older(awaits_pad(drive, die), read);
}

/* A program waits, and can have its page. */
static bool __attribute__((noinline)) program_can_go(const ScarpDrive *drive,
                                                     uint32_t die)
{
    Planes planes = planes_of(drive, die);

    return older_program(drive, planes, QUEUE_PROGRAMS, NULL, NULL) ||
           older_program(drive, planes, QUEUE_MAP, NULL, NULL);
}

/* Enough reads have gone, and something that they went before can go. */
static bool passed_can_go(const ScarpDrive *drive, uint32_t die)
{
    return (drive->desc.reads_first && program_can_go(drive, die)) ||
           awaits_pad(drive, die);
}

/*
 * A collection of another die programs here, and has waited longer than any
 * program that can go: else those would go before it for as long as they come.
 */
static bool __attribute__((noinline)) guest_is_older(const ScarpDrive *drive,
                                                     uint32_t die)
{
    Planes planes = planes_of(drive, die);
    const ScarpFlashCmd *best =
        older_program(drive, planes, QUEUE_PROGRAMS, NULL, NULL);

    best = older_program(drive, planes, QUEUE_MAP, best, NULL);
    for (uint32_t p = planes.first; best && p < planes.last; p++) {
        if (scarp_flow_is_older(scarp_nand_head(drive, p, QUEUE_GC), best)) {
            return true;
        }
    }
    return false;
}

/* A read goes before something that the host waits for. */
static inline bool passes(const ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_programs_wait(drive, die) ||
           (scarp_flow_pairs(drive) && scarp_flow_pressed(drive, die, false));
}

static bool read_is_next(const ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_queued(drive, die, QUEUE_READS) &&
           (drive->desc.reads_first || read_is_oldest(drive, die));
}

static ScarpFlashCmd *pick_read(ScarpDrive *drive, uint32_t die)
{
    Planes planes = planes_of(drive, die);

    while (scarp_nand_queued(drive, die, QUEUE_READS)) {
        const ScarpFlashCmd *best = oldest_read(drive, planes);
        ScarpFlashCmd *cmd;

        cmd = take_head(drive, scarp_flash_plane(best), QUEUE_READS);
        scarp_flash_waited(drive, cmd);
        /* False: its page moved or vanished while it waited. */
        if (scarp_flow_read_start(drive, cmd)) {
            return cmd;
        }
        if (!scarp_nand_is_suspended(drive, die) && !read_is_next(drive, die)) {
            scarp_mark(drive, all_reads_had_moved);
            return NULL;
        }
    }
    return NULL;
}

static inline __attribute__((always_inline)) ScarpFlashCmd *
pick_program(ScarpDrive *drive, uint32_t die)
{
    const ScarpMultiplaneOps *multiplane = drive->scheme.multiplane;
    Planes planes = planes_of(drive, die);
    bool passes_older = false;
    const ScarpFlashCmd *best = older_program(drive, planes, QUEUE_PROGRAMS,
                                              NULL, &passes_older);
    const ScarpFlashCmd *map = best;
    ScarpFlashCmd *cmd;

    if (scarp_nand_queued(drive, die, QUEUE_MAP)) {
        map = older_program(drive, planes, QUEUE_MAP, best, NULL);
    }
    if (!map) {
        return NULL;
    }
    scarp_mark_if(drive, program_after_passed_reads,
                  scarp_nand_reads_enough(drive, die) &&
                      scarp_nand_queued(drive, die, QUEUE_READS));
    if (G_UNLIKELY(passes_older)) {
        scarp_nand_older_passed(drive, die);
    } else {
        scarp_nand_program_goes(drive, die);
    }
    scarp_mark_if(drive, translation_program_first, best && map != best);
    cmd = take_head(drive, scarp_flash_plane(map),
                    map == best ? QUEUE_PROGRAMS : QUEUE_MAP);
    scarp_flash_waited(drive, cmd);
    scarp_flash_set_aligned(cmd, multiplane->aligned &&
                                     multiplane->aligned(drive, cmd));
    scarp_flow_place_program(drive, cmd);
    return cmd;
}

/* With ftl.paired_pages=pad: pads after programs, but not for ever. */
static __attribute__((noinline)) ScarpFlashCmd *
pick_program_or_pad(ScarpDrive *drive, uint32_t die)
{
    bool pad_first = scarp_nand_pads_enough(drive, die);
    ScarpFlashCmd *cmd = pad_first ? scarp_flow_pad(drive, die) : NULL;

    scarp_mark_if(drive, pad_before_programs, cmd);
    if (!cmd) {
        cmd = pick_program(drive, die);
        if (cmd) {
            scarp_nand_pad_passed(drive, die, awaits_pad(drive, die));
            return cmd;
        }
        cmd = pad_first ? NULL : scarp_flow_pad(drive, die);
    }
    if (cmd) {
        scarp_mark_if(drive, pad_after_passed_reads,
                      scarp_nand_reads_enough(drive, die));
        scarp_nand_pad_went(drive, die, awaits_pad(drive, die));
        scarp_nand_reads_give_way(drive, die);
    }
    return cmd;
}

static bool needs_page(const ScarpFlashCmd *cmd)
{
    ScarpFlashKind kind = scarp_flash_kind(cmd);

    return kind == SCARP_FLASH_PROGRAM || kind == SCARP_FLASH_COPYBACK;
}

static bool is_of(ScarpPick pick, const ScarpFlashCmd *cmd)
{
    return pick == PICK_ANY ||
           scarp_flash_kind(cmd) == (pick == PICK_READ ? SCARP_FLASH_READ
                                                       : SCARP_FLASH_PROGRAM);
}

static ScarpFlashCmd *pick_gc(ScarpDrive *drive, uint32_t die, ScarpPick pick)
{
    Planes planes = planes_of(drive, die);
    const ScarpFlashCmd *best = NULL;

    for (uint32_t p = planes.first; p < planes.last; p++) {
        const ScarpFlashCmd *head = scarp_nand_head(drive, p, QUEUE_GC);

        if (scarp_flow_is_older(head, best) &&
            (!needs_page(head) || scarp_map_can(drive, MAP_MERGES) ||
             scarp_page_possible(drive, p, SCARP_ORIGIN_GC,
                                 scarp_flash_stream(head)))) {
            best = head;
        }
    }
    if (!best || !is_of(pick, best)) {
        return NULL;
    }
    return take_head(drive, scarp_flash_plane(best), QUEUE_GC);
}

/* ---- Who is asked, and in which order ----------------------------------- */

typedef enum {
    LOOK_DONE,  /* what was found runs, or nothing may */
    LOOK_ON,    /* whoever is next in the order is asked */
    LOOK_AGAIN, /* what waits has changed: from the beginning */
} Look;

/*
 * Of the host: the oldest read, if reads are next, else a program.  In line
 * twice, as look() and pick_program() are: what is asked for each flash command
 * knows that enough is false, and pays nothing for it.
 */
static inline __attribute__((always_inline)) Look
pick_host(ScarpDrive *drive, uint32_t die, ScarpPick pick, bool gc_waits,
          bool enough, ScarpFlashCmd **cmd)
{
    if (read_is_next(drive, die) &&
        !(enough && passed_can_go(drive, die))) {
        if (pick == PICK_PROGRAM) {
            return LOOK_DONE; /* the read's turn comes first */
        }
        *cmd = pick_read(drive, die);
        if (*cmd) {
            if (G_UNLIKELY(passes(drive, die))) {
                scarp_nand_read_passed(drive, die);
            }
            scarp_mark_if(drive, yielded_to_read,
                          scarp_nand_queued(drive, die, QUEUE_GC));
            return LOOK_DONE;
        }
        if (gc_waits && pick == PICK_ANY) {
            scarp_mark(drive, collected_after_reads_had_gone);
            return LOOK_AGAIN; /* no read is next any more */
        }
    }
    if (pick == PICK_READ) {
        return LOOK_ON;
    }
    if (G_UNLIKELY(scarp_flow_pairs(drive))) {
        *cmd = pick_program_or_pad(drive, die);
    } else if (scarp_nand_queued(drive, die, QUEUE_PROGRAMS) ||
               scarp_nand_queued(drive, die, QUEUE_MAP)) {
        *cmd = pick_program(drive, die);
    }
    if (*cmd) {
        scarp_mark_if(drive, yielded_to_program,
                      scarp_nand_queued(drive, die, QUEUE_GC));
        scarp_mark_if(drive, program_before_read,
                      scarp_nand_queued(drive, die, QUEUE_READS));
        return LOOK_DONE;
    }
    return pick == PICK_ANY &&
                   scarp_nand_queued(drive, die, QUEUE_PROGRAMS) &&
                   scarp_flow_redirect(drive, die)
               ? LOOK_AGAIN : LOOK_ON;
}

/*
 * A collection that has the turn, then the host, then a collection that has
 * none; when nothing wants to run, work ahead of time.  enough: no more reads
 * go before the programs that wait.  One of these goes.  If none has a page,
 * they go to another plane, or the collection goes that makes room, there or
 * in another die.
 */
static inline __attribute__((always_inline)) Look
look(ScarpDrive *drive, uint32_t die, ScarpPick pick, bool enough,
     ScarpFlashCmd **cmd)
{
    /*
     * A collection that is due waits until the reads have been served; but not
     * while a program that reads went before may need its pages.
     */
    bool gc_waits = drive->desc.after_reads && !enough &&
                    read_is_next(drive, die);
    ScarpTurn turn;
    Look found;

    scarp_mark_if(drive, collection_before_reads,
                  drive->desc.after_reads && enough && pick == PICK_ANY &&
                      read_is_next(drive, die) &&
                      scarp_gc_due(drive, scarp_die_plane(drive, die)));
    scarp_mark_if(drive, collection_after_reads,
                  gc_waits && scarp_gc_due(drive, scarp_die_plane(drive, die)));
    if (pick == PICK_ANY && !gc_waits) {
        scarp_gc_check(drive, die);
        scarp_flow_take_served(drive);
    }
    if (G_UNLIKELY(pick == PICK_PROGRAM) && !gc_waits &&
        !scarp_gc_check_behind(drive, die)) {
        return LOOK_DONE;
    }
    turn = scarp_gc_turn(drive, die);
    if (turn != TURN_HOST && scarp_nand_queued(drive, die, QUEUE_GC)) {
        *cmd = pick_gc(drive, die, pick);
        if (*cmd || pick != PICK_ANY) {
            return LOOK_DONE;
        }
    }
    if (turn == TURN_HELD) {
        return LOOK_DONE;
    }
    if (enough && turn == TURN_HOST && pick == PICK_ANY) {
        bool stuck = !program_can_go(drive, die) && !awaits_pad(drive, die);

        if (stuck && scarp_nand_queued(drive, die, QUEUE_PROGRAMS) &&
            scarp_flow_redirect(drive, die)) {
            scarp_mark(drive, redirected_after_passed_reads);
            return LOOK_AGAIN;
        }
        if (scarp_nand_queued(drive, die, QUEUE_GC) &&
            (stuck || (scarp_nand_guests_wait(drive, die) &&
                       guest_is_older(drive, die)))) {
            *cmd = pick_gc(drive, die, pick);
        }
        if (*cmd) {
            scarp_mark(drive, collection_after_passed_reads);
            scarp_nand_reads_give_way(drive, die);
            return LOOK_DONE;
        }
    }
    found = pick_host(drive, die, pick, gc_waits, enough, cmd);
    if (found != LOOK_ON) {
        return found;
    }
    if (scarp_nand_queued(drive, die, QUEUE_GC) && turn == TURN_HOST) {
        *cmd = pick_gc(drive, die, pick);
    } else if (pick == PICK_ANY && !scarp_nand_collecting(drive, die)) {
        scarp_gc_idle(drive, die);
        scarp_flow_take_served(drive);
    }
    return LOOK_DONE;
}

/* Nobody else has anything to do at that time. */
static ScarpFlashCmd *pick_recovery(ScarpDrive *drive, uint32_t die,
                                    ScarpPick pick)
{
    switch (pick) {
    case PICK_READ:
        return scarp_recovery_pick_kind(drive, die, SCARP_FLASH_READ);
    case PICK_PROGRAM:
        return scarp_recovery_pick_kind(drive, die, SCARP_FLASH_PROGRAM);
    default:
        return scarp_recovery_pick(drive, die);
    }
}

/*
 * Something is suspended, or enough have gone: reads before programs, or
 * programs before an older one that has no page in its plane.
 */
static __attribute__((noinline)) ScarpFlashCmd *
pick_aside(ScarpDrive *drive, uint32_t die, ScarpPick pick)
{
    bool enough = scarp_nand_reads_enough(drive, die);
    ScarpFlashCmd *cmd = NULL;
    Look found;

    if (enough && pick == PICK_READ) {
        return NULL; /* none goes behind the read that runs */
    }
    if (scarp_nand_is_suspended(drive, die)) {
        cmd = enough ? NULL : pick_read(drive, die);
        if (cmd) {
            scarp_nand_read_passed(drive, die);
        }
        return cmd;
    }
    if (!enough) {
        scarp_nand_not_aside(drive, die);
    }
    if (scarp_nand_older_enough(drive, die)) {
        bool moved = scarp_flow_redirect(drive, die);

        scarp_mark_if(drive, redirected_before_siblings, moved);
        if (!moved) {
            scarp_nand_program_goes(drive, die);
        }
    }
    do {
        found = look(drive, die, pick, enough, &cmd);
    } while (found == LOOK_AGAIN);
    return cmd;
}

ScarpFlashCmd *scarp_flow_pick(ScarpDrive *drive, uint32_t die, ScarpPick pick)
{
    ScarpFlashCmd *cmd = NULL;
    Look found;

    if (scarp_recovery_runs(drive)) {
        return pick_recovery(drive, die, pick);
    }
    if (G_UNLIKELY(scarp_nand_aside(drive, die))) {
        return pick_aside(drive, die, pick);
    }
    do {
        found = look(drive, die, pick, false, &cmd);
    } while (found == LOOK_AGAIN);
    return cmd;
}
