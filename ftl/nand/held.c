/*
 * Programs that have ended in their cells, and do not count before the rest of
 * these cells is programmed, too (ftl.paired_pages=pad).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nand/internal.h"

/* Programs that go before a pad, for each plane of the die. */
#define PASSED_MOST 16

void scarp_nand_hold(ScarpDrive *drive, ScarpFlashCmd *program)
{
    scarp_flash_push(&drive->nand.held[program->plane], program);
}

/* A page with data is held at the die: somebody may wait for a pad. */
static bool holds_data(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        for (const ScarpFlashCmd *held = scarp_nand_held(drive, p); held;
             held = scarp_flash_next(held)) {
            if (scarp_flash_units(held)) {
                return true;
            }
        }
    }
    return false;
}

ScarpFlashCmd *scarp_nand_take_held(ScarpDrive *drive, uint32_t plane,
                                    uint32_t block)
{
    ScarpFlashQueue *held = &drive->nand.held[plane], taken, left;
    uint32_t die = scarp_plane_die(drive, plane);
    ScarpFlashCmd *cmd;

    scarp_flash_queue_init(&taken);
    scarp_flash_queue_init(&left);
    while ((cmd = scarp_flash_pop(held))) {
        scarp_flash_push(scarp_ppn_block(drive, cmd->ppn) == block ? &taken
                                                                   : &left,
                         cmd);
    }
    scarp_flash_queue_init(held);
    while ((cmd = scarp_flash_pop(&left))) {
        scarp_flash_push(held, cmd);
    }
    /* Who waited may have been served by what is no pad. */
    if (!holds_data(drive, die)) {
        drive->nand.die[die].pads_passed = 0;
    }
    return taken.head;
}

void scarp_nand_pad_passed(ScarpDrive *drive, uint32_t die, bool waits)
{
    uint32_t *passed = &drive->nand.die[die].pads_passed;

    if (waits && !*passed) {
        drive->nand.die[die].pads_seq = scarp_seq_count(drive);
    }
    *passed = waits ? *passed + 1 : 0;
}

void scarp_nand_pad_went(ScarpDrive *drive, uint32_t die,
                         const ScarpFlashCmd *next)
{
    /* One pad serves one cell: all who waited while those passed have theirs. */
    if (!scarp_nand_pads_enough(drive, die) || !next ||
        next->seq >= drive->nand.die[die].pads_seq) {
        drive->nand.die[die].pads_passed = 0;
    }
}

bool scarp_nand_pads_enough(const ScarpDrive *drive, uint32_t die)
{
    return drive->nand.die[die].pads_passed >=
           PASSED_MOST * drive->desc.planes_per_die;
}
