/*
 * Sanitize: erases every block that has pages, one block after the other in
 * each plane. All dies work at once, and the planes of a die take turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"
#include "heat/ops.h"

bool scarp_recovery_sanitize(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryPlane *plane = &drive->recovery.plane[p];
    uint32_t blocks = drive->desc.blocks_per_plane;

    while (plane->block < blocks) {
        uint32_t block = p * blocks + plane->block++;

        if (scarp_block_state(drive, block) == BLOCK_APART) {
            scarp_recovery_issue(drive, p, SCARP_FLASH_ERASE,
                                 SCARP_ORIGIN_HOST,
                                 scarp_block_ppn(drive, block), 0);
            return true;
        }
    }
    return false;
}

void scarp_recovery_sanitized(ScarpDrive *drive, const ScarpFlashCmd *cmd)
{
    scarp_block_erased(drive, scarp_ppn_block(drive, scarp_flash_ppn(cmd)));
    drive->recovery.to_erase--;
}

void scarp_sanitize_begin(ScarpDrive *drive)
{
    drive->recovery.plane = g_new0(ScarpRecoveryPlane, drive->geo.n_planes);
    scarp_media_forget_saved(drive);
    scarp_blocks_recover(drive);
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        drive->recovery.to_erase += scarp_block_state(drive, b) == BLOCK_APART;
    }
    scarp_recovery_start(drive, RECOVERY_SANITIZE);
}

uint32_t scarp_sanitize_left(const ScarpDrive *drive)
{
    return drive->recovery.to_erase;
}

int64_t scarp_sanitize_bound_ns(const ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->desc;
    /* a command waits for those of the channel's other dies */
    int64_t bus_ns = (int64_t)(d->command_ns * d->chips_per_channel *
                               d->dies_per_chip);
    int64_t erase_ns = scarp_heat_longest_ns(drive, MAX(d->erase_ns,
                                                        d->slc_erase_ns));
    __int128 bound_ns = (__int128)d->blocks_per_plane * d->planes_per_die *
                        (erase_ns + bus_ns);

    return MIN(bound_ns, SCARP_TIME_LAST);
}
