/*
 * Two policies for work ahead of time: `no-ahead` does none, and `background`
 * collects victims while a die is idle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

static void nothing(ScarpDrive *drive G_GNUC_UNUSED, uint32_t die G_GNUC_UNUSED)
{
}

/*
 * Counts by which idle collections stop when they gain nothing. Without this
 * stop they could go on for ever without gaining a free block, if their copies
 * go to other planes and fill pages there only in part.
 */
typedef struct {
    uint32_t most_free; /* the most free blocks since the last host command */
    /* how often a die looked for work since most_free grew last */
    uint32_t fruitless;
} Background;

static void host_cmd(ScarpDrive *drive, const ScarpCmd *cmd G_GNUC_UNUSED)
{
    Background *background = drive->scheme.state[AXIS_AHEAD];

    scarp_mark_if(drive, command_met_background,
                  background->most_free && !scarp_gc_at_rest(drive));
    background->most_free = background->fruitless = 0;
}

static void collect(ScarpDrive *drive, uint32_t die)
{
    Background *background = drive->scheme.state[AXIS_AHEAD];
    uint32_t n = drive->desc.planes_per_die;

    if (drive->scheme.pacing->may_collect &&
        !drive->scheme.pacing->may_collect(drive, die)) {
        return;
    }
    if (scarp_free_blocks(drive) > background->most_free) {
        background->most_free = scarp_free_blocks(drive);
        background->fruitless = 0;
    } else if (background->fruitless++ > drive->geo.n_planes) {
        scarp_mark(drive, background_gave_up);
        return;
    }
    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        if (scarp_plane_free_blocks(drive, p) <
                drive->desc.background_free_blocks &&
            scarp_gc_start(drive, p, SCARP_ORIGIN_GC)) {
            scarp_mark(drive, background_began);
            /*
             * The die is made to look for work again, because its pacing policy
             * may have to permit the first step of the collection.
             */
            scarp_nand_kick(drive, die);
            return;
        }
    }
}

static void persist(ScarpDrive *drive, void *state, ScarpVisit *visit)
{
    Background *background = state;

    scarp_visit_u32(visit, "most_free", &background->most_free, 0,
                    drive->geo.n_blocks);
    scarp_visit_u32(visit, "fruitless", &background->fruitless, 0,
                    UINT32_MAX - 1);
}

const ScarpAheadOps scarp_ahead_none = {
    .policy = {
        .axis = AXIS_AHEAD,
        .name = "no-ahead",
        .help = "nothing happens before a collection is due",
        .source = "hpdc18 section 2",
    },
    .idle = nothing,
};

const ScarpAheadOps scarp_ahead_background = {
    .policy = {
        .axis = AXIS_AHEAD,
        .name = "background",
        .needs = NEEDS_TIME,
        .help = "an idle die collects up to gc.background_free_blocks",
        .source = "common practice",
        .state_size = sizeof(Background),
        .persist = persist,
    },
    .idle = collect,
    .host_cmd = host_cmd,
};
