/*
 * Ageing: brings the tables of a drive to a state as after long writing,
 * without simulating time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/ops.h"
#include "stat/ops.h"

/*
 * Random addresses are chosen AHEAD writes early, so that the processor's cache
 * has what a write needs. The mapping's entry is prefetched at once. The record
 * of the block that this entry names is prefetched BLOCK_AHEAD writes before
 * its use.
 */
#define AHEAD 32
#define BLOCK_AHEAD 12

/* The open page of a plane, which units of the host's data fill. */
typedef struct {
    uint32_t next_ppn; /* PPN of the next unit; SCARP_NONE: no page is open */
} OpenPage;

static OpenPage *no_open_pages(const ScarpDrive *drive)
{
    OpenPage *open = g_new(OpenPage, drive->geo.n_planes);

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        open[p].next_ppn = SCARP_NONE;
    }
    return open;
}

/* Writes the unit `lpn` to the page that the mapping chooses. */
static void write_mapped(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    uint32_t ppn;

    if (!scarp_gc_make_room(drive, p, lpn)) {
        scarp_law_broken(drive);
        return;
    }
    ppn = scarp_map_page_take(drive, p, lpn);
    scarp_media_pages_programmed(drive, ppn, 1);
    if (scarp_media_has_versions(drive)) {
        scarp_media_set_version(drive, ppn, scarp_next_seq(drive));
    }
    scarp_map_move(drive, lpn, ppn);
}

/*
 * Returns the plane for lpn. Reclaim units are written in stripe order, one
 * page after the other, so only *open, the drive's one open page, may ask for
 * the next plane.
 */
static uint32_t plane_of(ScarpDrive *drive, uint32_t lpn, const OpenPage *open)
{
    if (scarp_blocks_in_units(drive)) {
        return open->next_ppn == SCARP_NONE
                   ? drive->scheme.alloc->plane(drive, lpn, 0)
                   : scarp_ppn_plane(drive, open->next_ppn);
    }
    return drive->scheme.alloc->early
               ? drive->scheme.alloc->plane(drive, lpn, 0)
               : (lpn >> drive->geo.page_shift) % drive->geo.n_planes;
}

/* Writes lpn to the next unit of an open page. */
static void write_unit(ScarpDrive *drive, OpenPage *page, uint32_t lpn)
{
    uint32_t ppn = page->next_ppn++;

    if (scarp_media_has_versions(drive)) {
        scarp_media_set_version(drive, ppn, scarp_next_seq(drive));
    }
    scarp_map_move(drive, lpn, ppn);
    if (!(page->next_ppn & (drive->geo.units_per_page - 1))) {
        page->next_ppn = SCARP_NONE;
    }
}

static void write_now(ScarpDrive *drive, OpenPage *open, uint32_t lpn)
{
    uint32_t p = plane_of(drive, lpn, open);
    OpenPage *page = &open[scarp_blocks_in_units(drive) ? 0 : p];
    uint32_t *ppn = &page->next_ppn;

    if (scarp_map_can(drive, MAP_PLACES_PAGES)) {
        write_mapped(drive, p, lpn);
        return;
    }
    if (*ppn == SCARP_NONE) {
        while (scarp_gc_due(drive, p)) {
            if (!scarp_gc_collect_now(drive, p)) {
                break;
            }
        }
        *ppn = scarp_page_take_real(drive, p, 0);
        scarp_media_pages_programmed(drive, *ppn, 1);
    }
    write_unit(drive, page, lpn);
}

/*
 * Prefetches the record of the block with lpn's present copy, which the write
 * of lpn will make invalid.
 */
static void fetch_block(const ScarpDrive *drive, uint32_t lpn)
{
    scarp_block_expect(drive, scarp_map_lookup(drive, lpn));
}

/*
 * True when a mapping that merges needs no more overwrites, because its log
 * blocks have been reclaimed many times. A write may cost such a mapping a
 * hundred copies, so as many overwrites as page mapping gets would take
 * minutes.
 */
static bool is_steady(const ScarpDrive *drive, const ScarpAge *age)
{
    return scarp_map_can(drive, MAP_MERGES) &&
           age->overwrite_permille == UINT32_MAX &&
           drive->stats.gc_runs >= 8ull * drive->geo.n_blocks;
}

static bool is_random(const ScarpAge *age)
{
    return !g_strcmp0(age->pattern, "random");
}

static bool check_values(const ScarpAge *age, GError **error)
{
    if (!is_random(age) && g_strcmp0(age->pattern, "sequential")) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "age-pattern=%s: allowed: random, sequential",
                    age->pattern ? age->pattern : "");
        return false;
    }
    if (age->utilisation_permille > 1000) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "age=%u: must be a whole number from 0 to 1000",
                    age->utilisation_permille);
        return false;
    }
    return true;
}

/* Returns how many logical units are filled, from the first on. */
static uint64_t filled_units(const ScarpDrive *drive, const ScarpAge *age)
{
    return (uint64_t)drive->geo.logical_units * age->utilisation_permille /
           1000;
}

/*
 * Collects blocks of translation units (ftl.mapping=demand). They lack room
 * when all translation units are written for the second time, behind the SLC
 * cache's data.
 */
static void collect_translation(ScarpDrive *drive, uint32_t p)
{
    while (scarp_translation_due(drive, p)) {
        if (!scarp_gc_collect_now(drive, p)) {
            scarp_law_broken(drive);
            return;
        }
    }
}

bool scarp_age(ScarpDrive *drive, const ScarpAge *age, GError **error)
{
    g_autofree OpenPage *open = NULL;
    ScarpObserver observer = drive->observer;
    uint64_t state = scarp_random_state(age->seed);
    uint64_t filled, overwrites;

    if (!check_values(age, error)) {
        return false;
    }
    if (scarp_seq_count(drive) || scarp_plane_valid_units(drive, 0)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "age: only a fresh drive can be aged");
        return false;
    }
    scarp_map_age_begins(drive);
    open = no_open_pages(drive);
    filled = filled_units(drive, age);
    for (uint64_t lpn = 0; lpn < filled; lpn++) {
        write_now(drive, open, lpn);
        if (scarp_has_parity(drive) &&
            (lpn + 1 == filled || scarp_parity_lpn(drive, lpn) !=
                                      scarp_parity_lpn(drive, lpn + 1))) {
            write_now(drive, open, scarp_parity_lpn(drive, lpn));
        }
    }
    /*
     * 2 overwrites for each logical unit suffice: every block has then been
     * collected.
     */
    overwrites = age->overwrite_permille == UINT32_MAX
                     ? 2ull * drive->geo.logical_units
                     : (uint64_t)drive->geo.logical_units *
                           age->overwrite_permille / 1000;
    memset(&drive->observer, 0, sizeof(drive->observer));
    if (is_random(age) && filled) {
        uint32_t ahead[AHEAD];

        for (uint32_t i = 0; i < AHEAD; i++) {
            ahead[i] = scarp_random_below(&state, filled);
        }
        for (uint64_t i = 0; i < overwrites && !is_steady(drive, age); i++) {
            uint32_t *lpn = &ahead[i % AHEAD];

            write_now(drive, open, *lpn);
            if (scarp_has_parity(drive)) {
                write_now(drive, open, scarp_parity_lpn(drive, *lpn));
            }
            *lpn = scarp_random_below(&state, filled);
            scarp_map_expect_write(drive, *lpn);
            fetch_block(drive, ahead[(i + BLOCK_AHEAD) % AHEAD]);
        }
    }
    scarp_map_aged(drive, collect_translation);
    drive->observer = observer;
    scarp_stat_forget(drive);
    return true;
}

/* ---- The SLC cache ------------------------------------------------------- */

/*
 * Writes lpn to the cache. False: the cache has no room in the plane of lpn.
 */
static bool write_cached(ScarpDrive *drive, OpenPage *open, uint32_t lpn)
{
    uint32_t p = plane_of(drive, lpn, open);

    if (open[p].next_ppn == SCARP_NONE) {
        if (!scarp_slc_has_room(drive, p, 0)) {
            return false;
        }
        open[p].next_ppn = scarp_page_take(drive, p, SCARP_ORIGIN_HOST, 0);
        scarp_media_pages_programmed(drive, open[p].next_ppn, 1);
    }
    write_unit(drive, &open[p], lpn);
    return true;
}

bool scarp_age_slc(ScarpDrive *drive, const ScarpAge *age, GError **error)
{
    g_autofree OpenPage *open = NULL;
    uint64_t state = scarp_random_state(age->seed + 1);
    uint64_t filled = filled_units(drive, age), refused = 0, next = 0;
    uint64_t tries = is_random(age) ? 2 * filled : filled;

    if (!check_values(age, error)) {
        return false;
    }
    if (!scarp_blocks_cached(drive)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "age-slc=full: needs an SLC cache: slc.static_blocks above "
                    "0, or slc.dynamic=1");
        return false;
    }
    if (drive->stats.cmds_accepted) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "age-slc=full: only a fresh drive can be aged");
        return false;
    }
    scarp_map_age_begins(drive);
    open = no_open_pages(drive);
    /*
     * The cache is full when no unit finds room any more. With an allocation
     * that fixes the plane of each unit, some planes may have room for ever.
     * Draws may miss the units of a plane that has room, so before the end each
     * unit is tried in turn.
     */
    while (refused < tries) {
        uint32_t lpn = is_random(age) && refused < filled
                           ? scarp_random_below(&state, filled)
                           : next++ % filled;

        refused = write_cached(drive, open, lpn) ? 0 : refused + 1;
    }
    scarp_map_aged(drive, collect_translation);
    scarp_stat_forget(drive);
    return true;
}
