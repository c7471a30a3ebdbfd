/*
 * The drive's record: what every room may know of a drive, and the state of
 * each room by value. Users of the library do not see it.
 *
 * desc, geo and scheme say how the drive is made; each room counts its own
 * stats. A room's state is private: other rooms call the functions of its
 * ops.h. docs/architecture.md has the picture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_H
#define SCARP_DRIVE_H

#include "scarp.h"

#include "core/state.h"
#include "policy.h"
#include "stat/state.h"
#include "media/state.h"
#include "causes/state.h"
#include "turns/state.h"
#include "nand/state.h"
#include "blocks/state.h"
#include "pack/state.h"
#include "allocation/state.h"
#include "map/state.h"
#include "gc/state.h"
#include "parity/state.h"
#include "buffer/state.h"
#include "hil/state.h"
#include "recovery/state.h"

struct ScarpDrive {
    const ScarpDescription desc;
    const ScarpGeometry geo;
    const bool store_data; /* contents are kept; else replay */
    ScarpScheme scheme;
    ScarpObserver observer;
    void (*came_up)(void *opaque, const ScarpDrive *drive); /* observer */
    void *came_up_opaque;
    ScarpStats stats;
    ScarpCore core;
    ScarpStat stat;
    ScarpMedia media;
    ScarpTurns turns;
    ScarpNand nand;
    ScarpBlocks blocks;
    ScarpPack pack;
    ScarpAllocation allocation;
    ScarpMap map;
    ScarpGc gc;
    ScarpParity parity;
    ScarpBuffer buffer;
    ScarpHil hil;
    ScarpRecovery recovery;
};

#endif /* SCARP_DRIVE_H */
