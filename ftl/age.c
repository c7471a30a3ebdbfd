/*
 * Ageing: the tables of a drive that was written for long, without the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

/*
 * Addresses drawn ahead, so that what a write needs is near by then: first the
 * table's entry, then the block that it names.
 */
#define AHEAD 32
#define BLOCK_AHEAD 12

/* The pages that units of host data are put into, one a plane. */
typedef struct {
    uint32_t next_ppn; /* in the open page; SCARP_NONE: none is open */
} OpenPage;

static void write_now(ScarpDrive *drive, OpenPage *open, uint32_t lpn)
{
    uint32_t p = drive->scheme.alloc->early
                     ? drive->scheme.alloc->plane(drive, lpn, 0)
                     : (lpn >> drive->page_shift) % drive->n_planes;
    uint32_t *ppn = &open[p].next_ppn;

    if (*ppn == SCARP_NONE) {
        while (scarp_gc_due(drive, p)) {
            if (!scarp_gc_collect_now(drive, p)) {
                break;
            }
        }
        *ppn = scarp_alloc_page(drive, p, SCARP_ORIGIN_HOST, 0);
        scarp_block(drive, scarp_ppn_block(drive, *ppn))->programmed++;
    }
    if (drive->version) {
        drive->version[*ppn] = drive->next_seq++;
    }
    scarp_map_move(drive, lpn, *ppn);
    *ppn = (*ppn + 1) & (drive->units_per_page - 1) ? *ppn + 1 : SCARP_NONE;
}

/* The block that lpn will leave; where it is now may change before. */
static void fetch_block(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t ppn = drive->l2p[lpn];

    __builtin_prefetch(scarp_block(drive, scarp_ppn_block(drive, ppn)), 1);
}

bool scarp_age(ScarpDrive *drive, const ScarpAge *age, GError **error)
{
    bool random = !g_strcmp0(age->pattern, "random");
    g_autofree OpenPage *open = g_new(OpenPage, drive->n_planes);
    ScarpObserver observer = drive->observer;
    uint64_t state = age->seed * 2 + 1;
    uint64_t filled, overwrites, bad_blocks;

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
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        open[p].next_ppn = SCARP_NONE;
    }
    filled = (uint64_t)drive->logical_units * age->utilisation_permille / 1000;
    for (uint64_t lpn = 0; lpn < filled; lpn++) {
        write_now(drive, open, lpn);
        if (drive->parity &&
            (lpn + 1 == filled || scarp_parity_lpn(drive, lpn) !=
                                      scarp_parity_lpn(drive, lpn + 1))) {
            write_now(drive, open, scarp_parity_lpn(drive, lpn));
        }
    }
    /* Enough for every block to have been collected under this pattern. */
    overwrites = age->overwrite_permille == UINT32_MAX
                     ? 2ull * drive->logical_units
                     : (uint64_t)drive->logical_units *
                           age->overwrite_permille / 1000;
    memset(&drive->observer, 0, sizeof(drive->observer));
    if (random && filled) {
        uint32_t ahead[AHEAD];

        for (uint32_t i = 0; i < AHEAD; i++) {
            ahead[i] = (scarp_random(&state) >> 32) * filled >> 32;
        }
        for (uint64_t i = 0; i < overwrites; i++) {
            uint32_t *lpn = &ahead[i % AHEAD];

            write_now(drive, open, *lpn);
            if (drive->parity) {
                write_now(drive, open, scarp_parity_lpn(drive, *lpn));
            }
            *lpn = (scarp_random(&state) >> 32) * filled >> 32;
            __builtin_prefetch(&drive->l2p[*lpn], 1);
            fetch_block(drive, ahead[(i + BLOCK_AHEAD) % AHEAD]);
        }
    }
    drive->observer = observer;
    bad_blocks = drive->stats.bad_blocks;
    memset(&drive->stats, 0, sizeof(drive->stats));
    drive->stats.bad_blocks = bad_blocks;
    return true;
}
