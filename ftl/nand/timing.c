/*
 * Array times of each page of a block: page type, then layer.
 *
 * Page i has type i % cell_bits (LSB first) and lies in layer
 * i × layers / pages_per_block; a layer's factor goes linearly from
 * layer_fastest_permille to layer_slowest_permille (pregc §2, figure 2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static int64_t of_page(const ScarpDescription *d, const uint64_t *values,
                       uint64_t page)
{
    uint64_t type = page % d->cell_bits;
    uint64_t ns = values[values[SCARP_LIST_COUNT] > 1 ? type : 0];
    uint64_t layer = page * d->layers / d->pages_per_block;
    int64_t span = (int64_t)d->layer_slowest_permille -
                   (int64_t)d->layer_fastest_permille;
    int64_t factor = d->layer_fastest_permille;

    if (d->layers > 1) {
        factor += span * (int64_t)layer / (int64_t)(d->layers - 1);
    }
    return (int64_t)ns * factor / 1000;
}

void scarp_timing_init(ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->d;

    drive->page_transfer_ns = (d->page_bytes * 1000 + d->channel_mts - 1) /
                              d->channel_mts;
    drive->unit_link_ns = (drive->unit_bytes * 1000ull + d->link_mbs - 1) /
                          d->link_mbs;
    drive->read_ns_of = g_new(int64_t, d->pages_per_block);
    drive->program_ns_of = g_new(int64_t, d->pages_per_block);
    drive->pages_alike = true;
    for (uint64_t i = 0; i < d->pages_per_block; i++) {
        drive->read_ns_of[i] = of_page(d, d->read_ns, i);
        drive->program_ns_of[i] = of_page(d, d->program_ns, i);
        drive->pages_alike &= drive->read_ns_of[i] == drive->read_ns_of[0] &&
                              drive->program_ns_of[i] ==
                                  drive->program_ns_of[0];
    }
}
