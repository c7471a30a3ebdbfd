/*
 * The time that a collection takes. Some policies compare it with the time of
 * host commands (hios-isca14 §4 compares it for every request in the host
 * queue).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

/*
 * Returns the time to move one valid page, if units are as large as pages and
 * all pages are equally fast. Otherwise returns 0, as the caller has to look at
 * each page.
 */
static int64_t each_move_ns(const ScarpDrive *drive)
{
    if (drive->geo.units_per_page > 1 || !scarp_nand_pages_alike(drive)) {
        return 0;
    }
    return scarp_nand_move_ns(drive, drive->scheme.place->copyback);
}

int64_t scarp_gc_cost_ns(const ScarpDrive *drive, uint32_t p)
{
    int64_t each_ns = each_move_ns(drive);
    uint32_t offset = scarp_page_offset(drive, p, SCARP_ORIGIN_GC, 0);
    int64_t ns = 0, command = drive->desc.command_ns;
    uint32_t victim, staged = 0;

    if (scarp_blocks_in_units(drive)) {
        if (!scarp_victim_least(drive, scarp_ru_first_plane(drive, p), &victim,
                                1)) {
            return 0;
        }
        victim = scarp_ru_block_in(drive, victim, p);
    } else if (!scarp_victim_least(drive, p, &victim, 1)) {
        return 0;
    }
    if (each_ns) {
        return scarp_block_valid(drive, victim) * each_ns + command +
               (int64_t)drive->desc.erase_ns;
    }
    for (uint32_t page = 0; page < drive->desc.pages_per_block; page++) {
        uint32_t ppn = victim * drive->geo.units_per_block +
                       page * drive->geo.units_per_page;
        uint32_t n = __builtin_popcountll(
            scarp_valid_bits(drive, ppn, drive->geo.units_per_page));
        bool copyback = drive->scheme.place->copyback && n == drive->geo.units_per_page;

        if (!n) {
            continue;
        }
        ns += command + scarp_nand_read_ns(drive, page);
        if (!copyback) {
            ns += scarp_nand_transfer_ns(drive,
                                         (uint64_t)n * drive->geo.unit_bytes);
            staged += n;
        }
        if (copyback || staged >= drive->geo.units_per_page) {
            ns += command + scarp_nand_program_ns(drive, offset) +
                  (copyback ? 0 : scarp_nand_page_transfer_ns(drive));
            staged -= copyback ? 0 : drive->geo.units_per_page;
            offset = (offset + 1) % (uint32_t)drive->desc.pages_per_block;
        }
    }
    if (staged) {
        ns += command + scarp_nand_page_transfer_ns(drive) +
              scarp_nand_program_ns(drive, offset);
    }
    return ns + command + (int64_t)drive->desc.erase_ns;
}

/*
 * Returns the time that a job (a collection or a merge) still takes: its pages
 * move one after the other, and the erase follows.
 */
static int64_t remaining_ns(const ScarpDrive *drive, const ScarpGcJob *job)
{
    int64_t move_ns = scarp_nand_move_ns(drive, drive->scheme.place->copyback);
    int64_t left_ns;

    if (job->merge) {
        return scarp_gc_merge_left_ns(drive, job);
    }
    if (job->erasing &&
        scarp_nand_erasing(drive, scarp_plane_die(drive, job->plane),
                           &left_ns)) {
        return left_ns;
    }
    return job->origin == SCARP_ORIGIN_GC
               ? scarp_block_valid(drive, job->victim) * move_ns +
                     (int64_t)drive->desc.erase_ns
               : move_ns;
}

int64_t scarp_gc_remaining_ns(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    int64_t ns = 0;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        if (scarp_gc_runs(drive, p)) {
            ns += remaining_ns(drive, scarp_gc_job(drive, p));
        }
    }
    return ns;
}
