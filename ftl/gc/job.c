/*
 * Collecting one victim: relocation page by page, then the erase.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

#define LOOK_AHEAD 48 /* units */
#define FETCHED_UNITS 4

void scarp_gc_report(ScarpDrive *drive, const ScarpGc *gc)
{
    /* Ahead of time no victim is collected: pages moved, that is all. */
    if (drive->observer.gc_done && gc->origin == SCARP_ORIGIN_GC) {
        ScarpGcRun run = {
            .begin_ns = gc->begin_ns, .end_ns = drive->now_ns,
            .die = scarp_plane_die(drive, gc->plane), .plane = gc->plane,
            .victim_block = gc->victim % drive->d.blocks_per_plane,
            .moved_units = gc->moved, .origin = gc->origin,
        };

        drive->observer.gc_done(drive->observer.opaque, &run);
    }
}

/* ---- Packing relocated units ------------------------------------------ */

static void emit(ScarpDrive *drive, uint32_t p)
{
    ScarpPacker *packer = &drive->plane[p].gc_packer;
    ScarpTx *tx = scarp_tx_new(drive, TX_PROGRAM, SCARP_ORIGIN_GC);

    tx->units = packer->head;
    tx->n_units = packer->n;
    tx->bytes = drive->d.page_bytes;
    tx->plane = p;
    tx->gc = tx->units->gc;
    for (ScarpUnit *unit = tx->units; unit; unit = unit->next) {
        /* A page may carry units of several victims: each counts it. */
        unit->gc->pages_out++;
    }
    drive->plane[p].incoming += packer->n;
    drive->stats.padded_units += drive->units_per_page - packer->n;
    packer->n = 0;
    packer->head = NULL;
    scarp_tx_enqueue(drive, tx);
}

static void stage(ScarpDrive *drive, ScarpGc *gc, ScarpUnit *unit)
{
    uint32_t p = drive->scheme.place->plane
                     ? drive->scheme.place->plane(drive, gc, unit->lpn)
                     : gc->plane;

    unit->plane = p;
    scarp_packer_push(&drive->plane[p].gc_packer, unit);
    if (drive->plane[p].gc_packer.n == drive->units_per_page) {
        emit(drive, p);
    }
}

/* Units of gc that wait elsewhere for company come back to its plane. */
static void call_back(ScarpDrive *drive, ScarpGc *gc, uint32_t p)
{
    ScarpPacker *packer = &drive->plane[p].gc_packer;
    ScarpUnit **link = &packer->head;

    while (packer->n && *link) {
        ScarpUnit *unit = *link;

        if (unit->gc != gc) {
            link = &unit->next;
            continue;
        }
        *link = unit->next;
        packer->n--;
        unit->plane = gc->plane;
        drive->stats.gc_fallback_units++;
        scarp_packer_push(&drive->plane[gc->plane].gc_packer, unit);
        if (drive->plane[gc->plane].gc_packer.n == drive->units_per_page) {
            emit(drive, gc->plane);
        }
    }
    if (packer->n) {
        packer->tail = link;
    }
}

/*
 * What of gc waits for company goes now: together, in its own plane.  A page
 * in every plane, most of it empty, could cost more than the victim yields.
 */
static void close_packers(ScarpDrive *drive, ScarpGc *gc)
{
    for (uint32_t p = 0; drive->scheme.place->plane && p < drive->n_planes;
         p++) {
        if (p != gc->plane) {
            call_back(drive, gc, p);
        }
    }
    for (ScarpUnit *unit = drive->plane[gc->plane].gc_packer.head;
         drive->plane[gc->plane].gc_packer.n && unit; unit = unit->next) {
        if (unit->gc == gc) {
            emit(drive, gc->plane);
            break;
        }
    }
}

/* ---- Steps ------------------------------------------------------------ */

static void drop(ScarpDrive *drive, ScarpGc *gc, ScarpUnit *unit)
{
    gc->units_out--;
    scarp_unit_free(drive, unit);
}

/*
 * The victim's unit at ppn, whose LPN its spare area holds.  Where that is in
 * the forward map will be written when the copy has been, and it may be
 * anywhere.  Several are fetched together: the processor can wait for them at
 * once.  So that it need not wait for the reverse map before, a line of that
 * is copied while it is at hand.
 */
static uint32_t victim_lpn(ScarpDrive *drive, ScarpGc *gc, uint32_t ppn)
{
    if (ppn >= gc->line_end) {
        uint32_t first = ppn / SCARP_GC_LINE * SCARP_GC_LINE;

        memcpy(gc->line, &drive->p2l[first], sizeof(gc->line));
        gc->line_end = first + SCARP_GC_LINE;
        __builtin_prefetch(&drive->p2l[first] + LOOK_AHEAD);
    }
    if (ppn >= gc->fetched_end) {
        uint32_t end = (gc->victim + 1) * drive->units_per_block;
        uint32_t n = MIN(FETCHED_UNITS, MIN(gc->line_end, end) - ppn);
        uint64_t valid = scarp_map_valid_bits(drive, ppn, n);

        for (uint32_t i = 0; i < n; i++) {
            uint32_t lpn = gc->line[(ppn + i) % SCARP_GC_LINE];

            if (valid >> i & 1) {
                __builtin_prefetch(&drive->l2p[lpn], 1);
            }
        }
        gc->fetched_end = ppn + n;
    }
    return gc->line[ppn % SCARP_GC_LINE];
}

/* Reads the valid units of one page; false: it has none. */
static bool read_page(ScarpDrive *drive, ScarpGc *gc, uint32_t page)
{
    uint32_t first = gc->victim * drive->units_per_block +
                     page * drive->units_per_page;
    ScarpUnit *units = NULL, **tail = &units;
    uint32_t n = 0;
    uint64_t valid;
    bool copyback;
    ScarpTx *tx;

    valid = scarp_map_valid_bits(drive, first, drive->units_per_page);
    for (uint32_t i = 0; i < drive->units_per_page; i++) {
        if (valid >> i & 1) {
            ScarpUnit *unit =
                scarp_unit_new(drive, victim_lpn(drive, gc, first + i));

            unit->gc = gc;
            unit->source_ppn = first + i;
            *tail = unit;
            tail = &unit->next;
            n++;
        }
    }
    if (!n) {
        return false;
    }
    /* The whole page register is programmed: stale units would come along. */
    copyback = drive->scheme.place->copyback && n == drive->units_per_page;
    tx = scarp_tx_new(drive, copyback ? TX_COPYBACK : TX_READ, gc->origin);
    tx->gc = gc;
    tx->units = units;
    tx->n_units = n;
    tx->plane = gc->plane;
    tx->ppn = first;
    tx->bytes = n * drive->unit_bytes;
    gc->units_out += n;
    gc->pages_out++;
    scarp_tx_enqueue(drive, tx);
    return true;
}

static void erase(ScarpDrive *drive, ScarpGc *gc)
{
    ScarpTx *tx = scarp_tx_new(drive, TX_ERASE, gc->origin);

    tx->gc = gc;
    tx->plane = gc->plane;
    tx->block = gc->victim;
    tx->ppn = gc->victim * drive->units_per_block;
    gc->erasing = true;
    scarp_tx_enqueue(drive, tx);
}

static void finish(ScarpDrive *drive, ScarpGc *gc)
{
    ScarpDie *die = &drive->die[scarp_plane_die(drive, gc->plane)];

    gc->running = false;
    die->gc_jobs--;
    if (gc->begun) {
        gc->begun = false;
        drive->stats.gc_busy_ns += drive->now_ns - gc->begin_ns;
        if (!--die->gc_begun) {
            drive->stats.gc_window_ns += (drive->now_ns - die->window_ns) *
                                         drive->d.planes_per_die;
        }
    }
    scarp_gc_report(drive, gc);
    if (drive->scheme.pacing->gc_done) {
        drive->scheme.pacing->gc_done(drive, gc);
    }
    scarp_die_kick(drive, scarp_plane_die(drive, gc->plane));
}

void scarp_gc_advance(ScarpDrive *drive, ScarpGc *gc)
{
    uint32_t window = drive->scheme.place->window;

    if (!gc->running || gc->erasing) {
        return;
    }
    while (gc->pages_out < window && gc->moves_left &&
           gc->next_page < drive->d.pages_per_block &&
           scarp_block(drive, gc->victim)->valid > gc->units_out) {
        if (read_page(drive, gc, gc->next_page++)) {
            gc->moves_left--;
        }
    }
    if (gc->pages_out) {
        return;
    }
    if (gc->units_out) {
        /* The next step's units may fill the page that this one's began. */
        if (gc->moves_left || gc->origin == SCARP_ORIGIN_PREMIGRATE ||
            scarp_block(drive, gc->victim)->valid <= gc->units_out) {
            close_packers(drive, gc);
        }
    } else if (gc->origin == SCARP_ORIGIN_PREMIGRATE) {
        scarp_block_put_back(drive, gc->victim);
        finish(drive, gc);
    } else if (gc->moves_left) {
        erase(drive, gc);
    }
}

static void start(ScarpDrive *drive, uint32_t p, uint32_t victim,
                  ScarpOrigin origin, bool levelling)
{
    ScarpGc *gc = &drive->plane[p].gc;

    scarp_block_take(drive, victim);
    memset(gc, 0, sizeof(*gc));
    gc->origin = origin;
    gc->running = true;
    gc->levelling = levelling;
    gc->plane = p;
    gc->victim = victim;
    /* Ahead of time, a page at a step; a pacing policy may allow less. */
    gc->moves_left = origin == SCARP_ORIGIN_PREMIGRATE ? 1 : UINT32_MAX;
    drive->die[scarp_plane_die(drive, p)].gc_jobs++;
    drive->stats.wear_runs += levelling;
    if (drive->scheme.place->gc_start) {
        drive->scheme.place->gc_start(drive, gc);
    }
    if (drive->scheme.pacing->gc_start && origin == SCARP_ORIGIN_GC) {
        drive->scheme.pacing->gc_start(drive, gc);
    }
    if (drive->scheme.redundancy->gc_start) {
        drive->scheme.redundancy->gc_start(drive, gc);
    }
    scarp_gc_advance(drive, gc);
}

bool scarp_gc_start(ScarpDrive *drive, uint32_t p, ScarpOrigin origin)
{
    bool levelling = false;
    uint32_t victim;

    if (drive->plane[p].gc.running) {
        return false;
    }
    victim = scarp_gc_choose_victim(drive, p, &levelling);
    if (victim == SCARP_NONE) {
        return false;
    }
    start(drive, p, victim, origin, levelling);
    return true;
}

void scarp_gc_premigrate(ScarpDrive *drive, uint32_t p, uint32_t victim)
{
    start(drive, p, victim, SCARP_ORIGIN_PREMIGRATE, false);
}

void scarp_gc_tx_started(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpGc *gc = tx->gc;
    ScarpDie *die = &drive->die[scarp_plane_die(drive, gc->plane)];

    if (!gc->begun) {
        gc->begun = true;
        gc->begin_ns = drive->now_ns;
        if (!die->gc_begun++) {
            die->window_ns = drive->now_ns;
        }
    }
    if (tx->kind == TX_PROGRAM || tx->kind == TX_COPYBACK) {
        tx->ppn = scarp_alloc_for(drive, tx);
    }
}

static void read_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpUnit *unit = tx->units;
    ScarpGc *gc = tx->gc;

    drive->stats.gc_page_reads++;
    gc->pages_out--;
    while (unit) {
        ScarpUnit *next = unit->next;

        scarp_check_oob(drive, unit->source_ppn, unit->lpn);
        if (scarp_map_valid(drive, unit->source_ppn)) {
            stage(drive, gc, unit);
        } else {
            drop(drive, gc, unit);
        }
        unit = next;
    }
}

/* Units of several victims may share a page: every one of them goes on. */
static void program_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpUnit *unit = tx->units;
    uint32_t ppn = tx->ppn;
    ScarpGc *last = NULL;

    drive->stats.gc_page_programs++;
    drive->stats.copybacks += tx->kind == TX_COPYBACK;
    if (tx->kind == TX_PROGRAM) {
        drive->plane[tx->plane].incoming -= tx->n_units;
    }
    scarp_block(drive, scarp_ppn_block(drive, ppn))->programmed++;
    while (unit) {
        ScarpUnit *next = unit->next;
        ScarpGc *gc = unit->gc;

        if (tx->kind == TX_COPYBACK) {
            scarp_check_oob(drive, unit->source_ppn, unit->lpn);
        }
        if (scarp_map_relocate(drive, unit->lpn, unit->source_ppn, ppn)) {
            gc->moved++;
            *(gc->origin == SCARP_ORIGIN_GC ? &drive->stats.gc_moved_units
                                            : &drive->stats.premigrated_units)
                += 1;
        }
        if (tx->kind == TX_PROGRAM) {
            gc->pages_out--;
        }
        drop(drive, gc, unit);
        if (last && last != gc) {
            scarp_gc_advance(drive, last);
        }
        last = gc;
        unit = next;
        ppn++;
    }
    if (tx->kind == TX_COPYBACK) {
        last->pages_out--;
    }
    scarp_gc_advance(drive, last);
}

void scarp_gc_tx_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpGc *gc = tx->gc;

    switch (tx->kind) {
    case TX_READ:
        read_done(drive, tx);
        scarp_gc_advance(drive, gc);
        break;
    case TX_PROGRAM:
    case TX_COPYBACK:
        program_done(drive, tx);
        break;
    case TX_ERASE:
        drive->stats.gc_runs++;
        scarp_block_erase(drive, tx->block);
        finish(drive, gc);
        break;
    }
    scarp_tx_free(drive, tx);
}
