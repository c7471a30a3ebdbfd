/*
 * Collecting one victim: trigger, choice, relocation page by page, erase.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

#define MAX_CANDIDATES 64

uint32_t scarp_gc_choose_victim(ScarpDrive *drive, uint32_t p)
{
    ScarpPlane *plane = &drive->plane[p];
    uint32_t candidates[MAX_CANDIDATES];
    uint32_t n = 0;

    for (uint32_t w = 0; w <= drive->d.pages_per_block / 64; w++) {
        if (plane->bucket_filled[w]) {
            uint32_t valid = w * 64 + __builtin_ctzll(plane->bucket_filled[w]);

            if (valid == drive->d.pages_per_block) {
                return SCARP_NONE; /* nothing to gain */
            }
            for (uint32_t b = plane->bucket[valid];
                 b != SCARP_NONE && n < drive->d.victim_candidates;
                 b = drive->block[b].next) {
                candidates[n++] = b;
            }
            return drive->scheme->victim->choose(drive, plane, candidates, n);
        }
    }
    return SCARP_NONE;
}

void scarp_gc_check(ScarpDrive *drive, uint32_t p)
{
    ScarpPlane *plane = &drive->plane[p];

    if (plane->n_free <= drive->d.trigger_free_blocks && !plane->gc.running) {
        drive->scheme->pacing->trigger(drive, p);
    }
}

static bool page_valid(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t lpn = drive->p2l[ppn];

    return lpn != SCARP_NONE && drive->l2p[lpn] == ppn;
}

/* The mapping and the data switch together, if the copy is still wanted. */
static void relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from, uint32_t to)
{
    void *page;

    if (drive->l2p[lpn] != from) {
        drive->p2l[to] = lpn;
        return;
    }
    page = scarp_store_take(drive, from);
    scarp_map_move(drive, lpn, to);
    scarp_store_put(drive, to, page);
    drive->stats.gc_moved_units++;
}

bool scarp_gc_collect_now(ScarpDrive *drive, uint32_t p)
{
    uint32_t victim = scarp_gc_choose_victim(drive, p);
    uint32_t pages = drive->d.pages_per_block;
    uint32_t moved = 0;

    if (victim == SCARP_NONE) {
        return false;
    }
    scarp_block_take(drive, p, victim);
    for (uint32_t i = 0; i < pages && drive->block[victim].valid; i++) {
        uint32_t from = victim * pages + i;

        if (page_valid(drive, from)) {
            relocate(drive, drive->p2l[from], from,
                     scarp_alloc_page(drive, p, SCARP_ORIGIN_GC, 0));
            moved++;
        }
    }
    scarp_block_erase(drive, p, victim);
    drive->stats.gc_page_programs += moved;
    drive->stats.gc_page_reads += moved;
    drive->stats.gc_runs++;
    if (drive->observer.gc_done) {
        ScarpGcRun run = {
            .begin_ns = drive->now_ns, .end_ns = drive->now_ns,
            .die = p / drive->d.planes_per_die, .plane = p,
            .victim_block = victim % drive->d.blocks_per_plane,
            .moved_units = moved,
        };

        drive->observer.gc_done(drive->observer.opaque, &run);
    }
    return true;
}

static void prepare(ScarpGc *gc, TxKind kind, uint32_t lpn, uint32_t ppn,
                    uint64_t bytes)
{
    gc->tx.kind = kind;
    gc->tx.lpn = lpn;
    gc->tx.ppn = gc->tx.source_ppn = ppn;
    gc->tx.bytes = bytes;
    gc->ready = true;
}

static void step(ScarpDrive *drive, ScarpGc *gc)
{
    uint32_t pages = drive->d.pages_per_block;

    while (gc->next_page < pages && drive->block[gc->victim].valid) {
        uint32_t ppn = gc->victim * pages + gc->next_page++;

        if (page_valid(drive, ppn)) {
            prepare(gc, TX_READ, drive->p2l[ppn], ppn, drive->d.page_bytes);
            return;
        }
    }
    prepare(gc, TX_ERASE, SCARP_NONE, SCARP_NONE, 0);
}

/* Blocking pacing: the die serves nothing else until the victim is erased. */
static void blocking_trigger(ScarpDrive *drive, uint32_t p)
{
    ScarpDie *die = &drive->die[p / drive->d.planes_per_die];
    ScarpGc *gc = &drive->plane[p].gc;
    uint32_t victim;

    if (die->holder != SCARP_NONE) {
        return; /* asked again when the die is free */
    }
    victim = scarp_gc_choose_victim(drive, p);
    if (victim == SCARP_NONE) {
        return;
    }
    scarp_block_take(drive, p, victim);
    memset(gc, 0, sizeof(*gc));
    gc->running = true;
    gc->victim = victim;
    gc->tx.origin = SCARP_ORIGIN_GC;
    gc->tx.plane = p;
    die->holder = p;
    step(drive, gc);
}

static void ideal_trigger(ScarpDrive *drive, uint32_t p)
{
    while (drive->plane[p].n_free <= drive->d.trigger_free_blocks &&
           scarp_gc_collect_now(drive, p)) {
    }
}

const ScarpPacingOps scarp_pacing_blocking = {
    .name = "blocking",
    .help = "a die collects a whole victim before it serves the host again",
    .trigger = blocking_trigger,
};

const ScarpPacingOps scarp_pacing_ideal = {
    .name = "ideal",
    .help = "collection costs no time",
    .trigger = ideal_trigger,
};

void scarp_gc_tx_started(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpGc *gc = &drive->plane[tx->plane].gc;

    if (!gc->begun) {
        gc->begun = true;
        gc->begin_ns = drive->now_ns;
    }
    if (tx->kind == TX_PROGRAM) {
        tx->ppn = scarp_alloc_page(drive, tx->plane, SCARP_ORIGIN_GC, 0);
    }
}

static void finish(ScarpDrive *drive, ScarpGc *gc, uint32_t p)
{
    scarp_block_erase(drive, p, gc->victim);
    drive->stats.gc_runs++;
    drive->stats.gc_busy_ns += drive->now_ns - gc->begin_ns;
    if (drive->observer.gc_done) {
        ScarpGcRun run = {
            .begin_ns = gc->begin_ns, .end_ns = drive->now_ns,
            .die = p / drive->d.planes_per_die, .plane = p,
            .victim_block = gc->victim % drive->d.blocks_per_plane,
            .moved_units = gc->moved,
        };

        drive->observer.gc_done(drive->observer.opaque, &run);
    }
    gc->running = false;
    drive->die[p / drive->d.planes_per_die].holder = SCARP_NONE;
}

void scarp_gc_tx_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpGc *gc = &drive->plane[tx->plane].gc;

    switch (tx->kind) {
    case TX_READ:
        drive->stats.gc_page_reads++;
        scarp_check_oob(drive, tx->ppn, tx->lpn);
        if (drive->l2p[tx->lpn] == tx->ppn) {
            prepare(gc, TX_PROGRAM, tx->lpn, tx->ppn, drive->d.page_bytes);
        } else {
            step(drive, gc);
        }
        break;
    case TX_PROGRAM:
        drive->stats.gc_page_programs++;
        gc->moved += drive->l2p[tx->lpn] == tx->source_ppn;
        relocate(drive, tx->lpn, tx->source_ppn, tx->ppn);
        step(drive, gc);
        break;
    case TX_ERASE:
        finish(drive, gc, tx->plane);
        break;
    }
}
