/*
 * Checkpoints (ftl.checkpoint_pages) shorten recovery from a power cut. A
 * checkpoint writes all translation units whose copy on flash is out of date.
 * After a power cut, the controller then scans only the data pages written
 * since.
 *
 * A checkpoint begins when checkpoint_pages pages have been programmed since
 * the last checkpoint began. The data blocks that are open at that moment, and
 * all data blocks opened later, are its journal: recovery scans all of their
 * pages. Older blocks get no more pages, so the checkpoint has all of their
 * units.
 *
 * When all these translation units are on flash, a last unit
 * (scarp_checkpoint_tu()) is written, with the sequence number of the journal's
 * first block. If power fails before that unit is on flash, recovery uses the
 * previous checkpoint.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

void scarp_checkpoint_count(ScarpDrive *drive)
{
    ScarpCheckpoint *checkpoint = &drive->map.demand->checkpoint;

    checkpoint->units++;
    drive->map.wants |= !checkpoint->running &&
                        checkpoint->units >= drive->desc.checkpoint_pages *
                                                 drive->geo.units_per_page;
}

uint64_t scarp_checkpoint_first_open(const ScarpDrive *drive)
{
    uint64_t first = scarp_media_next_seq(drive);

    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        ScarpBlockState state = scarp_block_state(drive, b);

        /*
         * Blocks of translation units are left out, because recovery scans all
         * of their pages anyway.
         */
        if (scarp_block_written(drive, b) && state != BLOCK_BAD &&
            !scarp_block_is_translation(drive, b) &&
            (state == BLOCK_ACTIVE || !scarp_block_settled(drive, b))) {
            first = MIN(first, scarp_media_seq(drive, b));
        }
    }
    return first;
}

static bool lacks(const Tu *tu)
{
    return tu->dirty != SCARP_NONE || tu->updates || tu->deallocated ||
           (tu->work && tu->work->writing);
}

static void seal(ScarpDrive *drive)
{
    drive->map.demand->checkpoint.sealing = true;
    scarp_tu_want(drive, scarp_checkpoint_tu(drive));
}

static void begin(ScarpDrive *drive)
{
    ScarpDemand *demand = drive->map.demand;
    ScarpCheckpoint *checkpoint = &demand->checkpoint;

    *checkpoint = (ScarpCheckpoint) { .running = true,
                                      .number = checkpoint->number + 1,
                                      .journal = scarp_checkpoint_first_open(drive) };
    for (uint32_t i = 0; i < demand->n_tus; i++) {
        Tu *tu = &demand->tu[i];

        if (lacks(tu)) {
            tu->awaited = true;
            checkpoint->left++;
            scarp_tu_want(drive, tu);
        }
    }
    if (!checkpoint->left) {
        scarp_mark(drive, checkpoint_of_nothing);
        seal(drive);
    }
}

void scarp_checkpoint_pump(ScarpDrive *drive)
{
    const ScarpCheckpoint *checkpoint = &drive->map.demand->checkpoint;

    if (!checkpoint->running && !drive->map.demand->aside &&
        checkpoint->units >= drive->desc.checkpoint_pages *
                                 drive->geo.units_per_page) {
        begin(drive);
    }
}

void scarp_checkpoint_fill(const ScarpDrive *drive, uint64_t *contents)
{
    memset(contents, 0, drive->geo.unit_bytes);
    contents[0] = GUINT64_TO_LE(drive->map.demand->checkpoint.journal);
}

void scarp_checkpoint_written(ScarpDrive *drive, Tu *tu, uint64_t number)
{
    ScarpCheckpoint *checkpoint = &drive->map.demand->checkpoint;

    if (tu == scarp_checkpoint_tu(drive)) {
        drive->stats.checkpoints++;
        checkpoint->running = checkpoint->sealing = false;
        drive->map.wants = true; /* the next checkpoint may be due */
    } else if (tu->awaited && number == checkpoint->number) {
        tu->awaited = false;
        if (!--checkpoint->left) {
            seal(drive);
        }
    }
}

/*
 * Counts the pages of the journal as programmed since the last checkpoint. If
 * the count began at 0 after each power cut, a drive that loses power often
 * would never begin a checkpoint.
 *
 * The function does not set `wants`, although a checkpoint may be due: the
 * checkpoint begins with the next programmed page. Until then the drive writes
 * nothing, so the tables that a clean shutdown saved stay correct.
 */
void scarp_checkpoint_recovered(ScarpDrive *drive)
{
    ScarpCheckpoint *checkpoint = &drive->map.demand->checkpoint;

    checkpoint->units = 0;
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (scarp_media_seq(drive, b) >= drive->map.journal &&
            !scarp_block_is_translation(drive, b)) {
            checkpoint->units += (uint64_t)scarp_block_written(drive, b) *
                                 drive->geo.units_per_page;
        }
    }
}

void scarp_checkpoint_aged(ScarpDrive *drive)
{
    drive->map.demand->checkpoint = (ScarpCheckpoint) {
        .journal = scarp_checkpoint_first_open(drive),
    };
}

/* ---- After a power cut -------------------------------------------------- */

/*
 * Returns the PPN of the newest copy of the unit that ends a checkpoint
 * (scarp_checkpoint_tu()), or SCARP_NONE. Looks at the spare areas of all
 * blocks of translation units.
 */
static uint32_t newest_own(const ScarpDrive *drive)
{
    uint32_t lpn = drive->geo.mapped_units - 1, best = SCARP_NONE;

    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        uint32_t first = scarp_block_ppn(drive, b);

        for (uint32_t i = 0; scarp_block_is_translation(drive, b) &&
                             i < drive->geo.units_per_block; i++) {
            if (scarp_media_lpn(drive, first + i) == lpn &&
                (best == SCARP_NONE ||
                 scarp_media_version(drive, first + i) >
                     scarp_media_version(drive, best))) {
                best = first + i;
            }
        }
    }
    return best;
}

/*
 * Returns the sequence number of the first block that recovery has to scan.
 * Returns 0, so that recovery scans all blocks, if there is no checkpoint.
 */
static uint64_t journal_of(const ScarpDrive *drive)
{
    uint32_t ppn = newest_own(drive);
    const uint64_t *says = ppn == SCARP_NONE ? NULL
                                             : scarp_contents_get(drive, ppn);

    return says ? GUINT64_FROM_LE(says[0]) : 0;
}

/*
 * Returns the PPN of lpn according to its translation unit on flash, or
 * SCARP_NONE. The PPN may be out of date. If the spare area at that PPN has
 * another LPN, the page was written anew since, and the function returns
 * SCARP_NONE, too.
 */
static uint32_t said(const ScarpDrive *drive, const uint32_t *ppn_of,
                     uint32_t lpn)
{
    uint32_t at = ppn_of[drive->geo.first_translation_unit +
                         (lpn >> drive->geo.translation_shift)];
    const uint32_t *says =
        at == SCARP_NONE || drive->desc.no_checkpoint
            ? NULL : scarp_contents_get(drive, at);
    uint32_t i = lpn & ((1u << drive->geo.translation_shift) - 1);
    uint32_t ppn = says ? GUINT32_FROM_LE(says[i]) : SCARP_NONE;

    return ppn != SCARP_NONE && scarp_media_lpn(drive, ppn) == lpn
               ? ppn : SCARP_NONE;
}

/*
 * Finds the PPN of each unit in its translation unit, or, if a block of the
 * journal has a newer version of the unit, in that block. The caller must
 * already have set the entries of ppn_of for the translation units themselves.
 */
uint64_t scarp_checkpoint_reread(const ScarpDrive *drive, uint32_t *ppn_of)
{
    uint64_t journal;

    if (!scarp_has_checkpoints(drive)) {
        return 0;
    }
    journal = journal_of(drive);
    for (uint32_t lpn = 0; lpn < drive->geo.first_translation_unit; lpn++) {
        ppn_of[lpn] = lpn < drive->geo.logical_units
                          ? said(drive, ppn_of, lpn) : SCARP_NONE;
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        uint32_t first = scarp_block_ppn(drive, b);

        if (scarp_media_seq(drive, b) < journal ||
            scarp_block_is_translation(drive, b)) {
            continue;
        }
        for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
            uint32_t lpn = scarp_media_lpn(drive, first + i);

            if (lpn < drive->geo.first_translation_unit &&
                (ppn_of[lpn] == SCARP_NONE ||
                 scarp_unit_is_newer(drive, first + i, ppn_of[lpn]))) {
                ppn_of[lpn] = first + i;
            }
        }
    }
    return journal;
}
