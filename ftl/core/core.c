/*
 * Initialises and frees core, and loads core's part of an image: the drive's
 * age, sequence numbers and random numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/ops.h"

G_DEFINE_QUARK(scarp-error-quark, scarp_error)

const char *scarp_version(void)
{
    return SCARP_VERSION;
}

/*
 * Allocates a drive. `desc`, `geo` and `store_data` are const members: this
 * function writes them through a cast, and nobody changes them later.
 */
ScarpDrive *scarp_core_new(const ScarpDescription *desc,
                           const ScarpConfig *config)
{
    ScarpDrive *drive = g_new0(ScarpDrive, 1);
    ScarpGeometry geo = scarp_geometry(desc);

    memcpy((void *)&drive->desc, desc, sizeof(*desc));
    memcpy((void *)&drive->geo, &geo, sizeof(geo));
    memcpy((void *)&drive->store_data, &config->store_data, sizeof(bool));
    return drive;
}

bool scarp_core_init(ScarpDrive *drive, const ScarpConfig *config,
                     GError **error G_GNUC_UNUSED)
{
    drive->core.seed = config->seed;
    drive->core.random = scarp_random_state(config->seed);
    scarp_events_init(&drive->core.events,
                      scarp_hold_source(drive) + 1 +
                          scarp_has_slc(&drive->desc));
    return true;
}

void scarp_core_clear(ScarpDrive *drive)
{
    scarp_events_clear(&drive->core.events);
}

void scarp_core_load(ScarpDrive *drive, uint64_t life_ns, uint64_t next_seq,
                     uint64_t seed, uint64_t random)
{
    drive->core.past_ns = life_ns;
    drive->core.next_seq = next_seq;
    if (seed == drive->core.seed) {
        drive->core.random = random;
    }
}

void scarp_core_hand_over(const ScarpDrive *from, ScarpDrive *to)
{
    to->core.now_ns = from->core.now_ns;
    to->core.past_ns = from->core.past_ns;
    to->core.next_seq = from->core.next_seq;
    to->core.random = from->core.random;
    to->core.broken = from->core.broken;
#ifdef SCARP_CHECKED
    memcpy(to->core.marks, from->core.marks, sizeof(to->core.marks));
    to->core.laws_units = from->core.laws_units;
#endif
}

#ifdef SCARP_CHECKED
/*
 * Checking all invariants (the laws) visits every unit of the drive. So after
 * the first checks, which together visit 2^24 units, the laws are checked after
 * one event in seven only.
 */
bool scarp_core_laws_due(ScarpDrive *drive)
{
    uint64_t units = scarp_geometry_units(&drive->geo);

    drive->core.laws_units += units;
    return drive->core.laws_units <= 1ull << 24 ||
           drive->core.laws_units / units % 7 == 0;
}
#endif

uint64_t scarp_policy_random_state(const ScarpDrive *drive)
{
    return drive->core.random;
}

int64_t scarp_now_ns(const ScarpDrive *drive)
{
    return drive->core.now_ns;
}

int64_t scarp_next_event_ns(const ScarpDrive *drive)
{
    return scarp_event_next_ns(drive);
}

uint64_t scarp_drive_logical_bytes(const ScarpDrive *drive)
{
    return (uint64_t)drive->geo.logical_units * drive->geo.unit_bytes;
}

uint32_t scarp_drive_unit_bytes(const ScarpDrive *drive)
{
    return drive->geo.unit_bytes;
}

uint32_t scarp_drive_streams(const ScarpDrive *drive)
{
    return drive->desc.streams;
}

uint64_t scarp_drive_stream_bytes(const ScarpDrive *drive)
{
    return (uint64_t)drive->geo.n_planes * drive->geo.units_per_block *
           drive->geo.unit_bytes;
}

bool scarp_drive_isolates(const ScarpDrive *drive, uint16_t stream)
{
    return scarp_is_isolated(&drive->desc, stream);
}

int64_t scarp_drive_deadline_ns(const ScarpDrive *drive, ScarpAccess access)
{
    const uint64_t us[] = {
        [SCARP_ACCESS_NONE] = 0,
        [SCARP_ACCESS_IDLE] = drive->desc.deadline_idle_us,
        [SCARP_ACCESS_NORMAL] = drive->desc.deadline_normal_us,
        [SCARP_ACCESS_LOW] = drive->desc.deadline_low_us,
    };

    return us[access] * 1000;
}

uint32_t scarp_drive_program_bytes(const ScarpDrive *drive)
{
    return drive->desc.page_bytes *
           (drive->desc.multiplane ? drive->desc.planes_per_die : 1);
}

bool scarp_drive_loses_power(const ScarpDrive *drive)
{
    return drive->desc.power_cuts;
}

bool scarp_drive_is_volatile(const ScarpDrive *drive)
{
    return drive->desc.power_cuts && drive->desc.buffer_bytes &&
           !drive->desc.plp_bytes;
}

bool scarp_drive_deallocates(const ScarpDrive *drive)
{
    return !drive->desc.power_cuts || drive->desc.recovery == RECOVERY_ALL;
}
