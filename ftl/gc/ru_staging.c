/*
 * Relocated mapping units on a drive with reclaim units of several planes: all
 * jobs of a group fill one page after the other, and a full page goes to the
 * plane whose turn it is. A group collects one victim at a time. So such a page
 * has data of one reclaim unit only, and goes to the write point of that
 * reclaim unit's stream.
 *
 * No page is promised to these copies: the copies of a victim take less than a
 * reclaim unit, and only collections may open the group's last free one
 * (blocks/ru.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "allocation/ops.h"
#include "gc/internal.h"

/* Returns the packer of the job's group, which is that of its first plane. */
static ScarpPacker *packer_of(ScarpDrive *drive, const ScarpGcJob *job)
{
    return &drive->gc.plane[scarp_ru_first_plane(drive, job->plane)].packer;
}

static void emit(ScarpDrive *drive, ScarpPacker *packer, uint32_t group)
{
    uint32_t n = scarp_packer_count(packer);
    ScarpUnit *first = scarp_packer_first(packer);
    uint32_t p = scarp_ru_next_plane(drive, group, SCARP_ORIGIN_GC,
                                     scarp_unit_stream(first));
    ScarpFlashCmd *cmd = scarp_packer_emit(drive, packer, OWNER_GC,
                                           SCARP_ORIGIN_GC);

    scarp_mark_if(drive, collected_page_padded, n < drive->geo.units_per_page);
    scarp_flash_set_subject(cmd, scarp_copy_of(first)->job);
    scarp_flash_set_target(cmd, p, 0, drive->desc.page_bytes);
    for (ScarpUnit *unit = first; unit; unit = scarp_unit_next(unit)) {
        ScarpGcJob *job = scarp_copy_of(unit)->job;

        scarp_mark_if(drive, page_of_two_blocks,
                      job != scarp_copy_of(first)->job);
        scarp_unit_set_plane(unit, p);
        job->pages_out++;
        if (scarp_plane_die(drive, job->plane) != scarp_plane_die(drive, p)) {
            scarp_flash_set_guest(cmd);
        }
    }
    scarp_pack_gc_units(drive, p, (int)n);
    scarp_nand_enqueue(drive, cmd);
}

void scarp_gc_stage_in_group(ScarpDrive *drive, ScarpGcJob *job,
                             ScarpCopy *copy)
{
    ScarpPacker *packer = packer_of(drive, job);
    uint32_t group = scarp_ru_group(drive, job->plane);

    scarp_unit_set_stream(&copy->unit, scarp_ru_victim_stream(drive, group));
    if (scarp_packer_add(drive, packer, &copy->unit)) {
        emit(drive, packer, group);
    }
}

void scarp_gc_close_in_group(ScarpDrive *drive, const ScarpGcJob *job)
{
    ScarpPacker *packer = packer_of(drive, job);

    for (ScarpUnit *unit = scarp_packer_first(packer); unit;
         unit = scarp_unit_next(unit)) {
        if (scarp_copy_of(unit)->job == job) {
            emit(drive, packer, scarp_ru_group(drive, job->plane));
            return;
        }
    }
}
