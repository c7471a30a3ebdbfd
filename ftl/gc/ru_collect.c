/*
 * Collections of reclaim units of several planes. The victim is chosen once for
 * its group. A job in each of its planes collects the plane's block, so pacing,
 * turns and causes are those of a die.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "allocation/ops.h"
#include "gc/internal.h"

/*
 * Chooses a victim for the group of this plane, and takes it out of the lists.
 * Returns false if a victim is being collected, or if there is none.
 */
static bool take_victim(ScarpDrive *drive, uint32_t p, bool *levelling)
{
    uint32_t victim;

    if (scarp_ru_collected(drive, p)) {
        return false;
    }
    victim = scarp_gc_choose_victim(drive, scarp_ru_first_plane(drive, p),
                                    levelling);
    if (victim == SCARP_NONE) {
        return false;
    }
    scarp_ru_take_victim(drive, victim);
    return true;
}

bool scarp_gc_start_unit(ScarpDrive *drive, uint32_t p, ScarpOrigin origin)
{
    uint32_t first = scarp_ru_first_plane(drive, p);
    bool levelling;

    if (!take_victim(drive, p, &levelling)) {
        return false;
    }
    for (uint32_t i = 0; i < drive->desc.reclaim_planes; i++) {
        uint32_t own = first + i;

        scarp_gc_start_taken(drive, own, scarp_ru_victim_block(drive, own),
                             origin, levelling && !i);
        /* the die's pacing may have to grant the first step */
        scarp_nand_kick(drive, scarp_plane_die(drive, own));
    }
    return true;
}

/* ---- In zero time ------------------------------------------------------- */

typedef struct {
    uint32_t to;   /* the PPN that the next unit goes to */
    uint32_t room; /* units that still fit into the page taken */
    uint32_t reads, programs, moved;
} Copies;

/* Copies the n valid units from[] of the victim to pages of its group. */
static void copy(ScarpDrive *drive, uint32_t group, Copies *copies,
                 const uint32_t *from, uint32_t n)
{
    uint16_t stream = scarp_ru_victim_stream(drive, group);

    while (n) {
        uint32_t run;

        if (!copies->room) {
            uint32_t p = scarp_ru_next_plane(drive, group, SCARP_ORIGIN_GC,
                                             stream);

            copies->to = scarp_page_take(drive, p, SCARP_ORIGIN_GC, stream);
            scarp_media_pages_programmed(drive, copies->to, 1);
            copies->room = drive->geo.units_per_page;
            copies->programs++;
        }
        run = MIN(n, copies->room);
        scarp_map_relocate_run(drive, from, run, copies->to);
        copies->to += run;
        copies->room -= run;
        copies->moved += run;
        from += run;
        n -= run;
    }
}

static void copy_block(ScarpDrive *drive, uint32_t group, uint32_t block,
                       Copies *copies)
{
    uint32_t first = scarp_block_ppn(drive, block), last_page = UINT32_MAX;

    for (uint32_t i = 0; i < drive->geo.units_per_block; i += 64) {
        uint32_t bits = MIN(64, drive->geo.units_per_block - i);
        uint32_t from[64], n = scarp_gc_list_valid(drive, first + i, bits, from,
                                                   &last_page, &copies->reads);

        copy(drive, group, copies, from, n);
    }
    scarp_block_emptied(drive, block);
}

bool scarp_gc_collect_unit_now(ScarpDrive *drive, uint32_t p)
{
    uint32_t first = scarp_ru_first_plane(drive, p);
    uint32_t n = (uint32_t)drive->desc.reclaim_planes;
    Copies copies = { 0 };
    bool levelling;

    if (!take_victim(drive, p, &levelling)) {
        return false;
    }
    for (uint32_t own = first; own < first + n; own++) {
        copy_block(drive, scarp_ru_group(drive, p),
                   scarp_ru_victim_block(drive, own), &copies);
    }
    for (uint32_t own = first; own < first + n; own++) {
        scarp_block_erased(drive, scarp_ru_victim_block(drive, own));
    }
    drive->stats.padded_units += copies.room;
    drive->stats.gc_page_programs += copies.programs;
    drive->stats.gc_page_reads += copies.reads;
    drive->stats.gc_moved_units += copies.moved;
    drive->stats.gc_runs += n;
    drive->stats.wear_runs += levelling;
    return true;
}
