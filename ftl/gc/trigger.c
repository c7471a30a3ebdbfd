/*
 * The conditions under which a plane must collect, and the start of collections
 * that are due or asked for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

bool scarp_gc_due(const ScarpDrive *drive, uint32_t p)
{
    uint32_t n_free = scarp_plane_free_blocks(drive, p);
    uint32_t n = drive->desc.planes_per_die;
    bool room;

    if (scarp_map_can(drive, MAP_MERGES)) {
        return scarp_gc_merge_due(drive, p);
    }
    room = scarp_aligned_open(drive, p) &&
           scarp_aligned_offset(drive, p) * n <
               drive->desc.pages_per_block * (p % n + 1);

    /*
     * An open aligned block counts as a free block while enough of its pages
     * are left. Otherwise collection would be due in a plane as soon as it
     * opens an aligned block.
     *
     * The planes of a die fill their aligned blocks in step. So plane i of n
     * stops counting its block when (i + 1)/n of the block is filled, which
     * happens to each plane at another time. Otherwise collection would be due
     * in all planes of the die together, and the die would collect n times in a
     * row.
     */
    scarp_mark_if(drive, collected_despite_hold,
                  n_free <= 1 &&
                  scarp_time_ns(drive) < drive->gc.hold_until_ns);
    if (n_free <= 1 || scarp_translation_due(drive, p) ||
        (drive->gc.fold && scarp_fold_needed(drive, p))) {
        return true;
    }
    scarp_mark_if(drive, collection_held,
                  n_free + room <= drive->desc.trigger_free_blocks &&
                  scarp_time_ns(drive) < drive->gc.hold_until_ns);
    scarp_mark_if(drive, aligned_put_off,
                  room && n_free == drive->desc.trigger_free_blocks);
    return n_free + room <= drive->desc.trigger_free_blocks &&
           scarp_time_ns(drive) >= drive->gc.hold_until_ns;
}

uint64_t scarp_bytes_until_collection(const ScarpDrive *drive)
{
    uint32_t trigger = drive->desc.trigger_free_blocks, least = UINT32_MAX;

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        least = MIN(least, scarp_plane_free_blocks(drive, p));
    }
    return least > trigger ? (uint64_t)(least - trigger) * drive->geo.n_planes *
                             drive->desc.pages_per_block *
                             drive->desc.page_bytes
                           : 0;
}

const ScarpFlashCmd *scarp_gc_waits_for_page(const ScarpDrive *drive,
                                             uint32_t p)
{
    const ScarpFlashCmd *head = scarp_nand_head(drive, p, QUEUE_PROGRAMS);

    if (!head) {
        return NULL;
    }
    if (scarp_map_can(drive, MAP_MERGES)) {
        return scarp_map_is_stuck(drive, p) ? head : NULL;
    }
    return scarp_page_possible(drive, p, SCARP_ORIGIN_HOST,
                               scarp_gc_stream_of(head)) ? NULL : head;
}

const ScarpFlashCmd *scarp_gc_in_need(const ScarpDrive *drive, uint32_t p)
{
    const ScarpFlashCmd *host = scarp_gc_waits_for_page(drive, p), *map = NULL;

    if (scarp_translation_due(drive, p)) {
        map = scarp_nand_head(drive, p, QUEUE_MAP);
    }
    return !host || (map && scarp_flash_seq(map) < scarp_flash_seq(host))
               ? map : host;
}

uint32_t scarp_gc_longest_in_need(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die), longest = SCARP_NONE;
    uint64_t seq = UINT64_MAX;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        const ScarpFlashCmd *program =
            scarp_gc_due(drive, p) ? scarp_gc_in_need(drive, p) : NULL;

        if (program && scarp_flash_seq(program) < seq) {
            seq = scarp_flash_seq(program);
            longest = p;
        }
    }
    return longest;
}

static void __attribute__((noinline)) start_one(ScarpDrive *drive,
                                                uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    uint32_t n = drive->desc.planes_per_die;
    uint32_t longest = n > 1 ? scarp_gc_longest_in_need(drive, die)
                             : SCARP_NONE;
    bool due = false;

    if (longest != SCARP_NONE &&
        scarp_gc_start(drive, longest, SCARP_ORIGIN_GC)) {
        scarp_fold_beside(drive, longest);
        scarp_mark_if(drive, collected_for_oldest,
                      longest != first && scarp_gc_due(drive, first));
        return;
    }
    for (uint32_t p = first; p < first + n; p++) {
        if (scarp_gc_due(drive, p)) {
            if (scarp_gc_start(drive, p, SCARP_ORIGIN_GC)) {
                scarp_fold_beside(drive, p);
                return;
            }
            due = true;
        }
    }
    if (!due) {
        scarp_blocks_clear_opened(drive, die);
    }
}

bool scarp_gc_check_behind(ScarpDrive *drive, uint32_t die)
{
    bool may;

    if (!drive->scheme.pacing->instant) {
        scarp_gc_check(drive, die);
    }
    may = scarp_nand_collecting(drive, die) ||
          scarp_gc_longest_in_need(drive, die) == SCARP_NONE;
    scarp_mark_if(drive, nothing_behind_before_collection, !may);
    return may;
}

/* True when a program waits in the die for a fold (slc.full=fold). */
static bool __attribute__((noinline)) waits_for_fold(const ScarpDrive *drive,
                                                     uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        if (scarp_fold_needed(drive, p)) {
            return true;
        }
    }
    return false;
}

void scarp_gc_check_one(ScarpDrive *drive, uint32_t die)
{
    /*
     * Unless scarp_blocks_opened() is true, no collection can have become due.
     * But with mappings that merge, each program may need a merge, so every
     * call looks for due collections. With an SLC cache, a program may need a
     * fold.
     */
    if (!scarp_nand_collecting(drive, die) &&
        (scarp_blocks_opened(drive, die) ||
         scarp_map_can(drive, MAP_MERGES) ||
         (drive->gc.fold && waits_for_fold(drive, die)))) {
        start_one(drive, die);
    }
}

bool scarp_gc_owes_host(const ScarpDrive *drive, uint32_t die)
{
    return scarp_turn_limit_reached(drive, PASS_COLLECTIONS, die) &&
           scarp_turn_owed(drive, PASS_COLLECTIONS, die,
                           scarp_nand_oldest(drive, die, SCARP_HOST_QUEUES));
}

/* ---- By request --------------------------------------------------------- */

void scarp_gc_hold_ended(ScarpDrive *drive)
{
    for (uint32_t die = 0; die < drive->geo.n_dies; die++) {
        scarp_blocks_set_opened(drive, die);
        scarp_nand_kick(drive, die);
    }
}

void scarp_gc_hold(ScarpDrive *drive, int64_t until_ns)
{
    drive->gc.hold_until_ns = until_ns;
    if (until_ns > scarp_time_ns(drive)) {
        scarp_event_set(drive, scarp_hold_source(drive), until_ns);
    } else {
        scarp_event_set(drive, scarp_hold_source(drive), SCARP_TIME_NEVER);
        scarp_gc_hold_ended(drive);
    }
}

/*
 * Collects without time, but only if no command runs at the die. A running read
 * has sensed data that is still on its way to the host, and its block must not
 * be erased before the read has ended.
 */
static bool collect_now(ScarpDrive *drive, uint32_t p)
{
    return !scarp_nand_runs(drive, scarp_plane_die(drive, p)) &&
           scarp_gc_collect_now(drive, p);
}

uint32_t scarp_gc_request(ScarpDrive *drive, uint32_t free_blocks)
{
    uint32_t began = 0;

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (scarp_plane_free_blocks(drive, p) >= free_blocks) {
            continue;
        }
        scarp_mark_if(drive, requested_while_running, scarp_gc_runs(drive, p));
        began += drive->scheme.pacing->instant
                     ? collect_now(drive, p)
                     : scarp_gc_start(drive, p, SCARP_ORIGIN_GC);
        /*
         * The die looks for work again, as its pacing may have to grant the
         * first step.
         */
        scarp_nand_kick(drive, scarp_plane_die(drive, p));
    }
    return began;
}
