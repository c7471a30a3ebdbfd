/*
 * Page programs that wait until all pages of their cells are programmed
 * (ftl.paired_pages=pad). If the power fails during a later program of the same
 * cells, the earlier pages of these cells are lost. So a page program counts as
 * ended only when no later program of its cells is to come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

void scarp_nand_await_pair(ScarpDrive *drive, ScarpFlashCmd *program)
{
    program->seq = scarp_next_seq(drive); /* its wait for a pad begins now */
    scarp_flash_push(&drive->nand.unpaired[program->plane], program);
}

ScarpFlashCmd *scarp_nand_take_unpaired(ScarpDrive *drive, uint32_t plane,
                                        uint32_t block)
{
    ScarpFlashQueue *unpaired = &drive->nand.unpaired[plane], taken, left;
    ScarpFlashCmd *cmd;

    scarp_flash_queue_init(&taken);
    scarp_flash_queue_init(&left);
    while ((cmd = scarp_flash_pop(unpaired))) {
        scarp_flash_push(scarp_ppn_block(drive, cmd->ppn) == block ? &taken
                                                                   : &left,
                         cmd);
    }
    scarp_flash_queue_init(unpaired);
    while ((cmd = scarp_flash_pop(&left))) {
        scarp_flash_push(unpaired, cmd);
    }
    return taken.head;
}
