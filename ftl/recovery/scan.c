/*
 * Reads spare areas after a power cut, page by page. Each plane reads its
 * blocks in the order of their numbers. If the first page of a block is erased,
 * the whole block is erased. Otherwise its pages are read up to the first
 * erased page. Bad blocks are skipped.
 *
 * After a clean shutdown, the drive reads instead the tables that it wrote at
 * the shutdown. The simulator spends neither time nor flash pages on writing
 * these tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recovery/internal.h"
#include "heat/ops.h"

/*
 * The bytes of a unit's spare area: its LPN, its version, and the role of its
 * page (such as data or parity).
 */
enum { SPARE_BYTES = 16 };

/* The bytes of a block's entry in the tables that a clean shutdown writes. */
enum { BLOCK_BYTES = 16 };

/*
 * Creates the read of the next page of the tables that a clean shutdown wrote.
 * The tables are spread evenly over the planes. Returns false if this plane has
 * read its share.
 */
static bool read_table(ScarpDrive *drive, uint32_t p)
{
    ScarpRecoveryPlane *plane = &drive->recovery.plane[p];
    uint64_t bytes = scarp_map_table_bytes(drive) +
                     (uint64_t)drive->geo.n_blocks * BLOCK_BYTES;
    uint64_t pages = (bytes + drive->desc.page_bytes - 1) /
                     drive->desc.page_bytes;
    uint32_t block_pages =
        scarp_block_pages(drive, p * drive->desc.blocks_per_plane);

    if (plane->page >= (pages + drive->geo.n_planes - 1 - p) /
                           drive->geo.n_planes) {
        return false;
    }
    scarp_recovery_issue(drive, p, SCARP_FLASH_READ, SCARP_ORIGIN_MAP,
                         p * drive->geo.units_per_plane +
                             plane->page++ % block_pages *
                                 drive->geo.units_per_page,
                         drive->desc.page_bytes);
    return true;
}

/*
 * Returns an upper bound of the time that recovery takes. The bound counts a
 * read of every page of a plane. It counts the worst case of gaining a free
 * block: each copied block has a single invalid page, so as many blocks are
 * copied as a block has pages. It counts the erase of every block. Transfers of
 * the dies of a channel take turns, and so do the planes of a die. The blocks
 * of a reclaim unit of several planes are copied and erased one by one.
 */
int64_t scarp_recovery_bound_ns(const ScarpDrive *drive)
{
    const ScarpDescription *d = &drive->desc;
    int64_t pages = d->pages_per_block, blocks = d->blocks_per_plane;
    int64_t copies = pages * pages + 8 * pages;
    int64_t read_ns = d->slc_read_ns, program_ns = 0, erase_ns;
    int64_t bus_ns = ((int64_t)d->command_ns +
                      scarp_nand_page_transfer_ns(drive)) *
                     (int64_t)(d->chips_per_channel * d->dies_per_chip);
    __int128 bound_ns;

    for (int64_t i = 0; i < pages; i++) {
        read_ns = MAX(read_ns, scarp_nand_read_ns(drive, i));
        program_ns = MAX(program_ns, scarp_nand_program_ns(drive, i));
    }
    read_ns = scarp_heat_longest_ns(drive, read_ns);
    program_ns = scarp_heat_longest_ns(drive, program_ns);
    erase_ns = scarp_heat_longest_ns(drive, MAX(d->erase_ns, d->slc_erase_ns));
    bound_ns = (__int128)blocks * pages * (read_ns + bus_ns) +
               ((__int128)copies * (read_ns + program_ns + 2 * bus_ns) +
                (__int128)(blocks + pages) * (erase_ns + bus_ns)) *
                   (int64_t)d->reclaim_planes;
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
                      scarp_block_pages(drive, block));

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
