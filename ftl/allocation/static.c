/*
 * Static allocation: consecutive logical pages go round channels, chips, dies
 * and planes in the order of ftl.allocation (CWDP: the channel changes first,
 * the plane last; hpdc18 §2). Units of one logical page go to one plane.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "allocation/ops.h"

typedef struct {
    uint32_t *plane_of; /* [n_planes]: the planes of one round, in order */
} Static;

static bool init(ScarpDrive *drive, ScarpScheme *scheme,
                 GError **error G_GNUC_UNUSED)
{
    Static *state = scheme->state[AXIS_ALLOCATION];

    state->plane_of = g_new(uint32_t, drive->geo.n_planes);
    for (uint32_t i = 0; i < drive->geo.n_planes; i++) {
        state->plane_of[i] = scarp_plane_in_order(&drive->desc, i);
    }
    return true;
}

static void clear(ScarpDrive *drive G_GNUC_UNUSED, void *state)
{
    g_free(((Static *)state)->plane_of);
}

static uint32_t static_plane(ScarpDrive *drive, uint32_t lpn,
                             uint16_t stream G_GNUC_UNUSED)
{
    const Static *state = drive->scheme.state[AXIS_ALLOCATION];
    uint32_t group = lpn >> drive->geo.page_shift;
    uint32_t round = scarp_divide(group, drive->geo.by_planes);

    return state->plane_of[group - round * drive->geo.n_planes];
}

const ScarpAllocOps scarp_alloc_static = {
    .policy = {
        .axis = AXIS_ALLOCATION,
        .name = "static",
        .needs = NEEDS_ORDER | NEEDS_NO_PARITY | NEEDS_NO_UNITS,
        .help = "by logical address, in the order of ftl.allocation",
        .source = "hpdc18 section 2",
        .state_size = sizeof(Static),
        .init = init,
        .clear = clear,
    },
    .early = true,
    .plane = static_plane,
};
