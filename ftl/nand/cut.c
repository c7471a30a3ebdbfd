/*
 * Finds the flash commands that a power cut interrupts: their pages or blocks
 * are left half written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

static bool changes_cells(const ScarpFlashCmd *cmd)
{
    return cmd->kind != SCARP_FLASH_READ;
}

static void add(GPtrArray *list, ScarpFlashCmd *group)
{
    for (ScarpFlashCmd *cmd = group; cmd; cmd = cmd->mate) {
        g_ptr_array_add(list, cmd);
    }
}

void scarp_nand_cut(const ScarpDrive *drive, uint32_t index,
                    GPtrArray *working, GPtrArray *loaded)
{
    const ScarpDie *die = &drive->nand.die[index];
    int64_t begin_ns = die->array_begin_ns;

    if (die->suspended) {
        /* a suspended command has changed its cells in part */
        add(working, die->suspended);
    }
    if (die->current && changes_cells(die->current)) {
        if (die->current->kind == SCARP_FLASH_COPYBACK) {
            /* a copyback reads first, and changes cells after that */
            begin_ns +=
                drive->nand.read_ns_of[scarp_timing_page(
                    drive, die->current->source_ppn)] + drive->desc.command_ns;
        }
        /*
         * A command that was suspended has changed its cells in part, even if
         * its array time has not gone on yet.
         */
        add(die->phase == PHASE_ARRAY &&
                    (die->suspends || begin_ns < scarp_time_ns(drive))
                ? working : loaded, die->current);
    }
    if (die->ahead && changes_cells(die->ahead)) {
        add(loaded, die->ahead);
    }
}
