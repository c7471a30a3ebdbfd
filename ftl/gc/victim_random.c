/*
 * Two policies. `random`: the victim is a random full block. `d-choices`: of d
 * random full blocks, the victim is the block with the fewest valid units (Van
 * Houdt 2013).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

static uint32_t choose_random(ScarpDrive *drive, uint32_t p)
{
    return scarp_victim_or_least(drive, p, scarp_victim_random_full(drive, p));
}

static uint32_t choose_d(ScarpDrive *drive, uint32_t p)
{
    uint64_t d = drive->scheme.param[AXIS_VICTIM][0];
    uint32_t best = scarp_victim_random_full(drive, p);

    for (uint64_t i = 1; i < d && best != SCARP_NONE; i++) {
        uint32_t other = scarp_victim_random_full(drive, p);

        if (scarp_victim_valid(drive, other) <
            scarp_victim_valid(drive, best)) {
            best = other;
        }
    }
    return scarp_victim_or_least(drive, p, best);
}

static const ScarpParam d_choices_params[] = {
    { "d", "blocks", "drawn at random, with repetition", 1, 1024, 10 },
};

const ScarpVictimOps scarp_victim_random = {
    .policy = {
        .axis = AXIS_VICTIM,
        .name = "random",
        .help = "a full block at random",
        .source = "Van Houdt 2013",
    },
    .choose = choose_random,
};

const ScarpVictimOps scarp_victim_d_choices = {
    .policy = {
        .axis = AXIS_VICTIM,
        .name = "d-choices",
        .help = "of d full blocks at random, the one with fewest valid units",
        .source = "Van Houdt 2013",
        .params = d_choices_params,
        .n_params = G_N_ELEMENTS(d_choices_params),
    },
    .choose = choose_d,
};
