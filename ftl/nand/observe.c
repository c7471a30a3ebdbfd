/*
 * What observers of flash commands are told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

void scarp_observe(const ScarpDrive *drive, const ScarpTx *group,
                   const ScarpTx *tx, ScarpFlashPhase phase, int64_t begin_ns,
                   int64_t end_ns)
{
    uint64_t cmd_seqs[SCARP_MAX_UNITS];
    bool erase = tx->kind == TX_ERASE;
    uint32_t die = scarp_plane_die(drive, tx->plane);
    ScarpFlashOp op = {
        .begin_ns = begin_ns, .end_ns = end_ns, .cmd_seqs = cmd_seqs,
        .die = die, .plane = tx->plane,
        .channel = scarp_die_channel(drive, die),
        .block = erase ? tx->block : scarp_ppn_block(drive, tx->ppn),
        .page = erase ? 0 : scarp_ppn_page(drive, tx->ppn),
        .kind = tx->kind, .phase = phase, .origin = tx->origin,
        .multiplane = group->mate != NULL,
    };

    if (tx->stripe) {
        /* A reconstructed read's, or parity's own. */
        tx = scarp_parity_parent(tx);
        op.origin = tx ? SCARP_ORIGIN_HOST : SCARP_ORIGIN_PARITY;
    }
    if (!tx) {
        op.n_cmds = 0;
    } else if (tx->origin == SCARP_ORIGIN_HOST && tx->kind == TX_READ) {
        cmd_seqs[op.n_cmds++] = tx->cmd ? tx->cmd->seq : tx->rmw->cmd_seq;
    } else if (tx->origin == SCARP_ORIGIN_HOST) {
        for (const ScarpUnit *unit = tx->units; unit; unit = unit->next) {
            if (!op.n_cmds || cmd_seqs[op.n_cmds - 1] != unit->cmd_seq) {
                cmd_seqs[op.n_cmds++] = unit->cmd_seq;
            }
        }
    }
    drive->observer.flash_phase(drive->observer.opaque, &op);
}
