/*
 * Page mapping: RAM has the PPN of each unit. The simulator's forward map is
 * exactly this table, so the mapping needs no state of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/internal.h"

const ScarpMappingOps scarp_mapping_page = {
    .name = "page",
    .help = "an entry per unit, all of them in RAM",
    .source = "hpdc18 section 2",
};
