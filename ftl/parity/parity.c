/*
 * Keeping the parity of each stripe up to date.
 *
 * When a page of a stripe is written or deallocated, the stripe opens: its
 * parity on flash is out of date. The controller's RAM then has the exclusive
 * or of the pages written since (the sum). Capacitors are assumed to save that
 * RAM, as in TTFlash (FAST 2017). When all pages of the stripe have been
 * written, the sum is programmed as the stripe's parity, and the stripe closes.
 *
 * A stripe that is written in part waits for more writes. When too many stripes
 * wait (half of ftl.parity_stripes), the other pages of the stripe that has
 * waited longest are read instead. Writes and flushes do not wait for these
 * reads, unless there is no RAM for another stripe.
 *
 * A write of a part of a page first reads the other bytes. The stripe gets its
 * place in RAM before that read, so the write never waits for RAM after the
 * read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/internal.h"

static uint32_t all_data(const ScarpParity *parity)
{
    return (1u << (parity->width - 1)) - 1;
}

bool scarp_parity_init(ScarpDrive *drive,
                       const ScarpConfig *config G_GNUC_UNUSED, GError **error)
{
    ScarpParity *parity = &drive->parity;

    if (!drive->desc.parity_width) {
        return true;
    }
    scarp_pool_init(&parity->stripes, sizeof(ScarpStripe));
    scarp_pool_init(&parity->units, sizeof(ScarpUnit));
    scarp_flash_queue_init(&parity->served);
    scarp_flash_queue_init(&parity->spoiled);
    parity->limit = parity->most = drive->desc.parity_stripes;
    while (parity->hash_mask < MAX(parity->limit, 1024) - 1) {
        parity->hash_mask = parity->hash_mask * 2 + 1;
    }
    parity->hash = g_new0(ScarpStripe *, parity->hash_mask + 1);
    return scarp_parity_layout_init(drive, error);
}

void scarp_parity_clear(ScarpDrive *drive)
{
    ScarpParity *parity = &drive->parity;

    for (uint32_t i = 0; parity->hash && i <= parity->hash_mask; i++) {
        for (ScarpStripe *s = parity->hash[i]; s; s = s->hash_next) {
            g_free(s->sum);
            g_free(s->unit ? scarp_unit_data(s->unit) : NULL);
        }
    }
    for (ScarpStripe *s = parity->rebuilds.head; s; s = s->next) {
        g_free(s->sum);
    }
    g_free(parity->hash);
    scarp_parity_layout_clear(drive);
    scarp_pool_clear(&parity->stripes);
    scarp_pool_clear(&parity->units);
}

/* ---- Places in RAM ------------------------------------------------------ */

static ScarpStripe *reserve_place(ScarpDrive *drive, uint32_t index)
{
    ScarpParity *parity = &drive->parity;
    ScarpStripe **head = &parity->hash[index & parity->hash_mask];
    ScarpStripe *stripe = scarp_stripe_placed(drive, index);

    if (!stripe) {
        stripe = scarp_stripe_new(drive, index);
        stripe->hash_next = *head;
        *head = stripe;
        parity->n_placed++;
    }
    return stripe;
}

/*
 * Takes a stripe out of RAM. Does nothing if the stripe is open, or if a write
 * of a part of one of its pages is still reading the other bytes.
 */
static void release_place(ScarpDrive *drive, ScarpStripe *stripe)
{
    ScarpParity *parity = &drive->parity;
    ScarpStripe **link = &parity->hash[stripe->index & parity->hash_mask];

    if (stripe->open || stripe->parts) {
        return;
    }
    while (*link != stripe) {
        link = &(*link)->hash_next;
    }
    *link = stripe->hash_next;
    parity->n_placed--;
    parity->most = MAX(parity->limit, parity->n_placed);
    scarp_stripe_free(drive, stripe);
}

void scarp_parity_part_begins(ScarpDrive *drive, uint32_t lpn)
{
    uint32_t place;

    reserve_place(drive, scarp_stripe_of(drive, lpn, &place))->parts++;
}

void scarp_parity_part_ends(ScarpDrive *drive, uint32_t lpn)
{
    uint32_t place, index = scarp_stripe_of(drive, lpn, &place);
    ScarpStripe *stripe = scarp_stripe_placed(drive, index);

    stripe->parts--;
    release_place(drive, stripe);
}

/* ---- Open stripes ------------------------------------------------------- */

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

static ScarpStripe *open_stripe(ScarpDrive *drive, uint32_t index)
{
    ScarpStripe *stripe = reserve_place(drive, index);

    stripe->open = true;
    drive->parity.n_open++;
    set_idle(&drive->parity, stripe, true);
    return stripe;
}

static void clear_sum(ScarpDrive *drive, ScarpStripe *stripe)
{
    scarp_contents_release(drive, stripe->sum);
    stripe->sum = NULL;
    stripe->have = stripe->wanted = 0;
}

static void close_stripe(ScarpDrive *drive, ScarpStripe *stripe)
{
    set_idle(&drive->parity, stripe, false);
    clear_sum(drive, stripe);
    stripe->open = false;
    drive->parity.n_open--;
    scarp_mark_if(drive, stripe_keeps_place, stripe->parts);
    release_place(drive, stripe);
}

/* ---- Making a parity ---------------------------------------------------- */

static void program(ScarpDrive *drive, ScarpStripe *stripe)
{
    uint32_t lpn = drive->geo.logical_units + stripe->index;
    uint32_t plane = scarp_parity_plane(drive, lpn);
    ScarpUnit *unit = scarp_pool_take(&drive->parity.units);
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_PROGRAM,
                                         OWNER_PARITY, SCARP_ORIGIN_PARITY);

    set_idle(&drive->parity, stripe, false);
    scarp_unit_init(unit, lpn);
    scarp_unit_set_seq(unit, scarp_next_seq(drive));
    scarp_unit_set_plane(unit, plane);
    scarp_unit_set_data(unit, stripe->sum);
    stripe->sum = NULL;
    stripe->have = 0;
    stripe->unit = unit;
    scarp_flash_set_subject(cmd, stripe);
    scarp_flash_set_units(cmd, unit, 1);
    scarp_flash_set_target(cmd, plane, 0, drive->desc.page_bytes);
    scarp_nand_enqueue(drive, cmd);
}

/*
 * Finishes a stripe if no page need be read: programs its parity if the sum has
 * all pages, or closes it if all its pages are unmapped. Returns false if pages
 * are missing in the sum. No read or program of the stripe may be under way.
 */
static bool settle(ScarpDrive *drive, ScarpStripe *stripe)
{
    if (scarp_stripe_is_empty(drive, stripe->index)) {
        scarp_mark(drive, stripe_emptied);
        scarp_map_unmap(drive, drive->geo.logical_units + stripe->index);
        close_stripe(drive, stripe);
        return true;
    }
    if (stripe->have == all_data(&drive->parity)) {
        program(drive, stripe);
        return true;
    }
    return false;
}

/*
 * Completes the sum with the pages that the host has not written. Pages in RAM
 * are added at once, and all others are read from flash.
 */
static void read_rest(ScarpDrive *drive, ScarpStripe *stripe)
{
    uint32_t missing = all_data(&drive->parity) & ~stripe->have;

    set_idle(&drive->parity, stripe, false);
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
            scarp_stripe_read(drive, stripe, lpn, drive->geo.unit_bytes);
        }
    }
    if (!stripe->pending) {
        settle(drive, stripe);
    }
}

static void wait_for_more(ScarpDrive *drive, ScarpStripe *stripe)
{
    ScarpParity *parity = &drive->parity;

    set_idle(parity, stripe, true);
    while (parity->n_idle > parity->limit / 2) {
        scarp_mark(drive, stripe_pushed_out);
        read_rest(drive, parity->idle.head);
    }
}

void scarp_parity_changed(ScarpDrive *drive, uint32_t lpn, const void *data)
{
    uint32_t place, index = scarp_stripe_of(drive, lpn, &place);
    ScarpStripe *stripe = scarp_stripe_open(drive, index);
    uint32_t bit = 1u << place;

    scarp_rebuild_spoil(drive, index);
    if (!stripe) {
        stripe = open_stripe(drive, index);
    }
    if (stripe->have & bit) {
        scarp_mark(drive, stripe_changed_again);
        clear_sum(drive, stripe); /* the sum contains the page's older data */
    }
    scarp_stripe_add(drive, stripe, data);
    stripe->have |= bit;
    stripe->wanted &= ~bit;
    if (stripe->pending || stripe->unit || settle(drive, stripe)) {
        return;
    }
    wait_for_more(drive, stripe);
}

static void read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpStripe *stripe = scarp_flash_subject(cmd);
    uint32_t place;

    scarp_stripe_of(drive, scarp_flash_lpn(cmd), &place);
    stripe->pending--;
    scarp_mark_if(drive, page_written_while_read,
                  !(stripe->wanted >> place & 1));
    if (stripe->wanted >> place & 1) {
        stripe->wanted &= ~(1u << place);
        stripe->have |= 1u << place;
        scarp_stripe_add(drive, stripe, scarp_flash_data(cmd));
    }
    scarp_contents_release(drive, scarp_flash_data(cmd));
    scarp_flash_free(drive, cmd);
    if (!stripe->pending && !settle(drive, stripe)) {
        scarp_mark(drive, stripe_read_again);
        /* a page was written again meanwhile, so the sum began anew */
        read_rest(drive, stripe);
    }
}

bool scarp_parity_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    const ScarpStripe *stripe = scarp_flash_subject(cmd);

    if (stripe->parent) {
        scarp_rebuild_read_ended(drive, cmd);
        return false;
    }
    read_ended(drive, cmd);
    return true;
}

void scarp_parity_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd)
{
    ScarpStripe *stripe = scarp_flash_subject(cmd);
    ScarpUnit *unit = stripe->unit;
    uint32_t ppn = scarp_flash_ppn(cmd);

    drive->stats.parity_page_programs++;
    scarp_media_pages_programmed(drive, ppn, 1);
    scarp_media_set_version(drive, ppn, scarp_unit_seq(unit));
    scarp_map_move(drive, scarp_unit_lpn(unit), ppn);
    scarp_contents_put(drive, ppn, scarp_unit_data(unit));
    scarp_pool_give(&drive->parity.units, unit);
    scarp_flash_free(drive, cmd);
    stripe->unit = NULL;
    scarp_mark_if(drive, changed_while_parity_programmed, stripe->have);
    if (!stripe->have) {
        close_stripe(drive, stripe);
    } else if (!settle(drive, stripe)) {
        wait_for_more(drive, stripe);
    }
}

/* ---- A power cut -------------------------------------------------------- */

void scarp_parity_save(ScarpDrive *drive)
{
    const ScarpParity *parity = &drive->parity;

    for (uint32_t i = 0; i <= parity->hash_mask; i++) {
        for (const ScarpStripe *s = parity->hash[i]; s; s = s->hash_next) {
            if (s->open) {
                scarp_media_save_stripe(drive, s->index);
            }
        }
    }
}

void scarp_parity_restore(ScarpDrive *drive)
{
    g_autoptr(GArray) stripes = scarp_media_take_stripes(drive);

    for (guint i = 0; stripes && i < stripes->len; i++) {
        uint32_t index = g_array_index(stripes, uint32_t, i);
        ScarpStripe *stripe = scarp_stripe_open(drive, index);

        if (!stripe) {
            wait_for_more(drive, open_stripe(drive, index));
        }
    }
    /*
     * More stripes than the limit may be open now: the saved write buffer may
     * have units of any number of stripes, and all must be restored. Writes
     * that need another stripe wait until fewer stripes than the limit have a
     * place in RAM.
     */
    drive->parity.most = MAX(drive->parity.limit, drive->parity.n_placed);
}

/* ---- Questions of other directories of ftl/ ----------------------------- */

bool scarp_parity_full(const ScarpDrive *drive, uint32_t lpn)
{
    uint32_t place;

    return drive->parity.n_placed >= drive->parity.limit &&
           !scarp_stripe_placed(drive, scarp_stripe_of(drive, lpn, &place));
}

void scarp_parity_drain(ScarpDrive *drive)
{
    while (drive->parity.idle.head) {
        read_rest(drive, drive->parity.idle.head);
    }
}

bool scarp_parity_at_rest(const ScarpDrive *drive)
{
    return !drive->parity.n_open;
}
