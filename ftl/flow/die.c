/*
 * The events of a die, and what the die does next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * Begins a command that was chosen, together with commands of the die's other
 * planes that can join it (mates).
 */
static void begin(ScarpDrive *drive, uint32_t die, ScarpFlashCmd *lead)
{
    if (scarp_flash_is_gc(lead)) {
        scarp_flash_set_aligned(
            lead, scarp_flash_kind(lead) == SCARP_FLASH_PROGRAM &&
                      drive->scheme.multiplane->aligned &&
                      !scarp_flash_stream(lead) &&
                      drive->scheme.multiplane->aligned(drive, lead));
        scarp_gc_cmd_started(drive, lead);
    }
    if (drive->scheme.multiplane->may && !scarp_recovery_runs(drive)) {
        scarp_flow_take_mates(drive, die, lead);
    }
    scarp_nand_begin(drive, lead);
}

/*
 * With nand.cache: sends a command to the die while the current command, of the
 * same kind, runs. So a program's data is loaded, or a read is sensed, in
 * advance.
 */
static void try_behind(ScarpDrive *drive, uint32_t die)
{
    ScarpFlashCmd *cmd;
    ScarpPick pick;

    if (!scarp_nand_wants_behind(drive, die)) {
        return;
    }
    switch (scarp_nand_current_kind(drive, die)) {
    case SCARP_FLASH_READ:
        pick = PICK_READ;
        break;
    case SCARP_FLASH_PROGRAM:
        pick = PICK_PROGRAM;
        break;
    default:
        return;
    }
    /*
     * A read that is picked may end at once. Observers must hear of earlier
     * phases before they hear of that end.
     */
    scarp_flow_tell_phases(drive);
    cmd = scarp_flow_pick(drive, die, pick);
    if (cmd) {
        begin(drive, die, cmd);
        scarp_nand_run_behind(drive, die, cmd);
    }
}

void scarp_flow_die_work(ScarpDrive *drive, uint32_t die)
{
    ScarpLook look = scarp_nand_look(drive, die);
    ScarpFlashCmd *cmd;

    if (look == LOOK_BEHIND) {
        try_behind(drive, die);
    }
    if (look != LOOK_NEXT) {
        return;
    }
    cmd = scarp_flow_pick(drive, die, PICK_ANY);
    if (cmd) {
        begin(drive, die, cmd);
        if (scarp_nand_run(drive, die, cmd)) {
            try_behind(drive, die);
        }
    } else if (scarp_nand_suspended(drive, die)) {
        scarp_nand_resume(drive, die);
    } else {
        scarp_nand_rest(drive, die, scarp_gc_holds(drive, die));
    }
}

static void step(ScarpDrive *drive, uint32_t die, ScarpNandStep what)
{
    if (what == NAND_BEHIND || what == NAND_SENSED) {
        try_behind(drive, die);
    }
    if (what == NAND_SENSED) {
        scarp_nand_output(drive, die);
    }
}

void scarp_flow_die_event(ScarpDrive *drive, uint32_t die)
{
    ScarpFlashCmd *ended = NULL, *mate;
    ScarpNandStep what = scarp_nand_event(drive, die, &ended);

    if (what != NAND_ONE_ENDED && what != NAND_ALL_ENDED) {
        step(drive, die, what);
        return;
    }
    /* observers must see the phases before the lines below free the commands */
    scarp_flow_tell_phases(drive);
    for (; ended; ended = mate) {
        mate = scarp_flash_unlink_mate(ended);
        scarp_flow_ended(drive, ended);
    }
    if (what == NAND_ALL_ENDED) {
        step(drive, die, scarp_nand_after(drive, die));
    }
}

void scarp_flow_channel_event(ScarpDrive *drive, uint32_t channel)
{
    uint32_t die;

    if (scarp_channel_event(drive, channel, &die)) {
        try_behind(drive, die);
    }
}
