/*
 * The functions of allocation that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_ALLOCATION_OPS_H
#define SCARP_ALLOCATION_OPS_H

#include "blocks/ops.h"
#include "pack/ops.h"

/*
 * Return and set the plane at which dynamic allocation begins its next search
 * (dynamic.c). An image saves this plane.
 */
uint32_t scarp_alloc_turn(const ScarpDrive *drive);
void scarp_alloc_load_turn(ScarpDrive *drive, uint32_t next_plane);

#endif /* SCARP_ALLOCATION_OPS_H */
