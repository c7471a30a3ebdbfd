/*
 * Phases of flash commands, for observers. nand knows the phases, and the owner
 * of a flash command knows which commands of the host it serves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * Returns the number of the NVMe command that the read serves. UINT64_MAX: the
 * read serves no NVMe command.
 */
static uint64_t reader(const ScarpFlashCmd *cmd)
{
    if (cmd && scarp_flash_owner(cmd) == OWNER_STRIPE) {
        cmd = scarp_parity_parent(cmd);
    }
    if (!cmd) {
        return UINT64_MAX;
    }
    return scarp_flash_owner(cmd) == OWNER_READ
               ? ((const ScarpCmd *)scarp_flash_subject(cmd))->seq
               : scarp_buffer_cmd_seq(scarp_flash_subject(cmd));
}

static uint32_t cmds_of(const ScarpFlashCmd *cmd, uint64_t *seqs)
{
    uint32_t n = 0;

    switch (scarp_flash_owner(cmd)) {
    case OWNER_READ:
    case OWNER_RMW:
    case OWNER_STRIPE:
        seqs[0] = reader(cmd);
        return seqs[0] != UINT64_MAX;
    case OWNER_BUFFER:
        for (const ScarpUnit *unit = scarp_flash_units(cmd); unit;
             unit = scarp_unit_next(unit)) {
            uint64_t seq = scarp_buffer_cmd_seq(unit);

            if (!n || seqs[n - 1] != seq) {
                seqs[n++] = seq;
            }
        }
        return n;
    default:
        return 0;
    }
}

void scarp_flow_tell(ScarpDrive *drive)
{
    uint64_t seqs[SCARP_MAX_UNITS];
    const ScarpFlashCmd *cmd;
    ScarpFlashOp op;

    for (unsigned i = 0; (cmd = scarp_nand_phase(drive, i, &op)); i++) {
        op.cmd_seqs = seqs;
        op.n_cmds = cmds_of(cmd, seqs);
        if (op.kind == SCARP_FLASH_ERASE) {
            op.page = 0;
        }
        drive->observer.flash_phase(drive->observer.opaque, &op);
    }
    scarp_nand_forget_phases(drive);
}

void scarp_set_observer(ScarpDrive *drive, const ScarpObserver *observer)
{
    drive->observer = *observer;
    scarp_nand_observe(drive, observer->flash_phase);
}
