/*
 * Functions of parity for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_OPS_H
#define SCARP_PARITY_OPS_H

#include "gc/ops.h"

bool scarp_parity_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_parity_clear(ScarpDrive *drive);

/* All functions below are only for drives with parity. */
static inline bool scarp_has_parity(const ScarpDrive *drive)
{
    return drive->parity.width;
}

/* ---- Layout: parity/layout.c -------------------------------------------- */

/* Returns the plane of lpn, which may be a parity's. */
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn);
/* Returns the LPN of the parity that covers lpn. */
uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn);
/*
 * True when the striped layout puts the unit in ppn's spare area into the plane
 * of ppn. The spare area must have an LPN. Images of drives whose power may
 * fail are checked by this.
 */
static inline bool scarp_parity_may_hold(const ScarpDrive *drive, uint32_t ppn)
{
    return !scarp_has_parity(drive) ||
           scarp_ppn_plane(drive, ppn) ==
               scarp_parity_plane(drive, scarp_media_lpn(drive, ppn));
}

/* True when another die that shares stripes with this die collects. */
bool scarp_parity_sibling_collects(const ScarpDrive *drive, uint32_t die);
/*
 * Kicks the other dies that share stripes with the plane, the one whose turn is
 * next first.
 */
void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane);

/* ---- Parities: parity/parity.c ------------------------------------------ */

/*
 * Called when the newest contents of a unit have become data; NULL: the unit
 * was deallocated.
 */
void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data);
/*
 * Called before and after a write of a part of a unit, whose rest has to be
 * read. Between the two calls the unit's stripe has a place in RAM. The second
 * call comes after scarp_parity_changed(), or when a newer write has made this
 * one stale.
 */
void scarp_parity_part_begins(ScarpDrive *drive, uint32_t lpn);
void scarp_parity_part_ends(ScarpDrive *drive, uint32_t lpn);
/*
 * True when there is no place in RAM for the stripe of lpn, which the host
 * wants to write.
 */
bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn);
/*
 * Called when a flash command of parity has ended; frees it. True: a stripe may
 * have given up its place in RAM, so another stripe may get one.
 */
bool scarp_parity_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_parity_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* Begins to write every parity that is in RAM to flash. */
void scarp_parity_drain(ScarpDrive *drive);
/* True when no parity is in RAM. */
bool scarp_parity_at_rest(const ScarpDrive *drive);

/* ---- A power cut -------------------------------------------------------- */

/* Saves in media which stripes have an outdated parity on flash. */
void scarp_parity_save(ScarpDrive *drive);
/* Opens the saved stripes again, so that their parities are made anew. */
void scarp_parity_restore(ScarpDrive *drive);

/* ---- Reads: parity/reconstruct.c ---------------------------------------- */

/*
 * Queues cmd, a read of one unit for the host, at its die; or serves it from
 * the other pages of its stripe, where the scheme does so.
 */
static inline void scarp_parity_read(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    if (!drive->scheme.redundancy->serve ||
        !drive->scheme.redundancy->serve(drive, cmd)) {
        scarp_nand_enqueue(drive, cmd);
    }
}

/*
 * Returns a read that was served from the other pages of its stripe, or NULL.
 * The caller gets its data by scarp_flash_data(), and owns the data.
 */
ScarpFlashCmd *scarp_parity_next_served(ScarpDrive *drive);
/*
 * Returns a read whose rebuild was spoiled, or NULL. The caller queues it at
 * its die.
 */
ScarpFlashCmd *scarp_parity_next_spoiled(ScarpDrive *drive);

/*
 * Returns the read of the host that cmd, a read of a page of a stripe, serves;
 * NULL: cmd serves a parity.
 */
const ScarpFlashCmd *scarp_parity_parent(const ScarpFlashCmd *cmd);

/* ---- Laws: parity/laws.c ------------------------------------------------ */

/*
 * Checks the laws of stripes. contents: also compares the pages of each stripe
 * with its parity.
 */
bool scarp_parity_check(const ScarpDrive *drive, bool contents,
                        GError **error);

#endif /* SCARP_PARITY_OPS_H */
