/*
 * The drive's temperature: a case of one heat capacity, which each flash
 * command warms, and which loses a fixed part of its energy in each
 * millisecond.
 *
 * All is integer: n milliseconds leave energy × (1 - 1 / heat.loss_ms)^n, by
 * one multiplication for each bit of n. Rounding makes the result depend on how
 * n is divided, so the energy is brought up to date only when a command is
 * granted. Who asks for the temperature gets that of a copy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "heat/ops.h"

#define MS_NS 1000000
/* More energy is not counted. No accepted threshold is as high. */
#define MOST_NJ (1ull << 62)

static uint64_t part_of(uint64_t value, uint64_t part)
{
    return (unsigned __int128)value * part >> 64;
}

static uint64_t left_after(const ScarpHeatState *heat, uint64_t ms)
{
    uint64_t left = heat->energy_nj;

    if (ms >> HEAT_POWERS) {
        return 0;
    }
    for (unsigned i = 0; ms && left; ms >>= 1, i++) {
        if (ms & 1) {
            left = part_of(left, heat->left[i]);
        }
    }
    return left;
}

/*
 * Returns how many of the next `ms` milliseconds the energy is at least
 * least_nj. It never grows between commands.
 */
static uint64_t ms_at_least(const ScarpHeatState *heat, uint64_t ms,
                            uint64_t least_nj)
{
    uint64_t low = 0, high = ms;

    if (heat->energy_nj < least_nj) {
        return 0;
    }
    if (left_after(heat, ms) >= least_nj) {
        return ms;
    }
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;

        if (left_after(heat, middle) >= least_nj) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* Lets the case cool for `ms` milliseconds, and counts how long it is warm. */
static void cool(ScarpHeatState *heat, uint64_t ms)
{
    uint64_t counted = 0;

    for (unsigned i = HEAT_LIGHT; i <= HEAT_HEAVY; i++) {
        heat->above_ms[i] += ms_at_least(heat, ms, heat->begins_nj[i]);
    }
    while (heat->level != HEAT_NOT) {
        uint64_t until = ms_at_least(heat, ms, heat->ends_nj[heat->level]);

        /* a level below ends no earlier than the one above it */
        until = MAX(until, counted);
        heat->level_ms[heat->level] += until - counted;
        counted = until;
        if (until == ms && left_after(heat, ms) >= heat->ends_nj[heat->level]) {
            break;
        }
        heat->level--;
    }
    heat->energy_nj = left_after(heat, ms);
    heat->at_ms += ms;
}

/* Brings heat up to date; at_ns is no earlier than the last such time. */
static void cool_until(ScarpHeatState *heat, int64_t at_ns)
{
    uint64_t ms = at_ns / MS_NS;

    if (ms > heat->at_ms) {
        cool(heat, ms - heat->at_ms);
    }
}

int64_t scarp_heat_throttle(ScarpDrive *drive, int64_t array_ns)
{
    ScarpHeatState *heat = &drive->heat;
    int64_t longer_ns;

    cool_until(heat, scarp_time_ns(drive));
    longer_ns = array_ns * heat->longer_permille[heat->level] / 1000;
    scarp_mark_if(drive, command_throttled, longer_ns > 0);
    heat->throttled_ns += longer_ns;
    return longer_ns;
}

static uint64_t energy_of(const ScarpDescription *d, ScarpFlashKind kind)
{
    switch (kind) {
    case SCARP_FLASH_READ:
        return d->heat_read_nj;
    case SCARP_FLASH_PROGRAM:
        return d->heat_program_nj;
    case SCARP_FLASH_COPYBACK:
        return d->heat_read_nj + d->heat_program_nj;
    default:
        return d->heat_erase_nj;
    }
}

void scarp_heat_add(ScarpDrive *drive, ScarpFlashKind kind)
{
    ScarpHeatState *heat = &drive->heat;

    heat->energy_nj = MIN(heat->energy_nj + energy_of(&drive->desc, kind),
                          MOST_NJ);
    while (heat->level < HEAT_HEAVY &&
           heat->energy_nj >= heat->begins_nj[heat->level + 1]) {
        heat->level++;
        heat->transitions[heat->level]++;
    }
}

bool scarp_heat_init(ScarpDrive *drive, const ScarpConfig *config G_GNUC_UNUSED,
                     GError **error G_GNUC_UNUSED)
{
    const ScarpDescription *d = &drive->desc;
    ScarpHeatState *heat = &drive->heat;
    const uint64_t celsius[HEAT__COUNT] = {
        [HEAT_LIGHT] = d->heat_light_celsius,
        [HEAT_HEAVY] = d->heat_heavy_celsius,
    };
    uint64_t celsius_nj = d->heat_capacity_mj * 1000000;

    if (!scarp_has_heat(drive)) {
        return true;
    }
    heat->longer_permille[HEAT_LIGHT] = d->heat_light_permille;
    heat->longer_permille[HEAT_HEAVY] = d->heat_heavy_permille;
    for (unsigned i = 0; i < HEAT__COUNT; i++) {
        heat->begins_nj[i] = UINT64_MAX;
        if (celsius[i]) {
            uint64_t above = celsius[i] - d->heat_ambient_celsius;

            heat->begins_nj[i] = above * celsius_nj;
            heat->ends_nj[i] = (above - SCARP_HEAT_COOLER_CELSIUS) * celsius_nj;
        }
    }
    heat->left[0] = UINT64_MAX - UINT64_MAX / d->heat_loss_ms;
    for (unsigned i = 1; i < HEAT_POWERS; i++) {
        heat->left[i] = part_of(heat->left[i - 1], heat->left[i - 1]);
    }
    return true;
}

void scarp_heat_hand_over(const ScarpDrive *from, ScarpDrive *to)
{
    to->heat = from->heat;
}

bool scarp_heat(const ScarpDrive *drive, int64_t at_ns, ScarpHeat *says)
{
    const ScarpDescription *d = &drive->desc;
    ScarpHeatState heat = drive->heat;

    if (!scarp_has_heat(drive)) {
        return false;
    }
    cool_until(&heat, at_ns);
    *says = (ScarpHeat) {
        .millicelsius = d->heat_ambient_celsius * 1000 +
                        heat.energy_nj / (d->heat_capacity_mj * 1000),
        .light_celsius = d->heat_light_celsius,
        .heavy_celsius = d->heat_heavy_celsius,
        .light_transitions = heat.transitions[HEAT_LIGHT],
        .heavy_transitions = heat.transitions[HEAT_HEAVY],
        .light_ms = heat.level_ms[HEAT_LIGHT],
        .heavy_ms = heat.level_ms[HEAT_HEAVY],
        .above_light_ms = heat.above_ms[HEAT_LIGHT],
        .above_heavy_ms = heat.above_ms[HEAT_HEAVY],
        .throttled_ns = heat.throttled_ns,
    };
    return true;
}

void scarp_heat_json(const ScarpDrive *drive, GString *json)
{
    ScarpHeat heat;

    if (!scarp_heat(drive, scarp_time_ns(drive), &heat)) {
        return;
    }
    g_string_append_printf(json, ", \"heat_millicelsius\": %"
                           G_GUINT64_FORMAT ", \"heat_light_transitions\": %"
                           G_GUINT64_FORMAT ", \"heat_heavy_transitions\": %"
                           G_GUINT64_FORMAT ", \"heat_light_ms\": %"
                           G_GUINT64_FORMAT ", \"heat_heavy_ms\": %"
                           G_GUINT64_FORMAT ", \"heat_throttled_ns\": %"
                           G_GUINT64_FORMAT, heat.millicelsius,
                           heat.light_transitions, heat.heavy_transitions,
                           heat.light_ms, heat.heavy_ms, heat.throttled_ns);
}
