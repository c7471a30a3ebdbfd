/*
 * Host queue policy: first in, first out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static ScarpCmd *pick(ScarpDrive *drive G_GNUC_UNUSED, CmdQueue *waiting)
{
    return scarp_cmd_pop(waiting);
}

const ScarpHilOps scarp_hil_fifo = {
    .policy = {
        .axis = AXIS_HIL,
        .name = "noop",
        .help = "commands enter the device's slots in the order of arrival",
        .source = "NVMe base specification",
    },
    .pick = pick,
};
