/*
 * Parity: the layout of stripes, and keeping each stripe's parity up to date.
 *
 * A stripe is open from the moment a page of it is written or deallocated until
 * a parity that says so is on flash.  Meanwhile the controller's RAM, which is
 * taken to be backed by capacitors (as TTFlash's is, FAST 2017), holds the
 * exclusive or of the pages written since.  A stripe that was written as a
 * whole gets its parity at once; another waits for more until too many do
 * (ftl.parity_stripes), and then the rest of its pages is read.  Neither writes
 * nor flushes wait for it, unless there is no RAM for another stripe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "redundancy/parity.h"

#include <string.h>

static uint32_t all_data(const ScarpParity *parity)
{
    return (1u << (parity->width - 1)) - 1;
}

/* ---- Layout ------------------------------------------------------ */

static bool distinct_dies(const ScarpDrive *drive, const uint32_t *planes,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (scarp_plane_die(drive, planes[i]) ==
                scarp_plane_die(drive, planes[j])) {
                return false;
            }
        }
    }
    return true;
}

bool scarp_parity_init(ScarpDrive *drive, GError **error)
{
    uint32_t width = drive->d.parity_width;
    ScarpParity *parity;
    bool ok;

    if (!width) {
        return true;
    }
    parity = drive->parity = g_new0(ScarpParity, 1);
    parity->width = width;
    parity->groups = drive->n_planes / width;
    parity->limit = drive->d.parity_stripes;
    parity->plane_of = g_new(uint32_t, drive->n_planes);
    parity->group_of = g_new(uint32_t, drive->n_planes);
    for (uint32_t i = 0; i < drive->n_planes; i++) {
        parity->plane_of[i] = scarp_alloc_order(&drive->d, i);
        parity->group_of[parity->plane_of[i]] = i / width;
    }
    while (parity->hash_mask < MAX(parity->limit, 1024) - 1) {
        parity->hash_mask = parity->hash_mask * 2 + 1;
    }
    parity->hash = g_new0(ScarpStripe *, parity->hash_mask + 1);
    ok = drive->n_planes % width == 0;
    for (uint32_t g = 0; ok && g < parity->groups; g++) {
        ok = distinct_dies(drive, &parity->plane_of[g * width], width);
    }
    if (!ok) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "ftl.parity_width=%u: must divide the %u planes into "
                    "groups whose planes, next to each other in "
                    "ftl.allocation=%s, are of different dies", width,
                    drive->n_planes, drive->d.allocation);
    }
    return ok;
}

/* The parity's place among the planes of a group goes round, row by row. */
uint32_t scarp_parity_plane(const ScarpDrive *drive, uint32_t lpn)
{
    const ScarpParity *parity = drive->parity;
    uint32_t place, stripe = scarp_stripe_of(drive, lpn, &place);
    uint32_t group = stripe % parity->groups;
    uint32_t turn = stripe / parity->groups % parity->width;

    if (place == parity->width - 1) {
        place = turn;
    } else {
        place += place >= turn;
    }
    return parity->plane_of[group * parity->width + place];
}

uint32_t scarp_parity_lpn(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t place;

    return drive->logical_units + scarp_stripe_of(drive, lpn, &place);
}

bool scarp_parity_sibling_collects(const ScarpDrive *drive, uint32_t die)
{
    const ScarpParity *parity = drive->parity;
    uint32_t n = drive->d.planes_per_die;

    for (uint32_t p = die * n; p < (die + 1) * n; p++) {
        const uint32_t *group =
            &parity->plane_of[parity->group_of[p] * parity->width];

        for (uint32_t i = 0; i < parity->width; i++) {
            uint32_t other = scarp_plane_die(drive, group[i]);

            if (other != die && drive->die[other].gc_jobs) {
                return true;
            }
        }
    }
    return false;
}

void scarp_parity_kick_siblings(ScarpDrive *drive, uint32_t plane)
{
    const ScarpParity *parity = drive->parity;
    const uint32_t *group =
        &parity->plane_of[parity->group_of[plane] * parity->width];
    uint32_t at = 0;

    while (group[at] != plane) {
        at++;
    }
    for (uint32_t i = 1; i < parity->width; i++) {
        scarp_die_kick(drive, scarp_plane_die(drive,
                                              group[(at + i) % parity->width]));
    }
}

/* ---- Stripes in RAM ---------------------------------------------- */

ScarpStripe *scarp_stripe_new(ScarpDrive *drive, uint32_t index)
{
    ScarpStripe *stripe = drive->parity->free;

    if (stripe) {
        drive->parity->free = stripe->next;
        memset(stripe, 0, sizeof(*stripe));
    } else {
        stripe = g_new0(ScarpStripe, 1);
        g_ptr_array_add(drive->chunks, stripe);
    }
    stripe->index = index;
    return stripe;
}

void scarp_stripe_free(ScarpDrive *drive, ScarpStripe *stripe)
{
    scarp_store_release(drive, stripe->sum);
    stripe->sum = NULL;
    stripe->next = drive->parity->free;
    drive->parity->free = stripe;
}

void scarp_stripe_list_add(StripeList *list, ScarpStripe *stripe)
{
    stripe->next = NULL;
    stripe->prev = list->tail;
    *(stripe->prev ? &stripe->prev->next : &list->head) = stripe;
    list->tail = stripe;
}

void scarp_stripe_list_remove(StripeList *list, ScarpStripe *stripe)
{
    *(stripe->prev ? &stripe->prev->next : &list->head) = stripe->next;
    *(stripe->next ? &stripe->next->prev : &list->tail) = stripe->prev;
}

ScarpStripe *scarp_stripe_open(const ScarpDrive *drive, uint32_t index)
{
    const ScarpParity *parity = drive->parity;
    ScarpStripe *stripe = parity->hash[index & parity->hash_mask];

    while (stripe && stripe->index != index) {
        stripe = stripe->hash_next;
    }
    return stripe;
}

static void set_idle(ScarpParity *parity, ScarpStripe *stripe, bool idle)
{
    if (stripe->idle) {
        scarp_stripe_list_remove(&parity->idle, stripe);
        parity->n_idle--;
    }
    if (idle) {
        scarp_stripe_list_add(&parity->idle, stripe);
        parity->n_idle++;
    }
    stripe->idle = idle;
}

static void close_stripe(ScarpDrive *drive, ScarpStripe *stripe)
{
    ScarpParity *parity = drive->parity;
    ScarpStripe **link = &parity->hash[stripe->index & parity->hash_mask];

    set_idle(parity, stripe, false);
    while (*link != stripe) {
        link = &(*link)->hash_next;
    }
    *link = stripe->hash_next;
    parity->n_open--;
    scarp_stripe_free(drive, stripe);
}

static void clear_sum(ScarpDrive *drive, ScarpStripe *stripe)
{
    scarp_store_release(drive, stripe->sum);
    stripe->sum = NULL;
    stripe->have = stripe->wanted = 0;
}

void scarp_stripe_add(ScarpDrive *drive, ScarpStripe *stripe, const void *data)
{
    const uint64_t *from = data;
    uint64_t *to;

    if (!data) {
        return;
    }
    if (!stripe->sum) {
        stripe->sum = scarp_store_new(drive);
        memcpy(stripe->sum, data, drive->unit_bytes);
        return;
    }
    to = stripe->sum;
    for (uint32_t i = 0; i < drive->unit_bytes / sizeof(*to); i++) {
        to[i] ^= from[i];
    }
}

bool scarp_stripe_known(const ScarpDrive *drive, uint32_t lpn,
                        const void **data)
{
    const ScarpUnit *unit = scarp_buffer_find(drive, lpn);

    *data = NULL;
    if (unit && !unit->rmw) {
        *data = unit->data;
        return true;
    }
    return drive->l2p[lpn] == SCARP_NONE;
}

/* Nothing of it is mapped or being written: it needs no parity. */
static bool is_empty(const ScarpDrive *drive, uint32_t index)
{
    for (uint32_t i = 0; i + 1 < drive->parity->width; i++) {
        uint32_t lpn = scarp_stripe_lpn(drive, index, i);

        if (drive->l2p[lpn] != SCARP_NONE || scarp_buffer_find(drive, lpn)) {
            return false;
        }
    }
    return true;
}

/* ---- Making a parity --------------------------------------------- */

static void program(ScarpDrive *drive, ScarpStripe *stripe)
{
    uint32_t lpn = drive->logical_units + stripe->index;
    ScarpUnit *unit = scarp_unit_new(drive, lpn);
    ScarpTx *tx = scarp_tx_new(drive, TX_PROGRAM, SCARP_ORIGIN_HOST);

    set_idle(drive->parity, stripe, false);
    unit->seq = drive->next_seq++;
    unit->plane = scarp_parity_plane(drive, lpn);
    unit->data = stripe->sum;
    stripe->sum = NULL;
    stripe->have = 0;
    stripe->unit = unit;
    tx->units = unit;
    tx->n_units = 1;
    tx->bytes = drive->d.page_bytes;
    tx->plane = unit->plane;
    tx->stripe = stripe;
    scarp_tx_enqueue(drive, tx);
}

/* Something of the stripe has changed, and nothing of it is on its way. */
static bool settle(ScarpDrive *drive, ScarpStripe *stripe)
{
    if (is_empty(drive, stripe->index)) {
        scarp_map_unmap(drive, drive->logical_units + stripe->index);
        close_stripe(drive, stripe);
        return true;
    }
    if (stripe->have == all_data(drive->parity)) {
        program(drive, stripe);
        return true;
    }
    return false;
}

/* What was not written is read, unless it is known without. */
static void read_rest(ScarpDrive *drive, ScarpStripe *stripe)
{
    uint32_t missing = all_data(drive->parity) & ~stripe->have;

    set_idle(drive->parity, stripe, false);
    for (uint32_t i = 0; missing >> i; i++) {
        uint32_t lpn = scarp_stripe_lpn(drive, stripe->index, i);
        const void *data;

        if (!(missing >> i & 1)) {
            continue;
        }
        if (scarp_stripe_known(drive, lpn, &data)) {
            scarp_stripe_add(drive, stripe, data);
            stripe->have |= 1u << i;
        } else {
            stripe->wanted |= 1u << i;
            stripe->pending++;
            scarp_read_for_stripe(drive, stripe, lpn, drive->unit_bytes);
        }
    }
    if (!stripe->pending) {
        settle(drive, stripe);
    }
}

static void wait_for_more(ScarpDrive *drive, ScarpStripe *stripe)
{
    ScarpParity *parity = drive->parity;

    set_idle(parity, stripe, true);
    while (parity->n_idle > parity->limit / 2) {
        read_rest(drive, parity->idle.head);
    }
}

void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data)
{
    ScarpParity *parity = drive->parity;
    uint32_t place, index = scarp_stripe_of(drive, lpn, &place);
    ScarpStripe *stripe = scarp_stripe_open(drive, index);
    uint32_t bit = 1u << place;

    scarp_rebuild_spoil(drive, index);
    if (!stripe) {
        ScarpStripe **head = &parity->hash[index & parity->hash_mask];

        stripe = scarp_stripe_new(drive, index);
        stripe->hash_next = *head;
        *head = stripe;
        stripe->idle = false;
        parity->n_open++;
        set_idle(parity, stripe, true);
    }
    if (stripe->have & bit) {
        clear_sum(drive, stripe); /* older contents are in it */
    }
    scarp_stripe_add(drive, stripe, data);
    stripe->have |= bit;
    stripe->wanted &= ~bit;
    if (stripe->pending || stripe->unit || settle(drive, stripe)) {
        return;
    }
    wait_for_more(drive, stripe);
}

void scarp_parity_read_done(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpStripe *stripe = tx->stripe;
    uint32_t place;

    if (stripe->parent) {
        scarp_rebuild_read_done(drive, tx);
        return;
    }
    scarp_stripe_of(drive, tx->lpn, &place);
    stripe->pending--;
    if (stripe->wanted >> place & 1) {
        stripe->wanted &= ~(1u << place);
        stripe->have |= 1u << place;
        scarp_stripe_add(drive, stripe, tx->sensed);
    }
    scarp_store_release(drive, tx->sensed);
    scarp_tx_free(drive, tx);
    if (!stripe->pending && !settle(drive, stripe)) {
        read_rest(drive, stripe); /* something was written meanwhile */
    }
    scarp_buffer_admit(drive);
}

void scarp_parity_programmed(ScarpDrive *drive, ScarpTx *tx)
{
    ScarpStripe *stripe = tx->stripe;
    ScarpUnit *unit = stripe->unit;

    drive->stats.parity_page_programs++;
    scarp_block(drive, scarp_ppn_block(drive, tx->ppn))->programmed++;
    scarp_map_set_version(drive, tx->ppn, unit->seq);
    scarp_map_move(drive, unit->lpn, tx->ppn);
    scarp_store_put(drive, tx->ppn, unit->data);
    scarp_unit_free(drive, unit);
    scarp_tx_free(drive, tx);
    stripe->unit = NULL;
    if (!stripe->have) {
        close_stripe(drive, stripe);
    } else if (!settle(drive, stripe)) {
        wait_for_more(drive, stripe);
    }
    scarp_buffer_admit(drive);
}

/* ---- For the rest of the drive ----------------------------------- */

bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn)
{
    const ScarpParity *parity = drive->parity;
    uint32_t place;

    return parity->n_open >= parity->limit &&
           !scarp_stripe_open(drive, scarp_stripe_of(drive, lpn, &place));
}

const ScarpTx *scarp_parity_parent(const ScarpTx *tx)
{
    return tx->stripe->parent;
}

void scarp_parity_drain(ScarpDrive *drive)
{
    while (drive->parity->idle.head) {
        read_rest(drive, drive->parity->idle.head);
    }
}

bool scarp_parity_at_rest(const ScarpDrive *drive)
{
    return !drive->parity->n_open;
}

void scarp_parity_free(ScarpDrive *drive)
{
    ScarpParity *parity = drive->parity;

    if (!parity) {
        return;
    }
    for (uint32_t i = 0; i <= parity->hash_mask; i++) {
        for (ScarpStripe *s = parity->hash[i]; s; s = s->hash_next) {
            g_free(s->sum);
            g_free(s->unit ? s->unit->data : NULL);
        }
    }
    for (ScarpStripe *s = parity->rebuilds.head; s; s = s->next) {
        g_free(s->sum);
    }
    g_free(parity->plane_of);
    g_free(parity->group_of);
    g_free(parity->hash);
    g_free(parity);
}

/* ---- Laws -------------------------------------------------------- */

static bool broken(GError **error, const char *what, uint32_t index)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "stripe %u %s", index,
                what);
    return false;
}

static const void *newest(const ScarpDrive *drive, uint32_t lpn)
{
    const void *data;

    return scarp_stripe_known(drive, lpn, &data)
               ? data : scarp_store_get(drive, drive->l2p[lpn]);
}

/* The exclusive or of a stripe's pages, its parity included, is zero. */
static bool sums_up(const ScarpDrive *drive, uint32_t index)
{
    uint32_t words = drive->unit_bytes / sizeof(uint64_t);
    g_autofree uint64_t *sum = g_new0(uint64_t, words);

    for (uint32_t i = 0; i < drive->parity->width; i++) {
        const uint64_t *data = newest(drive,
                                      scarp_stripe_lpn(drive, index, i));

        for (uint32_t w = 0; data && w < words; w++) {
            sum[w] ^= data[w];
        }
    }
    for (uint32_t w = 0; w < words; w++) {
        if (sum[w]) {
            return false;
        }
    }
    return true;
}

bool scarp_parity_check(const ScarpDrive *drive, bool contents, GError **error)
{
    const ScarpParity *parity = drive->parity;
    uint32_t stripes = drive->mapped_units - drive->logical_units;

    for (uint32_t s = 0; s < stripes; s++) {
        bool mapped = drive->l2p[drive->logical_units + s] != SCARP_NONE;

        if (scarp_stripe_open(drive, s)) {
            continue;
        }
        if (mapped == is_empty(drive, s)) {
            return broken(error, mapped ? "is empty and has a parity"
                                        : "has no parity", s);
        }
        for (uint32_t i = 0; i < parity->width; i++) {
            uint32_t lpn = scarp_stripe_lpn(drive, s, i);

            if (drive->l2p[lpn] != SCARP_NONE &&
                scarp_ppn_plane(drive, drive->l2p[lpn]) !=
                    scarp_parity_plane(drive, lpn)) {
                return broken(error, "has left its planes", s);
            }
        }
        if (contents && drive->store_data && !sums_up(drive, s)) {
            return broken(error, "is not what its parity says", s);
        }
    }
    return true;
}
