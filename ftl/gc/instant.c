/*
 * Collections in zero time, for ageing and for the pacing policy `ideal`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

typedef struct {
    uint32_t to;   /* PPN of the next copy */
    uint32_t room; /* units that still fit into the pages taken */
    uint32_t programs;
} Copies;

/*
 * Copies n valid units of one block, whose PPNs are in from[], to new pages of
 * `plane`, in this order.
 */
static void copy(ScarpDrive *drive, uint32_t plane, uint16_t stream,
                 Copies *copies, const uint32_t *from, uint32_t n)
{
    while (n) {
        uint32_t run;

        if (!copies->room) {
            uint32_t pages = (n + drive->geo.units_per_page - 1) >>
                             drive->geo.page_shift;

            copies->to = scarp_page_take_copies(drive, plane, stream, &pages);
            copies->room = pages << drive->geo.page_shift;
            copies->programs += pages;
        }
        run = MIN(n, copies->room);
        scarp_map_relocate_run(drive, from, run, copies->to);
        copies->to += run;
        copies->room -= run;
        from += run;
        n -= run;
    }
}

/*
 * Programs pads (pages without data) until all pages of the last copy's flash
 * cells are programmed. pad_pairs() of gc/job.c does the same for collections
 * that take time.
 */
static void pad_pairs(ScarpDrive *drive, uint32_t p)
{
    uint32_t n = 0;

    while (drive->desc.paired_pages == PAIRED_PAD &&
           scarp_page_offset(drive, p, SCARP_ORIGIN_GC, 0) %
               drive->desc.cell_bits) {
        uint32_t one = 1;

        scarp_page_take_copies(drive, p, 0, &one);
        n++;
    }
    drive->stats.pair_pad_pages += n;
    drive->stats.padded_units += n * drive->geo.units_per_page;
}

/* Collects `victim`. With `levelling`, the victim was chosen to level wear. */
static void collect(ScarpDrive *drive, uint32_t p, uint32_t victim,
                    bool levelling)
{
    uint32_t first = scarp_block_ppn(drive, victim);
    uint32_t moved = 0, reads = 0, last_page = UINT32_MAX;
    bool fold = scarp_media_mode(drive, victim) != MODE_REAL;
    Copies copies = { 0 };
    uint16_t stream = 0;

    if (scarp_block_is_translation(drive, victim)) {
        stream = SCARP_MAP_STREAM;
    }
    scarp_block_take(drive, victim);
    for (uint32_t i = 0; i < drive->geo.units_per_block;) {
        uint32_t bits = MIN(64, drive->geo.units_per_block - i);
        uint32_t from[64], n = scarp_gc_list_valid(drive, first + i, bits, from,
                                                   &last_page, &reads);

        copy(drive, p, stream, &copies, from, n);
        moved += n;
        i += bits;
    }
    pad_pairs(drive, p);
    scarp_block_emptied(drive, victim);
    scarp_map_collected(drive, p);
    drive->stats.padded_units += copies.room;
    drive->stats.gc_page_programs += copies.programs;
    drive->stats.gc_page_reads += reads;
    drive->stats.gc_moved_units += moved;
    drive->slc_stats.folded_units += fold ? moved : 0;
    drive->stats.gc_runs++;
    drive->stats.wear_runs += levelling;
    scarp_block_erased(drive, victim);
    if (drive->observer.gc_done) {
        ScarpGcJob job = { .origin = SCARP_ORIGIN_GC, .fold = fold, .plane = p,
                          .victim = victim, .moved = moved,
                          .begin_ns = scarp_time_ns(drive) };

        scarp_gc_report(drive, &job);
    }
}

void scarp_gc_collect_victim(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    collect(drive, p, victim, false);
}

bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t p)
{
    bool levelling;
    uint32_t victim;

    if (scarp_gc_runs(drive, p)) {
        /*
         * A plane collects one victim at a time. A job that an earlier scheme
         * began must end first: both collections would need the plane's last
         * free block, its reserved pages and the cells of its last copy.
         */
        scarp_mark(drive, instant_awaits_other);
        return false;
    }
    if (scarp_map_can(drive, MAP_MERGES)) {
        return scarp_gc_merge_now(drive, p, scarp_map_is_stuck(drive, p)
                   ? scarp_map_waiting_lpn(drive, p) : SCARP_NONE);
    }
    if (scarp_blocks_in_units(drive)) {
        return scarp_gc_collect_unit_now(drive, p);
    }
    victim = scarp_gc_choose_victim(drive, p, &levelling);
    if (victim == SCARP_NONE || !scarp_gc_has_room(drive, p, victim)) {
        return false;
    }
    collect(drive, p, victim, levelling);
    return true;
}
