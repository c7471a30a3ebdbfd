/*
 * The functions of flow that other directories of ftl/ may call, besides those
 * of scarp.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLOW_OPS_H
#define SCARP_FLOW_OPS_H

#include "buffer/ops.h"
#include "hil/ops.h"
#include "recovery/ops.h"

/*
 * Dispatches commands from the host queue while slots are free and the
 * host-queue policy picks one.
 */
void scarp_flow_dispatch(ScarpDrive *drive);

/* Lets dies that were kicked look for work, in the order of the kicks. */
void scarp_flow_work(ScarpDrive *drive);

/*
 * Enlarges the drive's write buffer to `bytes`, and takes in writes that waited
 * for room. The drive must have a write buffer.
 */
void scarp_flow_enlarge_buffer(ScarpDrive *drive, uint64_t bytes);

/*
 * Called when power fails: brings the cells into the state that recovery will
 * find. The rest of the drive is of no use afterwards.
 */
void scarp_flow_cut(ScarpDrive *drive);
/*
 * Puts into the cells the pages of programs that wait until the other pages of
 * their cells are programmed (ftl.paired_pages=pad). The array times of these
 * programs are over, so their pages are complete. The rest of the drive is of
 * no use afterwards.
 */
void scarp_flow_burn_unpaired(ScarpDrive *drive);

/*
 * True when the drive is quiescent, its buffer is empty and no event is due.
 * False: *error says why not.
 */
bool scarp_at_rest(const ScarpDrive *drive, GError **error);

#endif /* SCARP_FLOW_OPS_H */
