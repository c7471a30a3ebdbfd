/*
 * What a collection would cost: for policies that weigh it against commands
 * (hios-isca14 §4 needs it for every request in its queue).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

static uint32_t valid_units(const ScarpDrive *drive, uint32_t first)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < drive->units_per_page; i++) {
        n += scarp_map_valid(drive, first + i);
    }
    return n;
}

int64_t scarp_gc_cost_ns(const ScarpDrive *drive, uint32_t p)
{
    uint32_t offset = scarp_alloc_offset(drive, p, SCARP_ORIGIN_GC, 0);
    int64_t ns = 0, command = drive->d.command_ns;
    uint32_t victim, staged = 0;

    if (!scarp_victim_least(drive, p, &victim, 1)) {
        return 0;
    }
    for (uint32_t page = 0; page < drive->d.pages_per_block; page++) {
        uint32_t n = valid_units(drive, victim * drive->units_per_block +
                                            page * drive->units_per_page);
        bool copyback = drive->d.copyback && n == drive->units_per_page;

        if (!n) {
            continue;
        }
        ns += command + drive->read_ns_of[page];
        if (!copyback) {
            ns += ((uint64_t)n * drive->unit_bytes * 1000 +
                   drive->d.channel_mts - 1) / drive->d.channel_mts;
            staged += n;
        }
        if (copyback || staged >= drive->units_per_page) {
            ns += command + drive->program_ns_of[offset] +
                  (copyback ? 0 : drive->page_transfer_ns);
            staged -= copyback ? 0 : drive->units_per_page;
            offset = (offset + 1) % (uint32_t)drive->d.pages_per_block;
        }
    }
    if (staged) {
        ns += command + drive->page_transfer_ns +
              drive->program_ns_of[offset];
    }
    return ns + command + (int64_t)drive->d.erase_ns;
}
