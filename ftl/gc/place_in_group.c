/*
 * Relocated units on a drive with reclaim units of several planes: they go to
 * the unit that collections have open in the victim's group, page by page round
 * its planes (gc/ru_staging.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

const ScarpPlaceOps scarp_place_in_group = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "in-group",
        .help = "relocated pages go round the planes of their reclaim unit",
        .source = "NVMe Base 2.1, Flexible Data Placement",
    },
    .window = 1,
};
