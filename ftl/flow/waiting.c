/*
 * The waiters of a die, and which of them is owed the next turn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

static const ScarpFlashCmd *older(const ScarpFlashCmd *cmd,
                                  const ScarpFlashCmd *best)
{
    return scarp_flow_is_older(cmd, best) ? cmd : best;
}

static bool has_page(const ScarpDrive *drive, uint32_t p,
                     const ScarpFlashCmd *program)
{
    return scarp_map_can(drive, MAP_PLACES_PAGES)
               ? scarp_map_page_possible(
                     drive, p, scarp_unit_lpn(scarp_flash_units(program)))
               : scarp_page_possible(drive, p, SCARP_ORIGIN_HOST,
                                     scarp_flash_stream(program));
}

const ScarpFlashCmd *scarp_flow_oldest(const ScarpDrive *drive, uint32_t die,
                                       ScarpQueueKind kind)
{
    uint32_t first = scarp_die_plane(drive, die);
    const ScarpFlashCmd *best = NULL;

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        best = older(scarp_nand_head(drive, p, kind), best);
    }
    return best;
}

static void see_program(const ScarpDrive *drive, uint32_t p,
                        const ScarpFlashCmd *head, ScarpWaiting *w)
{
    if (has_page(drive, p, head)) {
        w->program = older(head, w->program);
    } else {
        scarp_mark(drive, program_without_page);
        w->pageless = older(head, w->pageless);
    }
}

void scarp_flow_see_programs(const ScarpDrive *drive, uint32_t die,
                             ScarpWaiting *w)
{
    static const ScarpQueueKind kinds[] = { QUEUE_PROGRAMS, QUEUE_MAP };
    uint32_t first = scarp_die_plane(drive, die);

#pragma GCC unroll 2
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        uint32_t end = scarp_nand_queued(drive, die, kinds[i])
                           ? first + drive->desc.planes_per_die : first;

        for (uint32_t p = first; p < end; p++) {
            const ScarpFlashCmd *head = scarp_nand_head(drive, p, kinds[i]);

            if (head) {
                see_program(drive, p, head, w);
            }
        }
    }
    if (scarp_nand_guests_wait(drive, die)) {
        w->copy = scarp_flow_oldest(drive, die, QUEUE_GC);
    }
    if (scarp_flow_pairs(drive)) {
        w->pad = scarp_flow_pressed(drive, die, true);
        w->pageless = older(scarp_flow_pressed(drive, die, false), w->pageless);
    }
}

const ScarpFlashCmd *scarp_flow_behind_reads(const ScarpDrive *drive,
                                             const ScarpWaiting *w)
{
    const ScarpFlashCmd *first = older(w->suspended, older(w->copy, w->pad));

    if (drive->desc.reads_first) {
        first = older(w->program, first);
    }
    return first ? first : w->pageless;
}

const ScarpFlashCmd *scarp_flow_who_is_owed(const ScarpDrive *drive,
                                            uint32_t die,
                                            const ScarpWaiting *w)
{
    const ScarpFlashCmd *first;

    if (!scarp_turn_limit_reached(drive, PASS_READS, die)) {
        return NULL;
    }
    first = scarp_flow_behind_reads(drive, w);
    return first && scarp_turn_owed(drive, PASS_READS, die,
                                    scarp_flash_seq(first)) ? first : NULL;
}

bool scarp_flow_owes_page(const ScarpDrive *drive, uint32_t die,
                          const ScarpWaiting *w, const ScarpFlashCmd *owed)
{
    return w->pageless && (owed == w->pageless ||
                           scarp_turn_owed(drive, PASS_SIBLINGS, die,
                                           scarp_flash_seq(w->pageless)));
}

bool scarp_flow_read_is_oldest(const ScarpWaiting *w)
{
    return older(w->program, older(w->pad, w->read)) == w->read;
}

bool scarp_flow_pad_is_next(const ScarpDrive *drive, uint32_t die,
                            const ScarpWaiting *w, const ScarpFlashCmd *owed)
{
    return w->pad && (!w->program || owed == w->pad ||
                      scarp_turn_owed(drive, PASS_PROGRAMS, die,
                                      scarp_flash_seq(w->pad)));
}
