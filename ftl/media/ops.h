/*
 * The functions of media (the flash cells) that other directories of ftl/ may
 * call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEDIA_OPS_H
#define SCARP_MEDIA_OPS_H

#include "core/ops.h"

/*
 * Returns how many bytes of host memory media's tables take, without the data
 * of units, for a drive of this geometry and description.
 */
uint64_t scarp_media_bytes(const ScarpGeometry *geo,
                           const ScarpDescription *desc);
/* Makes the tables. Returns false, with *error set, if memory is short. */
bool scarp_media_init(ScarpDrive *drive, const ScarpConfig *config,
                      GError **error);
void scarp_media_clear(ScarpDrive *drive);

/* ---- Spare areas -------------------------------------------------------- */

/*
 * Returns the LPN that was programmed with a unit into its page's spare area.
 * SCARP_NONE: the unit is erased.
 */
static inline uint32_t scarp_media_lpn(const ScarpDrive *drive, uint32_t ppn)
{
    return drive->media.lpn_of[ppn];
}

static inline void scarp_media_set_lpn(ScarpDrive *drive, uint32_t ppn,
                                       uint32_t lpn)
{
    drive->media.lpn_of[ppn] = lpn;
}

/*
 * Returns a pointer to the LPNs of the unit at ppn and of the units behind it.
 * Programs, erases and torn pages change these LPNs.
 */
static inline const uint32_t *scarp_media_lpns(const ScarpDrive *drive,
                                               uint32_t ppn)
{
    return &drive->media.lpn_of[ppn];
}

/* True when spare areas also have the version of each unit (ftl.recovery). */
static inline bool scarp_media_has_versions(const ScarpDrive *drive)
{
    return drive->media.version_of;
}

/*
 * Returns the version in the spare area of a unit. Versions are in the order of
 * the host's writes. A relocated copy keeps the version of its source. Only
 * drives with versions (scarp_media_has_versions()) may call this function.
 */
static inline uint64_t scarp_media_version(const ScarpDrive *drive,
                                           uint32_t ppn)
{
    return drive->media.version_of[ppn];
}

static inline void scarp_media_set_version(ScarpDrive *drive, uint32_t ppn,
                                           uint64_t version)
{
    if (drive->media.version_of) {
        drive->media.version_of[ppn] = version;
    }
}

static inline void scarp_media_copy_version(ScarpDrive *drive, uint32_t from,
                                            uint32_t to)
{
    if (drive->media.version_of) {
        drive->media.version_of[to] = drive->media.version_of[from];
    }
}

/*
 * Called when the unit at ppn was read as the unit `lpn`. Counts the check. If
 * the spare area has another LPN, the mapping is wrong, so the drive is marked
 * as broken.
 */
static inline void scarp_media_check_lpn(ScarpDrive *drive, uint32_t ppn,
                                         uint32_t lpn)
{
    drive->stats.oob_checks++;
    if (drive->media.lpn_of[ppn] != lpn) {
        drive->stats.oob_mismatches++;
        scarp_law_broken(drive);
    }
}

/* ---- Blocks ------------------------------------------------------------- */

static inline uint32_t scarp_media_erases(const ScarpDrive *drive,
                                          uint32_t block)
{
    return drive->media.block[block].erases;
}

/*
 * Returns how many of a block's erases were in SLC mode. Only a drive with
 * slc.endurance_erases counts these apart; for others the result is 0.
 */
static inline uint32_t scarp_media_slc_erases(const ScarpDrive *drive,
                                              uint32_t block)
{
    return drive->media.slc_erases ? drive->media.slc_erases[block] : 0;
}

static inline void scarp_media_load_slc_erases(ScarpDrive *drive,
                                               uint32_t block, uint32_t erases)
{
    drive->media.slc_erases[block] = erases;
}

static inline uint32_t scarp_media_programmed(const ScarpDrive *drive,
                                              uint32_t block)
{
    return drive->media.block[block].programmed;
}

static inline ScarpOrigin scarp_media_origin(const ScarpDrive *drive,
                                             uint32_t block)
{
    return drive->media.block[block].origin;
}

static inline uint32_t scarp_media_stream(const ScarpDrive *drive,
                                          uint32_t block)
{
    return drive->media.block[block].stream;
}

static inline uint64_t scarp_media_seq(const ScarpDrive *drive, uint32_t block)
{
    return drive->media.block[block].seq;
}

static inline uint64_t scarp_media_next_seq(const ScarpDrive *drive)
{
    return drive->media.next_block_seq;
}

/*
 * Called when an erased block gets its first page. Notes in the block's record
 * who opened the block (`origin`), for which stream, and its place in the order
 * of openings.
 */
static inline void scarp_media_open(ScarpDrive *drive, uint32_t index,
                                    ScarpOrigin origin, uint16_t stream)
{
    ScarpMediaBlock *block = &drive->media.block[index];

    block->origin = origin;
    block->stream = stream;
    block->seq = drive->media.next_block_seq++;
}

/*
 * Does what scarp_media_open() does, for a further block of a reclaim unit,
 * whose blocks are opened together. `other` is one that is open already.
 */
static inline void scarp_media_open_beside(ScarpDrive *drive, uint32_t index,
                                           uint32_t other)
{
    ScarpMediaBlock *block = &drive->media.block[index];

    block->origin = drive->media.block[other].origin;
    block->stream = drive->media.block[other].stream;
    block->seq = drive->media.block[other].seq;
}

/* Returns the mode of the block's cells. */
static inline ScarpCellMode scarp_media_mode(const ScarpDrive *drive,
                                             uint32_t block)
{
    return drive->media.mode ? drive->media.mode[block] : MODE_REAL;
}

/* Returns how many pages the block has in the mode of its cells. */
static inline uint32_t scarp_block_pages(const ScarpDrive *drive,
                                         uint32_t block)
{
    return scarp_media_mode(drive, block) == MODE_REAL
               ? drive->desc.pages_per_block : drive->geo.slc_pages;
}

/* Returns how many pages of the block share a cell. */
static inline uint32_t scarp_media_cell_pages(const ScarpDrive *drive,
                                              uint32_t block)
{
    return scarp_media_mode(drive, block) == MODE_REAL ? drive->desc.cell_bits
                                                       : 1;
}

/*
 * Sets the mode of an erased block that is about to be opened, or of a block
 * that is to be SLC for ever. Only drives with an SLC cache have modes.
 */
static inline void scarp_media_set_mode(ScarpDrive *drive, uint32_t block,
                                        ScarpCellMode mode)
{
    drive->media.mode[block] = mode;
}

/* ---- Pages (nand.power_cuts): media/pages.c ------------------------------ */

/*
 * True with nand.power_cuts: each page has a state, so that a power cut can
 * leave a page unreadable. Only such drives may call functions with page
 * states.
 */
static inline bool scarp_media_keeps(const ScarpDrive *drive)
{
    return drive->media.page_state;
}

/*
 * Returns the state of a page. Pages are numbered through the whole drive:
 * block * pages_per_block + the page's offset in the block.
 */
static inline ScarpPageState scarp_media_page(const ScarpDrive *drive,
                                              uint32_t page)
{
    return drive->media.page_state[page / 4] >> (page % 4 * 2) & 3;
}

/* Sets the state of n pages, from number `page` on. */
void scarp_media_set_pages(ScarpDrive *drive, uint32_t page, uint32_t n,
                           ScarpPageState state);
/* Does the part of scarp_media_pages_programmed() that is for page states. */
void scarp_media_programmed_kept(ScarpDrive *drive, uint32_t ppn,
                                 uint32_t pages);
/*
 * Called when a power cut interrupts the program of ppn's page: the page
 * becomes unreadable (torn). With `earlier`, pages that were programmed into
 * the same cells before are torn, too, because there are no copies of them.
 */
void scarp_media_tear(ScarpDrive *drive, uint32_t ppn, bool earlier);
/*
 * Called when a power cut interrupts an erase: all pages of the block become
 * unreadable.
 */
void scarp_media_tear_block(ScarpDrive *drive, uint32_t block);
/*
 * Returns how many pages of the block are in use: all pages up to the last page
 * that is not erased.
 */
uint32_t scarp_media_used_pages(const ScarpDrive *drive, uint32_t block);
/*
 * Sets how many pages of the block are programmed, for recovery, which has
 * found that the first `pages` pages of the block are in use.
 */
void scarp_media_set_programmed(ScarpDrive *drive, uint32_t block,
                                uint16_t pages);
/*
 * Marks the drive as clean: all of its mapping is on flash. The mark lasts
 * until the next page is programmed or the next block is erased.
 */
static inline void scarp_media_set_clean(ScarpDrive *drive)
{
    drive->media.is_clean = true;
}

static inline bool scarp_media_is_clean(const ScarpDrive *drive)
{
    return drive->media.is_clean;
}
/* Sets the block's bad-block mark, which survives a power cut. */
static inline void scarp_media_set_bad(ScarpDrive *drive, uint32_t block)
{
    drive->media.block[block].bad = true;
}

static inline bool scarp_media_is_bad(const ScarpDrive *drive, uint32_t block)
{
    return drive->media.block[block].bad;
}

/*
 * Called at a power cut, and at a Sanitize: moves all tables of media from the
 * old drive to the new drive. After the call `from` has no tables.
 */
void scarp_media_hand_over(ScarpDrive *from, ScarpDrive *to);
/*
 * Sets the number of the next block opening above the numbers of all blocks, so
 * that the next opened block is the newest.
 */
static inline void scarp_media_count_seq(ScarpDrive *drive)
{
    uint64_t *next = &drive->media.next_block_seq;

    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        *next = MAX(*next, drive->media.block[b].seq + 1);
    }
}

/* Called when the programs of `pages` pages, from ppn's page on, have ended. */
static inline void scarp_media_pages_programmed(ScarpDrive *drive,
                                                uint32_t ppn, uint32_t pages)
{
    drive->media.block[scarp_ppn_block(drive, ppn)].programmed += pages;
    if (scarp_media_keeps(drive)) {
        scarp_media_programmed_kept(drive, ppn, pages);
    }
}

/* ---- The buffer that energy saved: media/saved.c ------------------------ */

/*
 * Saves a written unit, with a copy of `data`, when power fails and stored
 * energy saves the write buffer. `data` NULL stands for zeroes, or for data
 * that is not stored.
 */
void scarp_media_save_unit(ScarpDrive *drive, uint32_t lpn, uint16_t stream,
                           const void *data);
/* Saves a unit's deallocation, whose version is `when`, in the same way. */
void scarp_media_save_deallocation(ScarpDrive *drive, uint32_t lpn,
                                   uint64_t when);
static inline uint32_t scarp_media_saved_units(const ScarpDrive *drive)
{
    return drive->media.saved ? drive->media.saved->len : 0;
}
static inline const ScarpSavedUnit *scarp_media_saved_unit(
    const ScarpDrive *drive, uint32_t i)
{
    return &g_array_index(drive->media.saved, ScarpSavedUnit, i);
}
/* Saves the number of a stripe whose parity on flash is out of date. */
void scarp_media_save_stripe(ScarpDrive *drive, uint32_t stripe);
/*
 * Returns the numbers of the stripes that scarp_media_save_stripe() saved, or
 * NULL. The caller frees the array.
 */
GArray *scarp_media_take_stripes(ScarpDrive *drive);
/*
 * Frees all data that was saved at the power cut. Called when the write buffer
 * has copies of the saved units, and when a Sanitize begins.
 */
void scarp_media_forget_saved(ScarpDrive *drive);

/*
 * Erases the block with its spare areas and contents, and adds 1 to its wear.
 */
void scarp_media_erase(ScarpDrive *drive, uint32_t block);

/* Sets a block's record to the values from an image. */
void scarp_media_load_block(ScarpDrive *drive, uint32_t block, uint8_t origin,
                            uint8_t stream, uint32_t erases, uint64_t seq,
                            uint16_t programmed);
void scarp_media_load_next_seq(ScarpDrive *drive, uint64_t next_block_seq);

/* ---- Contents: media/contents.c ---------------------------------------- */

/*
 * True when media stores the bytes of units. A drive that does not store the
 * host's data stores only the bytes of records of deallocations and, where
 * power may fail, of translation units.
 */
static inline bool scarp_contents_kept(const ScarpDrive *drive)
{
    return drive->media.keeps_contents;
}

/*
 * Returns uninitialised memory for the bytes of one unit. The caller owns it
 * until scarp_contents_release() or scarp_contents_put().
 */
void *scarp_contents_new(ScarpDrive *drive);
/* Takes back memory of scarp_contents_new(). `data` may be NULL. */
void scarp_contents_release(ScarpDrive *drive, void *data);
/*
 * Returns the contents of the unit, which must not be changed. NULL stands for
 * zeroes.
 */
void *scarp_contents_get(const ScarpDrive *drive, uint32_t ppn);
/*
 * Copies the contents of the unit at PPN `from` to the unit at PPN `to`, which
 * has no contents.
 */
void scarp_contents_copy(ScarpDrive *drive, uint32_t from, uint32_t to);
/*
 * Stores `data` as the bytes of the unit at ppn. media owns the memory from now
 * on, and frees it at once if all bytes are zero.
 */
void scarp_contents_put(ScarpDrive *drive, uint32_t ppn, void *data);
/*
 * Removes the contents of the unit, and returns them to the caller, who owns
 * them.
 */
void *scarp_contents_take(ScarpDrive *drive, uint32_t ppn);
/* True when contents were stored in the block since its last erase. */
bool scarp_contents_any(const ScarpDrive *drive, uint32_t block);

#endif /* SCARP_MEDIA_OPS_H */
