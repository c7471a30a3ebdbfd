/*
 * Functions of media for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MEDIA_OPS_H
#define SCARP_MEDIA_OPS_H

#include "core/ops.h"

/*
 * Returns the bytes of the tables that a drive needs, without contents of
 * units.
 */
uint64_t scarp_media_bytes(const ScarpGeometry *geo,
                           const ScarpDescription *desc);
bool scarp_media_init(ScarpDrive *drive, const ScarpConfig *config,
                      GError **error);
void scarp_media_clear(ScarpDrive *drive);

/* ---- Spare areas -------------------------------------------------------- */

/*
 * Returns the LPN in the spare area of a unit; SCARP_NONE: the unit is erased.
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
 * Returns the LPNs in n spare areas from ppn on, for a caller that reads many
 * of them. The pointer is valid until the next erase.
 */
static inline const uint32_t *scarp_media_lpns(const ScarpDrive *drive,
                                               uint32_t ppn)
{
    return &drive->media.lpn_of[ppn];
}

/* True when units carry versions (ftl.recovery). */
static inline bool scarp_media_has_versions(const ScarpDrive *drive)
{
    return drive->media.version_of;
}

/*
 * Returns the version in the spare area of a unit. Versions are in the order of
 * the host's writes; a relocated copy keeps the version of its source.
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
 * Called when a unit was read for lpn: counts the check, and breaks a law if
 * the spare area has another LPN.
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
 * Opens an erased block, which gets its first page: notes who opened it, and
 * when in the order of openings.
 */
static inline void scarp_media_open(ScarpDrive *drive, uint32_t index,
                                    ScarpOrigin origin, uint16_t stream)
{
    ScarpMediaBlock *block = &drive->media.block[index];

    block->origin = origin;
    block->stream = stream;
    block->seq = drive->media.next_block_seq++;
}

/* ---- Pages (nand.power_cuts): media/pages.c ------------------------------ */

/*
 * True when the cells keep what a power cut leaves in them. The rest of this
 * part is only for such drives.
 */
static inline bool scarp_media_keeps(const ScarpDrive *drive)
{
    return drive->media.page_state;
}

/*
 * Returns the state of a page, which is numbered through the whole drive: block
 * * pages_per_block + page.
 */
static inline ScarpPageState scarp_media_page(const ScarpDrive *drive,
                                              uint32_t page)
{
    return drive->media.page_state[page / 4] >> (page % 4 * 2) & 3;
}

void scarp_media_set_pages(ScarpDrive *drive, uint32_t page, uint32_t n,
                           ScarpPageState state);
/* Called when n `pages` have been programmed, from the page of ppn on. */
void scarp_media_programmed_kept(ScarpDrive *drive, uint32_t ppn,
                                 uint32_t pages);
/*
 * Tears the page of ppn, whose program was cut short. earlier: also tears the
 * earlier pages of the same cells, because no copy of them is elsewhere.
 */
void scarp_media_tear(ScarpDrive *drive, uint32_t ppn, bool earlier);
/* Tears all pages of a block whose erase was cut short. */
void scarp_media_tear_block(ScarpDrive *drive, uint32_t block);
/* Returns the number of the block's pages up to the last that is not erased. */
uint32_t scarp_media_used_pages(const ScarpDrive *drive, uint32_t block);
/*
 * Sets how many pages of the block recovery has found in use, from its first
 * page on.
 */
void scarp_media_set_programmed(ScarpDrive *drive, uint32_t block,
                                uint16_t pages);
/*
 * Marks the drive as clean: its tables are on flash. The mark lasts until a
 * page is programmed or a block is erased.
 */
static inline void scarp_media_set_clean(ScarpDrive *drive)
{
    drive->media.is_clean = true;
}

static inline bool scarp_media_is_clean(const ScarpDrive *drive)
{
    return drive->media.is_clean;
}
/* Marks the block as bad. */
static inline void scarp_media_set_bad(ScarpDrive *drive, uint32_t block)
{
    drive->media.block[block].bad = true;
}

static inline bool scarp_media_is_bad(const ScarpDrive *drive, uint32_t block)
{
    return drive->media.block[block].bad;
}

/*
 * Hands the cells of a drive whose power failed to its successor. `from` keeps
 * nothing.
 */
void scarp_media_hand_over(ScarpDrive *from, ScarpDrive *to);
/*
 * Sets the number that the next opened block gets to one above the numbers of
 * all blocks.
 */
static inline void scarp_media_count_seq(ScarpDrive *drive)
{
    uint64_t *next = &drive->media.next_block_seq;

    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        *next = MAX(*next, drive->media.block[b].seq + 1);
    }
}

/* Called when the programs of so many pages have ended, in the block of ppn. */
static inline void scarp_media_pages_programmed(ScarpDrive *drive,
                                                uint32_t ppn, uint32_t pages)
{
    drive->media.block[scarp_ppn_block(drive, ppn)].programmed += pages;
    if (scarp_media_keeps(drive)) {
        scarp_media_programmed_kept(drive, ppn, pages);
    }
}

/* ---- The buffer that energy saved: media/saved.c ------------------------ */

/* Save a unit, of which data is copied, or the deallocation of a unit. */
void scarp_media_save_unit(ScarpDrive *drive, uint32_t lpn, uint16_t stream,
                           const void *data);
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
void scarp_media_save_stripe(ScarpDrive *drive, uint32_t stripe);
/* Returns the saved stripes, or NULL; the caller frees them. */
GArray *scarp_media_take_stripes(ScarpDrive *drive);
/* Forgets the saved units. The write buffer has them again. */
void scarp_media_forget_saved(ScarpDrive *drive);

/* Erases the block with its spare areas and contents, and adds to its wear. */
void scarp_media_erase(ScarpDrive *drive, uint32_t block);

/* Sets what is known of a block to the values of an image. */
void scarp_media_load_block(ScarpDrive *drive, uint32_t block, uint8_t origin,
                            uint8_t stream, uint32_t erases, uint64_t seq,
                            uint16_t programmed);
void scarp_media_load_next_seq(ScarpDrive *drive, uint64_t next_block_seq);

/* ---- Contents: media/contents.c ---------------------------------------- */

/*
 * True when units have contents: units of the host, records of deallocations,
 * and translation units where power may fail.
 */
static inline bool scarp_contents_kept(const ScarpDrive *drive)
{
    return drive->media.keeps_contents;
}

/*
 * Returns memory for the bytes of a unit, undefined. The caller owns it until
 * it is released, or stored by scarp_contents_put().
 */
void *scarp_contents_new(ScarpDrive *drive);
void scarp_contents_release(ScarpDrive *drive, void *data);
/* Returns the contents of the unit, which must not be changed; NULL: zeroes. */
void *scarp_contents_get(const ScarpDrive *drive, uint32_t ppn);
/* Copies the contents of the unit `from` to the unit `to`, which has none. */
void scarp_contents_copy(ScarpDrive *drive, uint32_t from, uint32_t to);
/*
 * Stores data as the contents of the unit. data belongs to media now; if it is
 * all zeroes, it is released.
 */
void scarp_contents_put(ScarpDrive *drive, uint32_t ppn, void *data);
/* Removes the contents of the unit and returns them. The caller owns them. */
void *scarp_contents_take(ScarpDrive *drive, uint32_t ppn);
/* True when contents were stored in the block since its last erase. */
bool scarp_contents_any(const ScarpDrive *drive, uint32_t block);

#endif /* SCARP_MEDIA_OPS_H */
