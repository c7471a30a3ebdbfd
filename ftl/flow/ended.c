/*
 * Flash commands that have ended: tells their owners, and lets host commands go
 * on that waited for these ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * Fills `unit` from `base`, and then each later partial write of the same LPN
 * from the write before it. scarp_buffer_settle() is called only when all are
 * filled, as it may free a unit whose data the next unit needs.
 */
void scarp_flow_fill(ScarpDrive *drive, ScarpUnit *unit, const void *base)
{
    ScarpUnit *filled = NULL;

    while (unit) {
        ScarpUnit *dependent;
        ScarpCmd *cmd = scarp_buffer_fill(drive, unit, base, &dependent);

        if (cmd) {
            scarp_flow_put(drive, cmd);
        }
        scarp_unit_set_next(unit, filled);
        filled = unit;
        base = scarp_unit_data(unit);
        unit = dependent;
    }
    while (filled) {
        ScarpUnit *next = scarp_unit_next(filled);

        scarp_unit_set_next(filled, NULL);
        scarp_buffer_settle(drive, filled);
        filled = next;
    }
}

static void commit_host(ScarpDrive *drive, ScarpFlashCmd *program)
{
    ScarpCmd *cmd;

    if (!scarp_flash_units(program)) { /* a pad */
        scarp_media_pages_programmed(drive, scarp_flash_ppn(program), 1);
    }
    while (scarp_buffer_commit_next(drive, program, &cmd)) {
        if (cmd) {
            scarp_flow_put(drive, cmd);
        }
    }
    scarp_flash_free(drive, program);
}

/* Ends `program`, and all programs behind it in its list. */
static void commit_all(ScarpDrive *drive, ScarpFlashCmd *program)
{
    ScarpFlashCmd *next;

    for (; program; program = next) {
        next = scarp_flash_unlink_next(program);
        commit_host(drive, program);
    }
}

void scarp_flow_commit_unpaired(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        const ScarpFlashCmd *first;

        while ((first = scarp_nand_unpaired(drive, p))) {
            uint32_t block = scarp_ppn_block(drive, scarp_flash_ppn(first));

            commit_all(drive, scarp_nand_take_unpaired(drive, p, block));
        }
    }
}

static void host_program_ended(ScarpDrive *drive, ScarpFlashCmd *program)
{
    if (scarp_flash_n_units(program)) { /* it is not a pad */
        scarp_buffer_program_ended(drive, program);
    }
    if (scarp_flow_pairs(drive)) {
        commit_all(drive, scarp_flow_pair_ended(drive, program));
    } else {
        commit_host(drive, program);
    }
    scarp_flow_flushed(drive);
    scarp_flow_admit(drive);
}

static void recovery_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    scarp_recovery_ended(drive, cmd);
    if (!scarp_recovery_runs(drive)) {
        scarp_flow_dispatch(drive);
    }
}

void scarp_flow_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    if (scarp_flash_owner(cmd) == OWNER_RECOVERY) {
        recovery_ended(drive, cmd);
        return;
    }
    if (drive->scheme.place->flash_done) {
        drive->scheme.place->flash_done(drive, cmd);
    }
    if (!scarp_flash_is_gc(cmd)) {
        scarp_gc_host_ended(drive, cmd);
    }
    switch (scarp_flash_owner(cmd)) {
    case OWNER_READ:
    case OWNER_RMW:
    case OWNER_STRIPE:
        scarp_flow_read_ended(drive, cmd);
        break;
    case OWNER_BUFFER:
        host_program_ended(drive, cmd);
        break;
    case OWNER_MAP:
        if (scarp_flash_kind(cmd) == SCARP_FLASH_READ) {
            scarp_flow_read_ended(drive, cmd);
        } else {
            scarp_map_program_ended(drive, cmd);
        }
        break;
    case OWNER_PARITY:
        scarp_parity_program_ended(drive, cmd);
        scarp_flow_admit(drive);
        break;
    default:
        scarp_gc_cmd_ended(drive, cmd);
        break;
    }
}
