/*
 * Host queue policy: first in, first out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/ops.h"

static ScarpCmd *pick(ScarpDrive *drive G_GNUC_UNUSED, ScarpCmdQueue *waiting)
{
    return scarp_cmd_pop(waiting);
}

const ScarpHilOps scarp_hil_noop = {
    .policy = {
        .axis = AXIS_HIL,
        .name = "noop",
        .help = "commands enter the device's slots in the order of arrival",
        .source = "NVMe base specification",
    },
    .pick = pick,
};
