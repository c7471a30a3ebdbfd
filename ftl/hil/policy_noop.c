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

static ScarpHilBound bound(const ScarpDrive *drive G_GNUC_UNUSED,
                           const ScarpCmd *cmd G_GNUC_UNUSED,
                           const ScarpCmd *younger G_GNUC_UNUSED)
{
    return (ScarpHilBound) { 0, 0 };
}

const ScarpHilOps scarp_hil_noop = {
    .policy = {
        .axis = AXIS_HIL,
        .name = "noop",
        .help = "commands enter the device's slots in the order of arrival",
        .source = "NVMe base specification",
    },
    .bound = bound,
    .pick = pick,
};
