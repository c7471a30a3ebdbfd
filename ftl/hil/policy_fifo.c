/*
 * Host queue policy: first in, first out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

const ScarpHilOps scarp_hil_fifo = {
    .name = "fifo",
    .help = "commands enter the device's slots in the order of arrival",
    .pick = scarp_cmd_pop,
};
