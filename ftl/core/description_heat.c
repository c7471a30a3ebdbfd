/*
 * Checks the group heat of a description: the drive's temperature.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description_check.h"

/* Refuses keys of the group on a drive that has no temperature. */
static bool check_without(const ScarpDescription *d, GError **error)
{
    const ScarpUnusedKey key[] = {
        { "heat.ambient_celsius", d->heat_ambient_celsius, 25 },
        { "heat.loss_ms", d->heat_loss_ms, 0 },
        { "heat.read_nj", d->heat_read_nj, 0 },
        { "heat.program_nj", d->heat_program_nj, 0 },
        { "heat.erase_nj", d->heat_erase_nj, 0 },
        { "heat.light_celsius", d->heat_light_celsius, 0 },
        { "heat.light_permille", d->heat_light_permille, 0 },
        { "heat.heavy_celsius", d->heat_heavy_celsius, 0 },
        { "heat.heavy_permille", d->heat_heavy_permille, 0 },
    };

    return scarp_check_unused(key, G_N_ELEMENTS(key),
                              "needs heat.capacity_mj above 0", error);
}

bool scarp_description_check_heat(const ScarpDescription *d, GError **error)
{
    if (!d->heat_capacity_mj) {
        return check_without(d, error);
    }
    if (!d->heat_loss_ms) {
        return scarp_refuse_key(error, "heat.loss_ms", 0,
                                "with heat.capacity_mj it must be above 0");
    }
    if (d->heat_light_celsius &&
        d->heat_light_celsius <= d->heat_ambient_celsius + SCARP_HEAT_COOLER_CELSIUS) {
        return scarp_refuse_key(error, "heat.light_celsius",
                                d->heat_light_celsius,
                                "must be 0, or above heat.ambient_celsius + "
                                "5, as throttling ends when the drive is 5 "
                                "degrees cooler");
    }
    if (!d->heat_light_celsius && d->heat_light_permille) {
        return scarp_refuse_key(error, "heat.light_permille",
                                d->heat_light_permille,
                                "needs heat.light_celsius above 0");
    }
    if (!d->heat_heavy_celsius) {
        return !d->heat_heavy_permille ||
               scarp_refuse_key(error, "heat.heavy_permille",
                                d->heat_heavy_permille,
                                "needs heat.heavy_celsius above 0");
    }
    if (!d->heat_light_celsius) {
        return scarp_refuse_key(error, "heat.heavy_celsius",
                                d->heat_heavy_celsius,
                                "needs heat.light_celsius above 0");
    }
    if (d->heat_light_celsius >= d->heat_heavy_celsius) {
        return scarp_refuse_key(error, "heat.light_celsius",
                                d->heat_light_celsius,
                                "must be below heat.heavy_celsius");
    }
    if (d->heat_heavy_permille < d->heat_light_permille) {
        return scarp_refuse_key(error, "heat.heavy_permille",
                                d->heat_heavy_permille,
                                "must be at least heat.light_permille, as a "
                                "warmer drive is not faster");
    }
    return true;
}
