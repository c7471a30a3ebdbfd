/*
 * GC-Z (paragc §IV): relocated units go to the channels by a Zipf distribution
 * of exponent 0.95, regardless of the channels' load. As with ParaGC, one plane
 * of each channel gets the channel's share of a victim.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/ops.h"

#define MAX_CHANNELS 64

/*
 * The weight of each rank, 10^6 / rank^0.95, rounded. The program does not
 * compute these numbers, because libm differs between hosts.
 */
static const uint32_t weight[MAX_CHANNELS] = {
    1000000, 517632, 352156, 267943, 216760, 182287, 157455, 138696,
    124014, 112202, 102489, 94358, 87449, 81504, 76333, 71794,
    67776, 64194, 60980, 58079, 55449, 53052, 50858, 48843,
    46985, 45266, 43672, 42189, 40806, 39513, 38301, 37163,
    36092, 35083, 34130, 33229, 32375, 31565, 30796, 30064,
    29367, 28702, 28068, 27461, 26881, 26326, 25793, 25283,
    24792, 24321, 23868, 23431, 23011, 22606, 22215, 21838,
    21474, 21122, 20782, 20453, 20134, 19826, 19527, 19237,
};

static bool init(ScarpDrive *drive, ScarpScheme *scheme G_GNUC_UNUSED,
                 GError **error)
{
    if (drive->desc.channels > MAX_CHANNELS) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "scheme=gc-z: geometry.channels=%" G_GUINT64_FORMAT
                    ": at most %d are allowed", drive->desc.channels,
                    MAX_CHANNELS);
        return false;
    }
    return true;
}

static uint32_t plane(ScarpDrive *drive, const ScarpGcJob *gc,
                      uint32_t lpn G_GNUC_UNUSED)
{
    uint64_t sum = 0, at;
    uint32_t c = 0;

    for (uint32_t i = 0; i < drive->desc.channels; i++) {
        sum += weight[i];
    }
    at = (unsigned __int128)scarp_policy_random(drive) * sum >> 64;
    while (at >= weight[c]) {
        at -= weight[c++];
    }
    return scarp_place_or_next(drive, gc,
                               scarp_place_plane_of(drive, gc, c));
}

const ScarpPlaceOps scarp_place_gc_z = {
    .policy = {
        .axis = AXIS_PLACEMENT,
        .name = "gc-z",
        .needs = NEEDS_CHANNELS | NEEDS_TIME | NEEDS_NO_PARITY |
                 NEEDS_ANY_PAGE | NEEDS_NO_UNITS,
        .help = "relocated pages go to channels by Zipf 0.95",
        .source = "paragc section IV",
        .init = init,
    },
    .window = UINT32_MAX, /* the whole victim is read into RAM first */
    .plane = plane,
};
