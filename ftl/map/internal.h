/*
 * What the sources of map share: a mapping is a table of functions, one file
 * each, named in map/mapping.c's list.
 *
 * Every mapping keeps the table of all units, ppn_of, as the simulator's truth:
 * where the newest copy of a unit lies.  What a controller with that mapping
 * would hold in its RAM is the mapping's own state.  Its laws say that by this
 * state alone each unit is found where ppn_of says that it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_INTERNAL_H
#define SCARP_MAP_INTERNAL_H

#include "map/ops.h"

struct ScarpMappingOps {
    const char *name; /* as in ftl.mapping */
    const char *help;
    const char *source; /* paper, section */
    /*
     * A unit may lie in any page of its plane, so that victims and places are
     * the scheme's to choose.  False: the mapping says which block a page goes
     * to, and what is reclaimed.
     */
    bool any_page;
    /* The rest may be NULL.  state: drive->map.state, the mapping's own. */
    bool (*init)(ScarpDrive *drive, GError **error);
    void (*clear)(ScarpDrive *drive);
    /* RAM of a controller that has this mapping; NULL: an entry per unit. */
    uint64_t (*ram_bytes)(const ScarpDrive *drive);
    /* Its laws; those of all mappings hold already. */
    bool (*check)(const ScarpDrive *drive, GError **error);
};

extern const ScarpMappingOps scarp_mapping_page, scarp_mapping_demand;

#endif /* SCARP_MAP_INTERNAL_H */
