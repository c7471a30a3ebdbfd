/*
 * Write allocation on a drive with parity. The LPN alone decides on which die a
 * page is written (parity/layout.c), so that the pages of a stripe are on
 * different dies. From stripe to stripe the parity moves from one of these dies
 * to the next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/ops.h"

static uint32_t plane(ScarpDrive *drive, uint32_t lpn,
                      uint16_t stream G_GNUC_UNUSED)
{
    return scarp_parity_plane(drive, lpn);
}

const ScarpAllocOps scarp_alloc_striped = {
    .policy = {
        .axis = AXIS_ALLOCATION,
        .name = "striped",
        .needs = NEEDS_PARITY,
        .help = "by logical address, a stripe's pages and parity on other dies",
        .source = "TTFlash (FAST 2017), RAIN",
    },
    .early = true,
    .plane = plane,
};
