/*
 * Rebuilds the drive's tables after a power cut from the flash cells.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"

void scarp_recovery_tables(ScarpDrive *drive)
{
    scarp_media_count_seq(drive);
    scarp_blocks_recover(drive);
    scarp_map_recover(drive);
}
