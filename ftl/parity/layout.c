/*
 * The planes on which the pages of a stripe lie.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/internal.h"

static bool distinct_dies(const ScarpDrive *drive, const uint32_t *planes,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (scarp_plane_die(drive, planes[i]) ==
                scarp_plane_die(drive, planes[j])) {
                return false;
            }
        }
    }
    return true;
}

bool scarp_parity_layout_init(ScarpDrive *drive, GError **error)
{
    ScarpParity *parity = &drive->parity;
    uint32_t width = drive->desc.parity_width, n = drive->geo.n_planes;
    bool ok;

    parity->width = width;
    parity->groups = n / width;
    parity->plane_of = g_new(uint32_t, n);
    parity->group_of = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        parity->plane_of[i] = scarp_plane_in_order(&drive->desc, i);
        parity->group_of[parity->plane_of[i]] = i / width;
    }
    ok = n % width == 0;
    for (uint32_t g = 0; ok && g < parity->groups; g++) {
        ok = distinct_dies(drive, &parity->plane_of[g * width], width);
    }
    if (!ok) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.parity_width=%u: must divide the %u planes into "
                    "groups whose planes, next to each other in "
                    "ftl.allocation=%s, are of different dies", width, n,
                    drive->desc.allocation);
    }
    return ok;
}

void scarp_parity_layout_clear(ScarpDrive *drive)
{
    g_free(drive->parity.plane_of);
    g_free(drive->parity.group_of);
}

/*
 * Returns the plane of lpn. From one stripe of a group to the next, the parity
 * moves on to the group's next plane.
 */
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn)
{
    const ScarpParity *parity = &drive->parity;
    uint32_t place, stripe = scarp_stripe_of(drive, lpn, &place);
    uint32_t group = stripe % parity->groups;
    uint32_t turn = stripe / parity->groups % parity->width;

    if (place == parity->width - 1) {
        place = turn;
    } else {
        place += place >= turn;
    }
    return parity->plane_of[group * parity->width + place];
}

uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t place;

    return drive->geo.logical_units + scarp_stripe_of(drive, lpn, &place);
}

/* Returns the planes that share stripes with `plane`, including `plane`. */
static const uint32_t *group_of(const ScarpParity *parity, uint32_t plane)
{
    return &parity->plane_of[parity->group_of[plane] * parity->width];
}

bool scarp_parity_sibling_collects(const ScarpDrive *drive, uint32_t die)
{
    const ScarpParity *parity = &drive->parity;
    uint32_t first = scarp_die_plane(drive, die);

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        const uint32_t *group = group_of(parity, p);

        for (uint32_t i = 0; i < parity->width; i++) {
            uint32_t other = scarp_plane_die(drive, group[i]);

            if (other != die && scarp_nand_collecting(drive, other)) {
                return true;
            }
        }
    }
    return false;
}

void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane)
{
    const ScarpParity *parity = &drive->parity;
    const uint32_t *group = group_of(parity, plane);
    uint32_t at = 0;

    while (group[at] != plane) {
        at++;
    }
    for (uint32_t i = 1; i < parity->width; i++) {
        scarp_nand_kick(drive,
                        scarp_plane_die(drive,
                                        group[(at + i) % parity->width]));
    }
}
