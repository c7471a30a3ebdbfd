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

/* All functions below are for drives with parity only. */
static inline bool scarp_has_parity(const ScarpDrive *drive)
{
    return drive->parity.width;
}

/* ---- Layout: parity/layout.c -------------------------------------------- */

/* Returns the plane of an LPN, a parity's included. */
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn);
/* Returns the LPN of the parity of a unit's stripe. */
uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn);
/*
 * Checks an image, where power may fail: the striped layout could have put the
 * unit of ppn's spare area, which must be an LPN, into ppn's plane.
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
 * Lets the other dies of the plane's stripes look for work, the next in turn
 * first.
 */
void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane);

/* ---- Parities: parity/parity.c ------------------------------------------ */

/* The unit's newest contents are data, whole; NULL: it was deallocated. */
void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data);
/*
 * Brackets a write of a part of a unit, whose rest is to be read: its stripe
 * has a place in RAM meanwhile. The end follows scarp_parity_changed(), or the
 * unit's becoming stale.
 */
void scarp_parity_part_begins(ScarpDrive *drive, uint32_t lpn);
void scarp_parity_part_ends(ScarpDrive *drive, uint32_t lpn);
/*
 * True when there is no RAM for the stripe of a unit that the host wants to
 * write.
 */
bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn);
/*
 * Ends and frees a flash command that parity owns. True: a parity advanced,
 * so there may be RAM for another stripe.
 */
bool scarp_parity_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_parity_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* Starts to write every parity that is in RAM. */
void scarp_parity_drain(ScarpDrive *drive);
/* True when no parity is in RAM. */
bool scarp_parity_at_rest(const ScarpDrive *drive);

/* ---- A power cut -------------------------------------------------------- */

/* Saves in media the stripes whose parity on flash is out of date. */
void scarp_parity_save(ScarpDrive *drive);
/* Opens the saved stripes again, so that their parities are made anew. */
void scarp_parity_restore(ScarpDrive *drive);

/* ---- Reads: parity/reconstruct.c ---------------------------------------- */

/*
 * Lets a read of the host, of one unit, wait for its die, or serves it
 * otherwise, as the scheme chooses.
 */
static inline void scarp_parity_read(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    if (!drive->scheme.redundancy->serve ||
        !drive->scheme.redundancy->serve(drive, cmd)) {
        scarp_nand_enqueue(drive, cmd);
    }
}

/*
 * Returns a read that was served by the rest of its stripe, or NULL: its data,
 * owned by the caller, is scarp_flash_data().
 */
ScarpFlashCmd *scarp_parity_next_served(ScarpDrive *drive);
/*
 * Returns a read whose rebuild was spoiled, so that it must wait for its die,
 * or NULL.
 */
ScarpFlashCmd *scarp_parity_next_spoiled(ScarpDrive *drive);

/* Returns the host's read that a read of a stripe's page serves, or NULL. */
const ScarpFlashCmd *scarp_parity_parent(const ScarpFlashCmd *cmd);

/* ---- Laws: parity/laws.c ------------------------------------------------ */

/* Checks the laws of stripes; contents: of their pages' contents, too. */
bool scarp_parity_check(const ScarpDrive *drive, bool contents,
                        GError **error);

#endif /* SCARP_PARITY_OPS_H */
