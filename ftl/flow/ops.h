/*
 * The questions that rooms above may ask of flow, besides scarp.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLOW_OPS_H
#define SCARP_FLOW_OPS_H

#include "buffer/ops.h"
#include "hil/ops.h"
#include "recovery/ops.h"

/* Commands enter the device, as slots are free and the policy says. */
void scarp_flow_dispatch(ScarpDrive *drive);

/* Dies that something happened to look for work, in the order it happened. */
void scarp_flow_work(ScarpDrive *drive);

/*
 * Power fails: the cells become what is found afterwards.  Nothing else of the
 * drive is of use any longer.
 */
void scarp_flow_cut(ScarpDrive *drive);

/* Quiescent, and nothing is buffered or still to happen. */
bool scarp_at_rest(const ScarpDrive *drive, GError **error);

#endif /* SCARP_FLOW_OPS_H */
