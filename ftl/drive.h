/*
 * The record of a drive: the facts that all of ftl/ may know of it, and, by
 * value, the state that each directory of ftl/ owns. Users of the library do
 * not see this record.
 *
 * desc, geo and scheme say how the drive is made. In `stats` each directory
 * counts its own events. The state of a directory (a "room" in
 * docs/architecture.md, which has a picture of all rooms) is private: other
 * directories call the functions of its ops.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_DRIVE_H
#define SCARP_DRIVE_H

#include "scarp.h"

#include "core/state.h"
#include "heat/state.h"
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
    const bool store_data; /* units have contents; false in a replay */
    ScarpScheme scheme;
    ScarpObserver observer;
    /* the observer's callback at a power cut */
    void (*came_up)(void *opaque, const ScarpDrive *drive);
    void *came_up_opaque;
    ScarpStats stats;
    ScarpSlcStats slc_stats; /* only with an SLC cache */
    ScarpUnitStats unit_stats; /* only with ftl.reclaim_planes above 1 */
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
    ScarpHeatState heat;
};

#endif /* SCARP_DRIVE_H */
