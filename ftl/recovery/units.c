/*
 * Recovery's work in a group of planes that share reclaim units of several
 * planes. If the group has no unit free but the one that is kept for recovery,
 * mapping units of the reclaim units with the fewest valid ones are copied into
 * fewer of them, as by garbage collection, one flash command after the other.
 *
 * The blocks of a reclaim unit are erased when all its copies are on flash. So
 * if power fails again, either the unit has all it had, or nothing in it counts
 * (map/twins.c), and the next recovery has as many free units as this one had.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"
#include "allocation/ops.h"

static ScarpRecoveryJob *job_of(const ScarpDrive *drive, uint32_t p)
{
    return &drive->recovery.plane[scarp_ru_first_plane(drive, p)].job;
}

/* Takes the group's full unit with the fewest valid ones, and lists those. */
static void choose(ScarpDrive *drive, uint32_t p, ScarpRecoveryJob *job)
{
    uint32_t group = scarp_ru_group(drive, p);
    ScarpMend *mend = &job->mend;

    scarp_mark(drive, mended_by_unit);
    scarp_ru_take_victim(drive, scarp_ru_least_valid(drive, group));
    if (mend->room < drive->geo.victim_units) {
        /* An earlier step may have made lists for the blocks of one plane. */
        g_free(mend->dead);
        g_free(mend->unit);
        mend->dead = g_new(uint32_t, MAX(drive->desc.reclaim_planes,
                                         drive->desc.blocks_per_plane));
        mend->unit = g_new(uint32_t, drive->geo.victim_units);
        mend->room = drive->geo.victim_units;
    }
    mend->n_units = mend->n_dead = 0;
    job->read = job->done = 0;
    for (uint32_t i = 0; i < drive->desc.reclaim_planes; i++) {
        uint32_t block = scarp_ru_victim_block(drive, p + i);

        for (uint32_t u = 0; u < drive->geo.units_per_block; u++) {
            if (scarp_unit_is_valid(drive, scarp_block_ppn(drive, block) + u)) {
                mend->unit[mend->n_units++] = scarp_block_ppn(drive, block) + u;
            }
        }
        mend->dead[mend->n_dead++] = block;
    }
}

static void program_next(ScarpDrive *drive, uint32_t p)
{
    uint32_t group = scarp_ru_group(drive, p);
    uint16_t stream = scarp_ru_victim_stream(drive, group);
    uint32_t to = scarp_alloc_stripe_plane(
        drive, group,
        scarp_ru_next_turn(drive, group, SCARP_ORIGIN_GC, stream));

    scarp_recovery_issue(drive, to, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_GC,
                         scarp_page_take(drive, to, SCARP_ORIGIN_GC, stream),
                         drive->desc.page_bytes);
}

bool scarp_recovery_units(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryJob *job = job_of(drive, p);

    if (scarp_ru_first_plane(drive, p) != p) {
        return false; /* the group's first plane does all */
    }
    for (;;) {
        if (job->done < job->mend.n_units) {
            if (!scarp_recovery_read_next(drive, job)) {
                program_next(drive, p);
            }
            return true;
        }
        if (job->mend.n_dead) {
            uint32_t block = job->mend.dead[job->mend.n_dead - 1];

            scarp_recovery_issue(drive, scarp_block_plane(drive, block),
                                 SCARP_FLASH_ERASE, SCARP_ORIGIN_GC,
                                 scarp_block_ppn(drive, block), 0);
            return true;
        }
        if (scarp_plane_is_sound(drive, p)) {
            return false;
        }
        choose(drive, p, job);
    }
}

static void copied(ScarpDrive *drive, ScarpRecoveryJob *job, uint32_t ppn)
{
    uint32_t n = scarp_recovery_page_units(drive, job);

    scarp_media_pages_programmed(drive, ppn, 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = job->mend.unit[job->done + i];

        scarp_map_relocate(drive, scarp_media_lpn(drive, from), from, ppn + i);
    }
    drive->stats.padded_units += drive->geo.units_per_page - n;
    job->done += n;
}

void scarp_recovery_units_ended(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    ScarpRecoveryJob *job = job_of(drive, scarp_flash_plane(cmd));

    switch (scarp_flash_kind(cmd)) {
    case SCARP_FLASH_PROGRAM:
        copied(drive, job, scarp_flash_ppn(cmd));
        break;
    case SCARP_FLASH_ERASE:
        scarp_block_erased_needed(drive,
                                  job->mend.dead[--job->mend.n_dead]);
        break;
    default:
        break;
    }
}
