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
 * Returns the order of ftl.allocation, such as "cwdp". For "dynamic" it returns
 * "cwdp", too (static.c).
 */
const char *scarp_alloc_letters(const ScarpDescription *desc);
/* Returns the i-th plane in the order of ftl.allocation. */
uint32_t scarp_alloc_order(const ScarpDescription *desc, uint32_t i);

/*
 * Returns the plane whose turn it is in the group, on a drive with reclaim units
 * of several planes (reclaim.c). turn: from scarp_ru_next_turn().
 */
uint32_t scarp_alloc_stripe_plane(const ScarpDrive *drive, uint32_t group,
                                  uint32_t turn);

/*
 * Return and set the plane at which dynamic allocation begins its next search
 * (dynamic.c). An image saves this plane.
 */
uint32_t scarp_alloc_turn(const ScarpDrive *drive);
void scarp_alloc_load_turn(ScarpDrive *drive, uint32_t next_plane);

#endif /* SCARP_ALLOCATION_OPS_H */
