/*
 * FIFO: the victim is the block that was filled longest ago (Desnoyers 2012,
 * LRU cleaning).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

static uint32_t choose(ScarpDrive *drive, uint32_t p)
{
    return scarp_victim_or_least(drive, p, scarp_plane_oldest_full(drive, p));
}

const ScarpVictimOps scarp_victim_fifo = {
    .policy = {
        .axis = AXIS_VICTIM,
        .name = "fifo",
        .help = "the block that was filled longest ago",
        .source = "Desnoyers 2012",
    },
    .choose = choose,
};
