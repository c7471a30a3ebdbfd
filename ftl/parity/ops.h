/*
 * The functions of parity (stripes over dies) that other directories of ftl/
 * may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_OPS_H
#define SCARP_PARITY_OPS_H

#include "gc/ops.h"

/*
 * Makes the tables of a drive with parity. Returns false, with *error set, if
 * the planes cannot be divided into groups for stripes.
 */
bool scarp_parity_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_parity_clear(ScarpDrive *drive);

/*
 * Only drives with parity may call the functions below, except
 * scarp_parity_may_hold() and scarp_parity_read().
 */
static inline bool scarp_has_parity(const ScarpDrive *drive)
{
    return drive->parity.width;
}

/* ---- Layout: parity/layout.c -------------------------------------------- */

/*
 * Returns the plane where the page of lpn is written. The page may be a parity
 * page.
 */
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn);
/* Returns the LPN of the parity page in the stripe of lpn. */
uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn);
/*
 * True when the striped layout puts the LPN that was programmed at ppn into
 * ppn's plane, and for every drive without parity. The unit at ppn must not be
 * erased. Loading an image of a drive whose power may fail refuses a unit in
 * any other plane.
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
 * Lets the other dies that share stripes with the plane look for work, because
 * one of these dies may collect now. The die whose turn is next looks first.
 */
void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane);

/* ---- Parities: parity/parity.c ------------------------------------------ */

/*
 * Called when the host has written or deallocated a unit, so that its stripe
 * needs a new parity. `data` is the written data, or NULL for zeroes and for a
 * deallocation.
 */
void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data);
/*
 * Called before and after a write of a part of a unit, whose other bytes are
 * read first. From scarp_parity_part_begins() on the stripe has a place in the
 * controller's RAM, so the write need not wait for a place after its read.
 * scarp_parity_part_ends() is called after scarp_parity_changed(), or when a
 * newer write has replaced this write.
 */
void scarp_parity_part_begins(ScarpDrive *drive, uint32_t lpn);
void scarp_parity_part_ends(ScarpDrive *drive, uint32_t lpn);
/*
 * True when the host's write of lpn must wait, because its stripe has no place
 * in the controller's RAM, and all ftl.parity_stripes places are taken.
 */
bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn);
/*
 * Called when a read or program that parity has queued ends. Both functions
 * free the command. scarp_parity_read_ended() returns true if a stripe may have
 * left RAM, so that a write may be able to go on.
 */
bool scarp_parity_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_parity_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* Begins to write to flash the parities of all stripes that wait in RAM. */
void scarp_parity_drain(ScarpDrive *drive);
/* True when the parities of all stripes are on flash. */
bool scarp_parity_at_rest(const ScarpDrive *drive);

/* ---- A power cut -------------------------------------------------------- */

/*
 * Called when power fails. Hands the numbers of the open stripes, whose parity
 * on flash is out of date, to media, which keeps them.
 */
void scarp_parity_save(ScarpDrive *drive);
/*
 * Called after a power cut: opens the stripes that scarp_parity_save() noted,
 * so that their parities are made anew.
 */
void scarp_parity_restore(ScarpDrive *drive);

/* ---- Reads: parity/reconstruct.c ---------------------------------------- */

/*
 * Serves `cmd`, the host's read of one unit. If the page's die collects, the
 * scheme may rebuild the unit from the other pages of its stripe. Otherwise cmd
 * is queued at its die.
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
 * The caller gets the read's data by scarp_flash_data(), and owns it.
 */
ScarpFlashCmd *scarp_parity_next_served(ScarpDrive *drive);
/*
 * Returns a read that could not be rebuilt, because the host changed its stripe
 * meanwhile, or NULL if there is none. The caller looks up the unit again: the
 * read then goes to the unit's die, or is answered from RAM.
 */
ScarpFlashCmd *scarp_parity_next_spoiled(ScarpDrive *drive);

/*
 * Returns the host's read that is rebuilt from the page that `cmd` reads, or
 * NULL if `cmd` reads the page to make a new parity. `cmd` must be a read that
 * parity has queued (OWNER_STRIPE).
 */
const ScarpFlashCmd *scarp_parity_parent(const ScarpFlashCmd *cmd);

/* ---- Laws: parity/laws.c ------------------------------------------------ */

/*
 * Checks the invariants (laws) of stripes. With `contents`, also checks that
 * each stripe's parity is the exclusive or of its pages. Returns false, with
 * *error set, if a law is broken.
 */
bool scarp_parity_check(const ScarpDrive *drive, bool contents,
                        GError **error);

#endif /* SCARP_PARITY_OPS_H */
