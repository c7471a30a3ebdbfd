/*
 * Write allocation of a drive with reclaim units of several planes: the pages
 * of a stream go round the planes of a group, in the order of ftl.allocation.
 * Where the drive has several groups, these take turns, too, page by page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "allocation/ops.h"

typedef struct {
    uint32_t next_group;
} Reclaim;

static void persist(ScarpDrive *drive, void *state, ScarpVisit *visit)
{
    scarp_visit_u32(visit, "next_group", &((Reclaim *)state)->next_group, 0,
                    drive->geo.reclaim_groups - 1);
}

/* Returns the group's valid units, and the host's units on their way there. */
static uint32_t units_of(const ScarpDrive *drive, uint32_t group)
{
    uint32_t n = (uint32_t)drive->desc.reclaim_planes;
    uint32_t units = scarp_ru_group_valid(drive, group);

    for (uint32_t p = group * n; p < group * n + n; p++) {
        units += scarp_pack_host_coming(drive, p);
    }
    return units;
}

/*
 * Returns the next group that has at most a group's share of all data and of
 * all that the buffer can hold. There is such a group, because the page that is
 * to be placed is in the buffer, too, and in no group yet. core/spare.c leaves
 * each group room for its share and one page more.
 */
static uint32_t choose_group(const ScarpDrive *drive, uint32_t next)
{
    uint32_t n = drive->geo.reclaim_groups, best = next;
    uint64_t most = drive->geo.mapped_units +
                    drive->desc.buffer_bytes / drive->geo.unit_bytes;
    uint32_t least = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = (next + i) % n, units = units_of(drive, group);

        if ((uint64_t)units * n <= most) {
            scarp_mark_if(drive, group_passed_over, i);
            return group;
        }
        if (units < least) {
            least = units;
            best = group;
        }
    }
    return best;
}

static uint32_t plane(ScarpDrive *drive, uint32_t lpn G_GNUC_UNUSED,
                      uint16_t stream)
{
    Reclaim *state = drive->scheme.state[AXIS_ALLOCATION];
    uint32_t group = 0;

    if (drive->geo.reclaim_groups > 1) {
        group = choose_group(drive, state->next_group);
        state->next_group = (group + 1) % drive->geo.reclaim_groups;
    }
    return scarp_ru_next_plane(drive, group, SCARP_ORIGIN_HOST, stream);
}

const ScarpAllocOps scarp_alloc_reclaim = {
    .policy = {
        .axis = AXIS_ALLOCATION,
        .name = "reclaim",
        .help = "round the planes of a reclaim unit, in the order of "
                "ftl.allocation",
        .source = "NVMe Base 2.1, Flexible Data Placement",
        .state_size = sizeof(Reclaim),
        .persist = persist,
    },
    .plane = plane,
};
