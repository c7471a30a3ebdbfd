/*
 * Page mapping: forward and reverse tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = drive->l2p[lpn];

    if (ppn != SCARP_NONE) {
        drive->l2p[lpn] = SCARP_NONE;
        scarp_block_set_valid(drive, ppn, -1);
        if (drive->store_data) {
            scarp_store_release(drive, scarp_store_take(drive, ppn));
        }
    }
}

void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    scarp_map_unmap(drive, lpn);
    drive->l2p[lpn] = ppn;
    drive->p2l[ppn] = lpn;
    scarp_block_set_valid(drive, ppn, 1);
}

void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
#ifdef SCARP_FAULT_MAPPING
    /* A test build: fio --verify must notice it. */
    if (lpn % 997 == 13 && lpn) {
        lpn--;
    }
#endif
    scarp_map_move(drive, lpn, ppn);
}

/* By the bit of the source: the forward map's entry need not be read. */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to)
{
    if (drive->version) {
        drive->version[to] = drive->version[from]; /* a copy is as old */
    }
    drive->p2l[to] = lpn;
    if (!scarp_map_valid(drive, from)) {
        return false;
    }
    drive->l2p[lpn] = to;
    scarp_block_set_valid(drive, from, -1);
    if (drive->store_data) {
        scarp_store_put(drive, to, scarp_store_take(drive, from));
    }
    scarp_block_set_valid(drive, to, 1);
    return true;
}

uint64_t scarp_map_valid_bits(const ScarpDrive *drive, uint32_t ppn,
                              uint32_t n)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    uint32_t unit = ppn - index * drive->units_per_block, bit = unit % 64;
    const uint64_t *word = &scarp_block(drive, index)->is_valid[unit / 64];
    uint64_t bits = *word >> bit;

    if (bit + n > 64) {
        bits |= word[1] << (64 - bit);
    }
    return bits & UINT64_MAX >> (64 - n);
}

void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to)
{
    /* In two rounds, so that the table's entries come while others do. */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lpn = drive->p2l[from[i]];

        drive->p2l[to + i] = lpn;
        __builtin_prefetch(&drive->l2p[lpn], 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        drive->l2p[drive->p2l[to + i]] = to + i;
    }
    for (uint32_t i = 0; drive->version && i < n; i++) {
        drive->version[to + i] = drive->version[from[i]]; /* a copy is as old */
    }
    for (uint32_t i = 0; drive->store_data && i < n; i++) {
        scarp_store_put(drive, to + i, scarp_store_take(drive, from[i]));
    }
    scarp_block_filled(drive, to, n);
}
