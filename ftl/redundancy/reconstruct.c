/*
 * Reads of a drive with parity: from the page itself, or, while its die
 * collects, from the others of its stripe (TTFlash, FAST 2017,
 * GC-tolerant read).
 *
 * Reads that find a collection, and those that a collection finds waiting, are
 * looked at, once.  The page is made from the others where they can all be had
 * without waiting for another collection, and sooner than the one that is in
 * the way will end.  A write to the stripe meanwhile spoils the result, and the
 * read then waits for its die after all.  The exclusive or takes no time of its
 * own: it goes along with the transfers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "redundancy/parity.h"

#include <string.h>

/* ---- Whether it is worth it -------------------------------------- */

static int64_t move_ns(const ScarpDrive *drive)
{
    int64_t ns = drive->read_ns_of[0] + drive->program_ns_of[0] +
                 2 * (int64_t)drive->d.command_ns;

    return drive->scheme.place->copyback ? ns
                                         : ns + 2 * drive->page_transfer_ns;
}

/* Until the die's collections end, if nothing disturbs them. */
static int64_t collection_ns(const ScarpDrive *drive, uint32_t index)
{
    const ScarpDie *die = &drive->die[index];
    uint32_t n = drive->d.planes_per_die;
    int64_t ns = 0;

    for (uint32_t p = index * n; p < (index + 1) * n; p++) {
        const ScarpGc *gc = &drive->plane[p].gc;

        if (!gc->running) {
            continue;
        }
        if (gc->erasing && die->current && die->current->kind == TX_ERASE &&
            die->phase == PHASE_ARRAY) {
            ns += die->array_end_ns - drive->now_ns;
        } else if (gc->origin == SCARP_ORIGIN_GC) {
            ns += scarp_block(drive, gc->victim)->valid * move_ns(drive) +
                  (int64_t)drive->d.erase_ns;
        } else {
            ns += move_ns(drive);
        }
    }
    return ns;
}

/* Until a read that comes now would have ended. */
static int64_t read_ns(const ScarpDrive *drive, uint32_t index)
{
    const ScarpDie *die = &drive->die[index];
    int64_t one = (int64_t)drive->d.command_ns + drive->read_ns_of[0] +
                  drive->page_transfer_ns;
    int64_t busy = 0;

    if (die->current) {
        busy = die->phase == PHASE_ARRAY ? die->array_end_ns - drive->now_ns
                                         : one;
    }
    return busy + (die->n_reads + 1) * one;
}

static bool is_held(ScarpDrive *drive, uint32_t die)
{
    return drive->die[die].gc_jobs &&
           drive->scheme.pacing->turn(drive, die) != TURN_HOST;
}

static bool worth_it(ScarpDrive *drive, const ScarpTx *tx)
{
    uint32_t place, index = scarp_stripe_of(drive, tx->lpn, &place);
    int64_t limit_ns;

    if (scarp_stripe_open(drive, index)) {
        return false; /* its parity is not on flash */
    }
    limit_ns = collection_ns(drive, scarp_plane_die(drive, tx->plane));
    for (uint32_t i = 0; i < drive->parity->width; i++) {
        uint32_t lpn = scarp_stripe_lpn(drive, index, i), die;
        const void *data;

        if (i == place || scarp_stripe_known(drive, lpn, &data)) {
            continue;
        }
        die = scarp_plane_die(drive, scarp_ppn_plane(drive, drive->l2p[lpn]));
        if (is_held(drive, die) || read_ns(drive, die) >= limit_ns) {
            return false;
        }
    }
    return true;
}

/* ---- Doing it ---------------------------------------------------- */

/* Pages; NULL: zeroes. */
static bool same(const ScarpDrive *drive, const char *a, const char *b)
{
    const char *one = a ? a : b;

    if (a && b) {
        return !memcmp(a, b, drive->unit_bytes);
    }
    return !one || (!one[0] && !memcmp(one, one + 1, drive->unit_bytes - 1));
}

static void finish(ScarpDrive *drive, ScarpStripe *rebuild)
{
    ScarpTx *tx = rebuild->parent;
    uint32_t ppn = drive->l2p[tx->lpn];

    scarp_stripe_list_remove(&drive->parity->rebuilds, rebuild);
    if (rebuild->spoiled) {
        tx->direct = true;
        scarp_stripe_free(drive, rebuild);
        scarp_read_again(drive, tx);
        return;
    }
    if (drive->store_data) {
        /* The page that nobody waited for says the same. */
        drive->broken |= !same(drive, rebuild->sum,
                               scarp_store_get(drive, ppn));
    }
    drive->stats.reconstructed_reads++;
    scarp_read_serve(drive, tx, rebuild->sum);
    scarp_stripe_free(drive, rebuild);
}

static void begin(ScarpDrive *drive, ScarpTx *tx)
{
    uint32_t place, index = scarp_stripe_of(drive, tx->lpn, &place);
    ScarpStripe *rebuild = scarp_stripe_new(drive, index);

    rebuild->parent = tx;
    scarp_stripe_list_add(&drive->parity->rebuilds, rebuild);
    for (uint32_t i = 0; i < drive->parity->width; i++) {
        uint32_t lpn = scarp_stripe_lpn(drive, index, i);
        const void *data;

        if (i == place) {
            continue;
        }
        if (scarp_stripe_known(drive, lpn, &data)) {
            scarp_stripe_add(drive, rebuild, data);
        } else {
            rebuild->pending++;
            scarp_read_for_stripe(drive, rebuild, lpn, tx->bytes);
        }
    }
    if (!rebuild->pending) {
        finish(drive, rebuild);
    }
}

/* The one that ended last explains the wait: scarp_tx_explain(). */
static void take_times(ScarpTx *tx, const ScarpTx *last)
{
    for (int i = 0; i < DIE_ACTIVITY__COUNT; i++) {
        tx->waited_ns[i] += last->waited_ns[i];
    }
    for (int i = 0; i < OWN__COUNT; i++) {
        tx->own_ns[i] += last->own_ns[i];
    }
}

void scarp_rebuild_read_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpStripe *rebuild = tx->stripe;

    scarp_stripe_add(drive, rebuild, tx->sensed);
    scarp_store_release(drive, tx->sensed);
    if (!--rebuild->pending) {
        take_times(rebuild->parent, tx);
        scarp_tx_free(drive, tx);
        finish(drive, rebuild);
    } else {
        scarp_tx_free(drive, tx);
    }
}

void scarp_rebuild_spoil(ScarpDrive *drive, uint32_t index)
{
    for (ScarpStripe *s = drive->parity->rebuilds.head; s; s = s->next) {
        s->spoiled |= s->index == index;
    }
}

/* ---- The choices ------------------------------------------------- */

static bool decide(ScarpDrive *drive, ScarpTx *tx)
{
    if (tx->direct || tx->stripe ||
        !is_held(drive, scarp_plane_die(drive, tx->plane))) {
        return false;
    }
    tx->direct = true;
    if (worth_it(drive, tx)) {
        return true;
    }
    drive->stats.reconstruction_refusals++;
    return false;
}

static bool serve(ScarpDrive *drive, ScarpTx *tx)
{
    if (!decide(drive, tx)) {
        return false;
    }
    begin(drive, tx);
    return true;
}

/* What waits already would wait until the end. */
static void gc_start(ScarpDrive *drive, ScarpGc *gc)
{
    uint32_t n = drive->d.planes_per_die;
    uint32_t first = scarp_plane_die(drive, gc->plane) * n;

    for (uint32_t p = first; p < first + n; p++) {
        TxQueue *queue = &drive->plane[p].reads;
        ScarpTx **link = &queue->head;

        while (*link) {
            ScarpTx *tx = *link;

            if (decide(drive, tx)) {
                scarp_sched_dequeue(drive, queue, link);
                scarp_tx_account(drive, tx);
                begin(drive, tx);
            } else {
                link = &tx->next;
            }
        }
    }
}

const ScarpRedundancyOps scarp_redundancy_direct = {
    .policy = {
        .axis = AXIS_REDUNDANCY,
        .name = "direct",
        .help = "a page is read where it lies",
        .source = "common practice",
    },
};

const ScarpRedundancyOps scarp_redundancy_reconstruct = {
    .policy = {
        .axis = AXIS_REDUNDANCY,
        .name = "reconstruct",
        .needs = NEEDS_PARITY | NEEDS_TIME,
        .help = "a read of a die that collects is served by parity, if sooner",
        .source = "TTFlash (FAST 2017), GC-tolerant read",
    },
    .serve = serve,
    .gc_start = gc_start,
};
