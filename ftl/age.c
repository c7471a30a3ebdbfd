/*
 * Ageing: the tables of a drive that was written for long, without the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

/* xorshift64* (Vigna 2016): small, fast, and the same on every host. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717ull;
}

static void write_now(ScarpDrive *drive, uint32_t lpn)
{
    uint32_t p = scarp_alloc_plane(drive, lpn);

    while (drive->plane[p].n_free <= drive->d.trigger_free_blocks &&
           scarp_gc_collect_now(drive, p)) {
    }
    scarp_map_move(drive, lpn,
                   scarp_alloc_page(drive, p, SCARP_ORIGIN_HOST, 0));
}

bool scarp_age(ScarpDrive *drive, const ScarpAge *age, GError **error)
{
    bool random = !g_strcmp0(age->pattern, "random");
    ScarpObserver observer = drive->observer;
    uint64_t state = age->seed * 2 + 1;
    uint64_t filled, overwrites;

    if (!random && g_strcmp0(age->pattern, "sequential")) {
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
    if (drive->next_seq || drive->plane[0].valid) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "age: only a fresh drive can be aged");
        return false;
    }
    filled = (uint64_t)drive->logical_pages * age->utilisation_permille / 1000;
    for (uint64_t lpn = 0; lpn < filled; lpn++) {
        write_now(drive, lpn);
    }
    /* Enough for every block to have been collected under this pattern. */
    overwrites = age->overwrite_permille == UINT32_MAX
                     ? 2ull * drive->logical_pages
                     : (uint64_t)drive->logical_pages *
                           age->overwrite_permille / 1000;
    memset(&drive->observer, 0, sizeof(drive->observer));
    for (uint64_t i = 0; random && filled && i < overwrites; i++) {
        write_now(drive, (next_random(&state) >> 32) * filled >> 32);
    }
    drive->observer = observer;
    memset(&drive->stats, 0, sizeof(drive->stats));
    return true;
}
