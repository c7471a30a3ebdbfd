/*
 * Recovery's work in a plane. Useless blocks are erased. If the plane then has
 * no free block, or its mapping cannot use some blocks, valid units are copied
 * into fewer blocks.
 *
 * The copies go to a block that is kept free for recovery. If power fails while
 * units are copied, a unit is on flash twice, and the copy in the older block
 * counts (map/rebuild.c). So the next recovery ignores all new copies, erases
 * their block, and has as many free blocks as this recovery had.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"

uint32_t scarp_recovery_page_units(const ScarpDrive *drive,
                                   const ScarpRecoveryJob *job)
{
    return MIN(drive->geo.units_per_page, job->mend.n_units - job->done);
}

/*
 * True when the last copy's page shares flash cells with a page that is not
 * programmed yet. With ftl.paired_pages=pad, pages that share cells must be
 * programmed together.
 */
static bool lacks_pair(const ScarpDrive *drive, const ScarpRecoveryJob *job)
{
    return drive->desc.paired_pages == PAIRED_PAD &&
           job->target != SCARP_NONE &&
           scarp_block_written(drive, job->target) % drive->desc.cell_bits;
}

bool scarp_recovery_read_next(ScarpDrive *drive, ScarpRecoveryJob *job)
{
    const uint32_t *unit = job->mend.unit;
    uint32_t end = job->done + scarp_recovery_page_units(drive, job), first, n = 0;

    while (job->read < end && unit[job->read] == SCARP_PAD) {
        job->read++;
    }
    if (job->read >= end) {
        return false;
    }
    first = unit[job->read];
    /* This read also fetches further units to copy that are in its page. */
    while (job->read < job->mend.n_units &&
           unit[job->read] >> drive->geo.page_shift ==
               first >> drive->geo.page_shift) {
        job->read++;
        n++;
    }
    scarp_recovery_issue(drive, scarp_ppn_plane(drive, first),
                         SCARP_FLASH_READ, SCARP_ORIGIN_GC, first,
                         n * drive->geo.unit_bytes);
    return true;
}

bool scarp_recovery_erase_next(ScarpDrive *drive, const ScarpRecoveryJob *job)
{
    uint32_t block;

    if (!job->mend.n_dead) {
        return false;
    }
    block = job->mend.dead[job->mend.n_dead - 1];
    scarp_recovery_issue(drive, scarp_block_plane(drive, block),
                         SCARP_FLASH_ERASE, SCARP_ORIGIN_GC,
                         scarp_block_ppn(drive, block), 0);
    return true;
}

static void program_next(ScarpDrive *drive, uint32_t p, ScarpRecoveryJob *job)
{
    if (job->target == SCARP_NONE) {
        job->target = scarp_block_open_apart(drive, p, SCARP_ORIGIN_GC);
    }
    scarp_recovery_issue(drive, p, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_GC,
                         scarp_block_next_page(drive, job->target),
                         drive->desc.page_bytes);
}

static void copied(ScarpDrive *drive, ScarpRecoveryJob *job, uint32_t ppn)
{
    uint32_t n = scarp_recovery_page_units(drive, job);

    scarp_media_pages_programmed(drive, ppn, 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = job->mend.unit[job->done + i];

        if (from != SCARP_PAD) {
            scarp_map_relocate(drive, scarp_media_lpn(drive, from), from,
                               ppn + i);
        }
    }
    drive->stats.padded_units += drive->geo.units_per_page - n;
    job->done += n;
    if (job->target != SCARP_NONE &&
        scarp_block_written(drive, job->target) == drive->desc.pages_per_block) {
        scarp_map_mend_filled(drive, &job->mend, job->target);
        job->target = SCARP_NONE;
    }
}

bool scarp_recovery_mend(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryJob *job = &drive->recovery.plane[p].job;

    for (;;) {
        if (job->done < job->mend.n_units) {
            if (!scarp_recovery_read_next(drive, job)) {
                program_next(drive, p, job);
            }
            return true;
        }
        if (lacks_pair(drive, job)) {
            program_next(drive, p, job);
            return true;
        }
        if (job->mend.n_units) {
            scarp_map_mend_copied(drive, &job->mend, &job->target);
            job->mend.n_units = job->done = job->read = 0;
        }
        if (scarp_recovery_erase_next(drive, job)) {
            return true;
        }
        job->mend.open = job->target != SCARP_NONE;
        if (!scarp_map_mend(drive, p, &job->mend)) {
            if (job->target != SCARP_NONE) {
                scarp_map_mend_filled(drive, &job->mend, job->target);
                job->target = SCARP_NONE;
            }
            return false;
        }
        job->read = job->done = 0;
    }
}

uint32_t scarp_recovery_plane(const ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    uint32_t p = scarp_flash_plane(cmd);

    return drive->recovery.step == RECOVERY_UNITS
               ? scarp_ru_first_plane(drive, p) : p;
}

void scarp_recovery_mended(ScarpDrive *drive, uint32_t p,
                           const ScarpFlashCmd *cmd)
{
    ScarpRecoveryJob *job = &drive->recovery.plane[p].job;

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

const uint32_t *scarp_recovery_sources(const ScarpDrive *drive,
                                       const ScarpFlashCmd *cmd, uint32_t *n)
{
    const ScarpRecoveryJob *job =
        &drive->recovery.plane[scarp_recovery_plane(drive, cmd)].job;

    *n = scarp_recovery_page_units(drive, job);
    return &job->mend.unit[job->done];
}
