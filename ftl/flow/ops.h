/*
 * Functions of flow for other rooms, besides scarp.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLOW_OPS_H
#define SCARP_FLOW_OPS_H

#include "buffer/ops.h"
#include "hil/ops.h"
#include "recovery/ops.h"

/*
 * Dispatches commands from the host queue, as slots are free and the policy
 * says.
 */
void scarp_flow_dispatch(ScarpDrive *drive);

/* Lets dies that were kicked look for work, in the order of the kicks. */
void scarp_flow_work(ScarpDrive *drive);

/*
 * Power fails: the cells get what recovery will find. Only the cells are of use
 * afterwards.
 */
void scarp_flow_cut(ScarpDrive *drive);

/*
 * True when the drive is quiescent, its buffer is empty and no event is due;
 * else sets error.
 */
bool scarp_at_rest(const ScarpDrive *drive, GError **error);

#endif /* SCARP_FLOW_OPS_H */
