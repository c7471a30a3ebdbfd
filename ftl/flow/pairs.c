/*
 * ftl.paired_pages=pad: a program of the host counts as ended only when all
 * pages of its cells are programmed. Until then its units stay in the buffer,
 * because a power cut during a later program of these cells would destroy them.
 *
 * Later programs fill the remaining pages of the cells. If no such program
 * comes, and a command or flush waits, pads (pages without data) fill these
 * pages. There are no more pads than missing pages, because a further pad would
 * begin cells that have to be filled, too.
 *
 * A page of the SLC cache has its cells for itself, so it never waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "flow/internal.h"

/*
 * True when the program's page is the last page of its cells, or of its block.
 */
static bool ends_group(const ScarpDrive *drive, const ScarpFlashCmd *program)
{
    uint32_t ppn = scarp_flash_ppn(program);
    uint32_t page = scarp_ppn_page(drive, ppn);
    uint32_t shared =
        scarp_media_cell_pages(drive, scarp_ppn_block(drive, ppn));

    return page % shared == shared - 1 ||
           page + 1 == drive->desc.pages_per_block;
}

ScarpFlashCmd *scarp_flow_pair_ended(ScarpDrive *drive, ScarpFlashCmd *program)
{
    scarp_nand_await_pair(drive, program);
    if (!ends_group(drive, program)) {
        scarp_mark(drive, page_awaits_pair);
        return NULL;
    }
    return scarp_nand_take_unpaired(drive, scarp_flash_plane(program),
                                    scarp_ppn_block(drive,
                                                    scarp_flash_ppn(program)));
}

/*
 * True when all pages of the program's cells are programmed or being
 * programmed.
 */
static bool is_filled(const ScarpDrive *drive, const ScarpFlashCmd *program)
{
    uint32_t ppn = scarp_flash_ppn(program);
    uint32_t page = scarp_ppn_page(drive, ppn);
    uint32_t shared =
        scarp_media_cell_pages(drive, scarp_ppn_block(drive, ppn));
    uint32_t end = MIN((page / shared + 1) * shared,
                       (uint32_t)drive->desc.pages_per_block);

    return scarp_block_written(drive, scarp_ppn_block(drive, ppn)) >= end;
}

/*
 * True when a pad should fill the program's cells: commands or flushes wait for
 * the program's units, or for the buffer as a whole (scarp_buffer_presses()),
 * and some pages of these cells are still free. False if the program is itself
 * a pad: a pad has no units, so nothing waits for it.
 */
static bool is_pressed(const ScarpDrive *drive, const ScarpFlashCmd *program)
{
    if (!scarp_flash_units(program) || is_filled(drive, program)) {
        return false;
    }
    if (scarp_buffer_presses(drive)) {
        return true;
    }
    for (const ScarpUnit *unit = scarp_flash_units(program); unit;
         unit = scarp_unit_next(unit)) {
        if (scarp_buffer_is_late(drive, unit)) {
            return true;
        }
    }
    return false;
}

/*
 * Returns the stream of the program's block. A pad's stream is known only from
 * its block, because a pad has no units.
 */
static uint16_t stream_in(const ScarpDrive *drive, const ScarpFlashCmd *program)
{
    return scarp_media_stream(drive,
                              scarp_ppn_block(drive, scarp_flash_ppn(program)));
}

static ScarpFlashCmd *pad(ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_PROGRAM,
                                         OWNER_BUFFER, SCARP_ORIGIN_HOST);

    drive->stats.pair_pad_pages++;
    drive->stats.padded_units += drive->geo.units_per_page;
    scarp_flash_set_target(cmd, p, 0, drive->desc.page_bytes);
    scarp_flash_set_ppn(cmd, scarp_page_take_real(drive, p, stream));
    scarp_account_begin(scarp_flash_account(cmd), scarp_time_ns(drive));
    return cmd;
}

const ScarpFlashCmd *scarp_flow_pressed(const ScarpDrive *drive, uint32_t die,
                                        bool page)
{
    const ScarpFlashCmd *best = NULL;
    uint32_t first = scarp_die_plane(drive, die);

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        for (const ScarpFlashCmd *cmd = scarp_nand_unpaired(drive, p); cmd;
             cmd = scarp_flash_next(cmd)) {
            if ((!best || scarp_flash_seq(cmd) < scarp_flash_seq(best)) &&
                is_pressed(drive, cmd) &&
                (!page || scarp_page_possible_real(drive, p,
                                                   stream_in(drive, cmd)))) {
                best = cmd;
            }
        }
    }
    return best;
}

ScarpFlashCmd *scarp_flow_pad(ScarpDrive *drive, uint32_t die)
{
    const ScarpFlashCmd *cmd = scarp_flow_pressed(drive, die, true);

    return cmd ? pad(drive, scarp_flash_plane(cmd), stream_in(drive, cmd))
               : NULL;
}

void scarp_flow_press(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (scarp_nand_unpaired(drive, p)) {
            scarp_nand_kick(drive, scarp_plane_die(drive, p));
        }
    }
}
