/*
 * What other rooms may ask of redundancy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REDUNDANCY_OPS_H
#define SCARP_REDUNDANCY_OPS_H

#include "gc/ops.h"

bool scarp_parity_init(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error);
void scarp_parity_clear(ScarpDrive *drive);

/* What follows is of drives with parity only. */
static inline bool scarp_has_parity(const ScarpDrive *drive)
{
    return drive->parity.width;
}

/* ---- Layout: redundancy/layout.c ---------------------------------------- */

/* The plane of an LPN, a parity's too. */
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn);
/* The parity's LPN of a unit's stripe. */
uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn);
/*
 * Of an image, where power may fail: parity may have put there what ppn's spare
 * area says, which is an LPN.
 */
static inline bool scarp_parity_may_hold(const ScarpDrive *drive, uint32_t ppn)
{
    return !scarp_has_parity(drive) ||
           scarp_ppn_plane(drive, ppn) ==
               scarp_parity_plane(drive, scarp_media_lpn(drive, ppn));
}

/* Whether another die of a stripe that the die has pages of collects. */
bool scarp_parity_sibling_collects(const ScarpDrive *drive, uint32_t die);
/* The dies of the plane's stripes look for work, the next in turn first. */
void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane);

/* ---- Parities: redundancy/parity.c -------------------------------------- */

/* A unit's newest contents are data, whole; NULL: it was deallocated. */
void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data);
/*
 * A part of a unit was written, and the rest is to be read: its stripe has RAM
 * from then on.  The other: that is over, after scarp_parity_changed() or as
 * the unit became stale.
 */
void scarp_parity_part_begins(ScarpDrive *drive, uint32_t lpn);
void scarp_parity_part_ends(ScarpDrive *drive, uint32_t lpn);
/* No RAM for the stripe of a unit that the host wants to write. */
bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn);
/*
 * A flash command that redundancy owns has ended; it is freed.  True: a parity
 * goes on, so that there may be RAM for another stripe.
 */
bool scarp_parity_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_parity_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/* Every parity that is in RAM gets on its way. */
void scarp_parity_drain(ScarpDrive *drive);
/* No parity is in RAM. */
bool scarp_parity_at_rest(const ScarpDrive *drive);

/* ---- A power cut -------------------------------------------------------- */

/* Stripes whose parity on flash is not the present one are saved in media. */
void scarp_parity_save(ScarpDrive *drive);
/* They are open again: their parities are made anew. */
void scarp_parity_restore(ScarpDrive *drive);

/* ---- Reads: redundancy/reconstruct.c ------------------------------------ */

/*
 * A read of the host, of one unit: it waits for its die, or is served
 * otherwise, as the scheme says.
 */
static inline void scarp_redundancy_read(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    if (!drive->scheme.redundancy->serve ||
        !drive->scheme.redundancy->serve(drive, cmd)) {
        scarp_nand_enqueue(drive, cmd);
    }
}

/*
 * A read that was served by the rest of its stripe, or NULL: its data, owned,
 * is scarp_flash_data().
 */
ScarpFlashCmd *scarp_redundancy_next_served(ScarpDrive *drive);
/* A read that was to be, but must wait for its die after all, or NULL. */
ScarpFlashCmd *scarp_redundancy_next_spoiled(ScarpDrive *drive);

/* The host's read that a read of a stripe's page is for, or NULL. */
const ScarpFlashCmd *scarp_redundancy_parent(const ScarpFlashCmd *cmd);

/* ---- Laws: redundancy/laws.c -------------------------------------------- */

/* The laws of stripes; with contents, of what their pages hold. */
bool scarp_parity_check(const ScarpDrive *drive, bool contents,
                        GError **error);

#endif /* SCARP_REDUNDANCY_OPS_H */
