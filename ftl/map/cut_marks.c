/*
 * Counts, in checked builds only, the merges and checkpoints during which power
 * failed. Tests read these counts to prove that they reached each case.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

#ifdef SCARP_CHECKED
void scarp_map_mark_cut(const ScarpDrive *drive, uint32_t p, bool erases)
{
    ScarpMergeKind kind = drive->map.merge[p].kind;
    uint64_t mapping = drive->desc.mapping;
    bool partial = kind == SCARP_MERGE_PARTIAL && !erases;
    bool full = kind == SCARP_MERGE_FULL && !erases;

    scarp_mark_if(drive, cut_block_partial,
                  mapping == MAPPING_BLOCK && partial);
    scarp_mark_if(drive, cut_block_full, mapping == MAPPING_BLOCK && full);
    scarp_mark_if(drive, cut_block_erases, mapping == MAPPING_BLOCK && erases);
    scarp_mark_if(drive, cut_superblock_partial,
                  mapping == MAPPING_SUPERBLOCK && partial);
    scarp_mark_if(drive, cut_superblock_full,
                  mapping == MAPPING_SUPERBLOCK && full);
    scarp_mark_if(drive, cut_superblock_erases,
                  mapping == MAPPING_SUPERBLOCK && erases);
    scarp_mark_if(drive, cut_fast_partial, mapping == MAPPING_FAST && partial);
    scarp_mark_if(drive, cut_fast_full, mapping == MAPPING_FAST && full);
    scarp_mark_if(drive, cut_fast_erases, mapping == MAPPING_FAST && erases);
    scarp_mark_if(drive, cut_switch, kind == SCARP_MERGE_SWITCH && erases);
}

void scarp_map_mark_cut_checkpoint(const ScarpDrive *drive)
{
    const ScarpDemand *demand = drive->map.demand;

    scarp_mark_if(drive, cut_checkpoint,
                  demand && demand->checkpoint.running &&
                      !demand->checkpoint.sealing);
    scarp_mark_if(drive, cut_seal, demand && demand->checkpoint.sealing);
}
#endif
