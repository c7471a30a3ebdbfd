/*
 * Blocking pacing: a die runs one collection at a time, and chooses no other
 * command until the victim is erased. Commands of the host run meanwhile in two
 * cases that no pacing decides: a read suspends a program or an erase
 * (nand/suspend.c), or a command joins a command of the collection (gc-par).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

static ScarpTurn turn(ScarpDrive *drive G_GNUC_UNUSED,
                      uint32_t die G_GNUC_UNUSED)
{
    return TURN_HELD;
}

const ScarpPacingOps scarp_pacing_blocking = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "blocking",
        .help = "a die collects a whole victim before it serves the host again",
        .source = "hpdc18 section 2",
    },
    .check = scarp_gc_check_one,
    .turn = turn,
};
