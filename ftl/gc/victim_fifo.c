/*
 * The block that was filled longest ago (Desnoyers 2012, LRU cleaning).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static uint32_t choose(ScarpDrive *drive, uint32_t p)
{
    return scarp_victim_or_least(drive, p, drive->plane[p].full_head);
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
