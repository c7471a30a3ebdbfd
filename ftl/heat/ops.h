/*
 * The functions of heat (the drive's temperature) that other directories of
 * ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_HEAT_OPS_H
#define SCARP_HEAT_OPS_H

#include "core/ops.h"

bool scarp_heat_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error);

/* True for a drive with the group heat. */
static inline bool scarp_has_heat(const ScarpDrive *drive)
{
    return drive->desc.heat_capacity_mj;
}

/*
 * Called when a flash command gets the channel, only on a drive with the group
 * heat. Returns how much longer than array_ns the command takes, as the drive
 * is warm. The caller then reports the command's energy by scarp_heat_add().
 */
int64_t scarp_heat_throttle(ScarpDrive *drive, int64_t array_ns);
/* Returns the longest time that a command of array_ns takes on a warm drive. */
static inline int64_t scarp_heat_longest_ns(const ScarpDrive *drive,
                                            int64_t array_ns)
{
    const ScarpDescription *d = &drive->desc;
    uint64_t permille = MAX(d->heat_light_permille, d->heat_heavy_permille);

    return array_ns + array_ns * permille / 1000;
}
/* Adds the energy of one command of a plane. */
void scarp_heat_add(ScarpDrive *drive, ScarpFlashKind kind);

/* Adds the drive's temperature and counters to its statistics in JSON. */
void scarp_heat_json(const ScarpDrive *drive, GString *json);
/* Called at a power cut, and at a Sanitize: the case stays as warm as it is. */
void scarp_heat_hand_over(const ScarpDrive *from, ScarpDrive *to);

#endif /* SCARP_HEAT_OPS_H */
