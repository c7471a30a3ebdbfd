/*
 * The forward map (ppn_of): the PPN of each unit's newest copy on flash. The
 * simulator keeps this table with every mapping.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/demand.h"

uint64_t scarp_map_bytes(const ScarpGeometry *geo)
{
    return 4 * (uint64_t)geo->mapped_units;
}

static inline void unmap(ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = drive->map.ppn_of[lpn];

    if (ppn != SCARP_NONE) {
        drive->map.ppn_of[lpn] = SCARP_NONE;
        scarp_block_set_valid(drive, ppn, -1);
        if (scarp_contents_kept(drive) && !scarp_media_keeps(drive)) {
            scarp_contents_release(drive, scarp_contents_take(drive, ppn));
        }
    }
}

void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn)
{
    unmap(drive, lpn);
}

static inline void move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    unmap(drive, lpn);
    drive->map.ppn_of[lpn] = ppn;
    scarp_media_set_lpn(drive, ppn, lpn);
    scarp_block_set_valid(drive, ppn, 1);
    if (scarp_map_can(drive, MAP_PLACES_PAGES) && drive->map.ops->mapped) {
        drive->map.ops->mapped(drive, lpn, ppn);
    }
}

void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    move(drive, lpn, ppn);
}

void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    if (drive->map.demand) {
        scarp_demand_written(drive, lpn);
    }
#ifdef SCARP_FAULT_MAPPING
    /*
     * SCARP_FAULT_MAPPING, which only a test sets, makes the drive map some
     * writes to the wrong LPN. fio's --verify must notice this fault.
     */
    if (lpn % 997 == 13 && lpn) {
        lpn--;
    }
#endif
#ifdef SCARP_CHECKED
    scarp_ru_wrote(drive, lpn, ppn);
#endif
    move(drive, lpn, ppn);
}

void scarp_map_deallocate(ScarpDrive *drive, uint32_t lpn)
{
    bool mapped = scarp_map_is_mapped(drive, lpn);

    scarp_map_unmap(drive, lpn);
    if (drive->map.demand && mapped) {
        scarp_demand_deallocated(drive, lpn);
    }
}

/*
 * Gives the copy at PPN `to` the contents of the unit at PPN `from`. If power
 * may fail, `from` keeps the contents, too, because after a power cut the drive
 * may use them again.
 */
static void move_contents(ScarpDrive *drive, uint32_t from, uint32_t to)
{
    if (scarp_media_keeps(drive)) {
        scarp_contents_copy(drive, from, to);
    } else if (scarp_unit_is_valid(drive, from)) {
        scarp_contents_put(drive, to, scarp_contents_take(drive, from));
    }
}

/*
 * The valid bit of `from` tells whether lpn is still mapped to `from`, so the
 * function need not read the forward map.
 */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to)
{
    /* the copy keeps the unit's version */
    scarp_media_copy_version(drive, from, to);
    scarp_media_set_lpn(drive, to, lpn);
    if (scarp_contents_kept(drive)) {
        move_contents(drive, from, to);
    }
    if (!scarp_unit_is_valid(drive, from)) {
        return false;
    }
    drive->map.ppn_of[lpn] = to;
    scarp_block_set_valid(drive, from, -1);
    scarp_block_set_valid(drive, to, 1);
    if (drive->map.demand) {
        scarp_demand_moved(drive, lpn, from);
    }
    return true;
}

void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to)
{
    uint32_t *ppn_of = drive->map.ppn_of;

    /*
     * The first loop prefetches entries of the forward map, because the second
     * loop writes them.
     */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lpn = scarp_media_lpn(drive, from[i]);

        scarp_media_set_lpn(drive, to + i, lpn);
        __builtin_prefetch(&ppn_of[lpn], 1);
    }
    for (uint32_t i = 0; i < n; i++) {
        ppn_of[scarp_media_lpn(drive, to + i)] = to + i;
    }
    for (uint32_t i = 0; scarp_media_has_versions(drive) && i < n; i++) {
        scarp_media_copy_version(drive, from[i], to + i);
    }
    for (uint32_t i = 0; scarp_contents_kept(drive) && i < n; i++) {
        move_contents(drive, from[i], to + i);
    }
    scarp_block_filled(drive, to, n);
    for (uint32_t i = 0; drive->map.demand && i < n; i++) {
        scarp_demand_moved(drive, scarp_media_lpn(drive, to + i), from[i]);
    }
}

void scarp_map_load(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    drive->map.ppn_of[lpn] = ppn;
    scarp_block_load_valid(drive, ppn);
    if (scarp_map_can(drive, MAP_PLACES_PAGES) && drive->map.ops->mapped) {
        drive->map.ops->mapped(drive, lpn, ppn);
    }
}
