/*
 * The reads of spare areas, page by page. Each plane reads its blocks in their
 * order. A block's first page tells whether the block is in use, and the first
 * erased page tells where it ends. Blocks that are marked as bad are skipped.
 *
 * A drive that was shut down reads its tables instead. Writing the tables takes
 * no time, and their place is not modelled.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"

/* The bytes of a unit's spare area: LPN, version, the role of its page. */
enum { SPARE_BYTES = 16 };

/* The bytes of a block's entry in the tables. */
enum { BLOCK_BYTES = 16 };

/*
 * Issues the read of the next page of the plane's share of the tables, which a
 * drive writes when it is shut down. Returns false after the last.
 */
static bool read_table(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryPlane *plane = &drive->recovery.plane[p];
    uint64_t bytes = scarp_map_table_bytes(drive) +
                     (uint64_t)drive->geo.n_blocks * BLOCK_BYTES;
    uint64_t pages = (bytes + drive->desc.page_bytes - 1) /
                     drive->desc.page_bytes;

    if (plane->page >= (pages + drive->geo.n_planes - 1 - p) /
                           drive->geo.n_planes) {
        return false;
    }
    scarp_recovery_issue(drive, p, SCARP_FLASH_READ, SCARP_ORIGIN_MAP,
                         p * drive->geo.units_per_plane +
                             plane->page++ % drive->desc.pages_per_block *
                                 drive->geo.units_per_page,
                         drive->desc.page_bytes);
    return true;
}

/*
 * The bound assumes that all pages of a plane are read. Then a block is freed
 * from the least that other blocks have to spare, a page each, so that as many
 * blocks are copied as a block has pages. Each block may have to be erased. The
 * dies of a channel wait for each other, and the planes of a die take turns.
 */
int64_t scarp_recovery_bound_ns(const ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->desc;
    int64_t pages = d->pages_per_block, blocks = d->blocks_per_plane;
    int64_t copies = pages * pages + 8 * pages;
    int64_t read_ns = 0, program_ns = 0;
    int64_t bus_ns = ((int64_t)d->command_ns +
                      scarp_nand_page_transfer_ns(drive)) *
                     (int64_t)(d->chips_per_channel * d->dies_per_chip);
    __int128 bound_ns;

    for (int64_t i = 0; i < pages; i++) {
        read_ns = MAX(read_ns, scarp_nand_read_ns(drive, i));
        program_ns = MAX(program_ns, scarp_nand_program_ns(drive, i));
    }
    bound_ns = (__int128)blocks * pages * (read_ns + bus_ns) +
               (__int128)copies * (read_ns + program_ns + 2 * bus_ns) +
               (__int128)(blocks + pages) * ((int64_t)d->erase_ns + bus_ns);
    return MIN(bound_ns * (int64_t)d->planes_per_die, SCARP_TIME_LAST);
}

bool scarp_recovery_scan(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryPlane *plane = &drive->recovery.plane[p];
    uint32_t blocks = drive->desc.blocks_per_plane;

    if (drive->recovery.is_clean) {
        return read_table(drive, p);
    }
    while (plane->block < blocks) {
        uint32_t block = p * blocks + plane->block;
        uint32_t pages = !scarp_map_must_scan(drive, block)
            ? 1 : MIN(scarp_media_used_pages(drive, block) + 1,
                      drive->desc.pages_per_block);

        if (plane->page < pages && !scarp_media_is_bad(drive, block)) {
            scarp_recovery_issue(
                drive, p, SCARP_FLASH_READ, SCARP_ORIGIN_MAP,
                scarp_block_ppn(drive, block) +
                    plane->page++ * drive->geo.units_per_page,
                drive->geo.units_per_page * SPARE_BYTES);
            return true;
        }
        plane->block++;
        plane->page = 0;
    }
    return false;
}
