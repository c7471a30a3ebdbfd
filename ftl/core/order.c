/*
 * The order of ftl.allocation: which plane comes after which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description.h"

static uint32_t in_order(const ScarpDescription *d, const char *order,
                         uint32_t group)
{
    uint32_t channel = 0, way = 0, die = 0, plane = 0;

    for (int i = 0; i < 4; i++) {
        switch (order[i]) {
        case 'c':
            channel = group % (uint32_t)d->channels;
            group /= (uint32_t)d->channels;
            break;
        case 'w':
            way = group % (uint32_t)d->chips_per_channel;
            group /= (uint32_t)d->chips_per_channel;
            break;
        case 'd':
            die = group % (uint32_t)d->dies_per_chip;
            group /= (uint32_t)d->dies_per_chip;
            break;
        default:
            plane = group % (uint32_t)d->planes_per_die;
            group /= (uint32_t)d->planes_per_die;
            break;
        }
    }
    return ((channel * (uint32_t)d->chips_per_channel + way) *
                (uint32_t)d->dies_per_chip + die) *
               (uint32_t)d->planes_per_die + plane;
}

const char *scarp_order_letters(const ScarpDescription *d)
{
    return strcmp(d->allocation, "dynamic") ? d->allocation : "cwdp";
}

uint32_t scarp_plane_in_order(const ScarpDescription *d, uint32_t i)
{
    return in_order(d, scarp_order_letters(d), i);
}
