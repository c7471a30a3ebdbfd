/*
 * Static allocation: consecutive logical pages go round the resources in the
 * order of ftl.allocation (CWDP: channel first, plane last; hpdc18 §2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

uint32_t scarp_alloc_plane(const ScarpDrive *drive, uint32_t lpn)
{
    const ScarpDescription *d = &drive->d;
    uint32_t channel = 0, way = 0, die = 0, plane = 0;

    for (int i = 0; i < 4; i++) {
        switch (d->allocation[i]) {
        case 'c':
            channel = lpn % d->channels;
            lpn /= d->channels;
            break;
        case 'w':
            way = lpn % d->chips_per_channel;
            lpn /= d->chips_per_channel;
            break;
        case 'd':
            die = lpn % d->dies_per_chip;
            lpn /= d->dies_per_chip;
            break;
        default:
            plane = lpn % d->planes_per_die;
            lpn /= d->planes_per_die;
            break;
        }
    }
    return ((channel * d->chips_per_channel + way) * d->dies_per_chip + die) *
               d->planes_per_die + plane;
}
