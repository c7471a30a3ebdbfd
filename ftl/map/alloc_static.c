/*
 * Static allocation: consecutive logical pages go round the resources in the
 * order of ftl.allocation (CWDP: channel first, plane last; hpdc18 §2).  Units
 * of one page-sized group share its plane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static uint32_t static_plane(ScarpDrive *drive, uint32_t lpn,
                             uint16_t stream G_GNUC_UNUSED)
{
    const ScarpDescription *d = &drive->d;
    uint32_t channel = 0, way = 0, die = 0, plane = 0;

    lpn /= drive->units_per_page;
    for (int i = 0; i < 4; i++) {
        switch (d->allocation[i]) {
        case 'c':
            channel = lpn % (uint32_t)d->channels;
            lpn /= (uint32_t)d->channels;
            break;
        case 'w':
            way = lpn % (uint32_t)d->chips_per_channel;
            lpn /= (uint32_t)d->chips_per_channel;
            break;
        case 'd':
            die = lpn % (uint32_t)d->dies_per_chip;
            lpn /= (uint32_t)d->dies_per_chip;
            break;
        default:
            plane = lpn % (uint32_t)d->planes_per_die;
            lpn /= (uint32_t)d->planes_per_die;
            break;
        }
    }
    return ((channel * (uint32_t)d->chips_per_channel + way) *
                (uint32_t)d->dies_per_chip + die) *
               (uint32_t)d->planes_per_die + plane;
}

const ScarpAllocOps scarp_alloc_static = {
    .policy = {
        .axis = AXIS_ALLOCATION,
        .name = "static",
        .help = "by logical address, in the order of ftl.allocation",
        .source = "hpdc18 §2",
    },
    .early = true,
    .plane = static_plane,
};
