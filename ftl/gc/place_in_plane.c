/*
 * Relocated units stay in their plane (local GC, hpdc18 §2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

const ScarpPlaceOps scarp_place_in_plane = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "in-plane",
        .needs = NEEDS_NO_UNITS,
        .help = "relocated pages stay in their plane",
        .source = "hpdc18 section 2",
    },
    .window = 1,
};

const ScarpPlaceOps scarp_place_copyback = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "copyback",
        .needs = NEEDS_TIME | NEEDS_NO_UNITS,
        .help = "relocated pages stay in their plane, moved by copyback",
        .source = "ONFI 4.2, copyback; TTFlash (FAST 2017), plane-blocking GC",
    },
    .window = 1,
    .copyback = true,
};
