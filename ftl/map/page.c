/*
 * Page mapping: each unit has an entry of its own in RAM, which is the forward
 * map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

const ScarpMappingOps scarp_mapping_page = {
    .name = "page",
    .help = "an entry per unit, all of them in RAM",
    .source = "hpdc18 section 2",
};
