/*
 * How a chosen flash command leaves its queue: a read if its units have not
 * moved, a program with a page, a command of a collection or of recovery.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

ScarpFlashCmd *scarp_flow_take_read(ScarpDrive *drive, uint32_t die,
                                    ScarpWaiting *w)
{
    do {
        const ScarpFlashCmd *passed = scarp_flow_behind_reads(drive, w);
        ScarpFlashCmd *cmd = scarp_nand_take(drive, w->read, QUEUE_READS);

        scarp_flash_waited(drive, cmd);
        if (scarp_flow_read_start(drive, cmd)) {
            if (passed) {
                scarp_turn_passed(drive, PASS_READS, die,
                                  scarp_flash_seq(passed));
            }
            return cmd;
        }
        scarp_flow_who_waits(drive, die, w);
    } while (scarp_flow_read_is_next(drive, w));
    scarp_mark(drive, all_reads_had_moved);
    return NULL;
}

void scarp_flow_place_program(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    uint32_t plane = scarp_flash_plane(cmd);

    if (scarp_map_can(drive, MAP_PLACES_PAGES)) {
        scarp_flash_set_ppn(cmd, scarp_map_page_take(
            drive, plane, scarp_unit_lpn(scarp_flash_units(cmd))));
        return;
    }
    scarp_flash_set_ppn(cmd, scarp_flash_aligned(cmd)
        ? scarp_aligned_take(drive, plane, SCARP_ORIGIN_HOST)
        : scarp_page_take(drive, plane, SCARP_ORIGIN_HOST,
                          scarp_flash_stream(cmd)));
}

ScarpFlashCmd *scarp_flow_take_program(ScarpDrive *drive, uint32_t die,
                                       const ScarpWaiting *w)
{
    const ScarpMultiplaneOps *multiplane = drive->scheme.multiplane;
    ScarpFlashCmd *cmd = scarp_nand_take(
        drive, w->program, scarp_flash_owner(w->program) == OWNER_MAP
                               ? QUEUE_MAP : QUEUE_PROGRAMS);

    if (w->pageless && scarp_flow_is_older(w->pageless, w->program)) {
        scarp_turn_passed(drive, PASS_SIBLINGS, die,
                          scarp_flash_seq(w->pageless));
    }
    if (w->pad) {
        scarp_turn_passed(drive, PASS_PROGRAMS, die, scarp_flash_seq(w->pad));
    }
    scarp_flash_waited(drive, cmd);
    scarp_flash_set_aligned(cmd, multiplane->aligned &&
                                     multiplane->aligned(drive, cmd));
    scarp_flow_place_program(drive, cmd);
    return cmd;
}

static bool needs_page(const ScarpFlashCmd *cmd)
{
    ScarpFlashKind kind = scarp_flash_kind(cmd);

    return kind == SCARP_FLASH_PROGRAM || kind == SCARP_FLASH_COPYBACK;
}

static bool is_of(ScarpPick pick, const ScarpFlashCmd *cmd)
{
    return pick == PICK_ANY ||
           scarp_flash_kind(cmd) == (pick == PICK_READ ? SCARP_FLASH_READ
                                                       : SCARP_FLASH_PROGRAM);
}

ScarpFlashCmd *scarp_flow_take_gc(ScarpDrive *drive, uint32_t die,
                                  ScarpPick pick)
{
    uint32_t first = scarp_die_plane(drive, die);
    const ScarpFlashCmd *best = NULL;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        const ScarpFlashCmd *head = scarp_nand_head(drive, p, QUEUE_GC);

        if (scarp_flow_is_older(head, best) &&
            (!needs_page(head) || scarp_map_can(drive, MAP_MERGES) ||
             scarp_page_possible(drive, p, SCARP_ORIGIN_GC,
                                 scarp_flash_stream(head)))) {
            best = head;
        }
    }
    if (!best || !is_of(pick, best)) {
        return NULL;
    }
    return scarp_nand_take(drive, best, QUEUE_GC);
}

ScarpFlashCmd *scarp_flow_take_recovery(ScarpDrive *drive, uint32_t die,
                                        ScarpPick pick)
{
    switch (pick) {
    case PICK_READ:
        return scarp_recovery_pick_kind(drive, die, SCARP_FLASH_READ);
    case PICK_PROGRAM:
        return scarp_recovery_pick_kind(drive, die, SCARP_FLASH_PROGRAM);
    default:
        return scarp_recovery_pick(drive, die);
    }
}
