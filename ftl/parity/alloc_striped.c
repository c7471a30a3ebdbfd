/*
 * Allocation on a drive with parity. A page goes to the die that the layout of
 * its stripe gives it (parity/layout.c), as with static allocation; the parity
 * of consecutive stripes is on each of these dies in turn.
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
