/*
 * Rounds of HIOS (hios-isca14 section 5.2): the rest of a plane's collection,
 * or merge, and the grants for this work.
 *
 * In algorithm 2 a victim goes back to the free blocks unerased, and is erased
 * before the pages of the next victim move. Here the victim stays out of the
 * free blocks: its job waits for the grant of the erase. A merge may have
 * several such blocks, and each erase is granted by itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/rounds.h"
#include "heat/ops.h"

static ScarpRounds *rounds_of(const ScarpDrive *drive)
{
    return drive->scheme.state[AXIS_PACING];
}

/* ---- Planes with a round ------------------------------------------------ */

static void list(ScarpDrive *drive, uint32_t plane)
{
    ScarpRounds *rounds = rounds_of(drive);

    if (!rounds->listed[plane]) {
        rounds->listed[plane] = true;
        rounds->plane[rounds->n++] = plane;
        rounds->at_die[scarp_plane_die(drive, plane)]++;
    }
}

static void unlist(ScarpDrive *drive, uint32_t k)
{
    ScarpRounds *rounds = rounds_of(drive);

    rounds->listed[rounds->plane[k]] = false;
    rounds->at_die[scarp_plane_die(drive, rounds->plane[k])]--;
    rounds->plane[k] = rounds->plane[--rounds->n];
}

bool scarp_gc_next_round(const ScarpDrive *drive, uint32_t plane)
{
    return rounds_of(drive)->next[plane];
}

bool scarp_gc_makes_room(const ScarpDrive *drive, uint32_t plane, uint32_t lpn)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);
    const ScarpRounds *rounds = rounds_of(drive);

    if (!scarp_round_is_paced(job) || rounds->lpn[plane] != lpn) {
        return false;
    }
    return rounds->next[plane]
               ? !scarp_gc_awaits_erase(drive, job)
               : scarp_merge_copies_left(drive, plane) <= job->moves_left;
}

/* Returns how many pages the job has still to move, with grants or without. */
static uint32_t pages_to_move(const ScarpDrive *drive, const ScarpGcJob *job)
{
    uint32_t valid;

    if (job->merge) {
        return scarp_merge_copies_left(drive, job->plane);
    }
    valid = scarp_block_valid(drive, job->victim);
    /*
     * The number of valid units may be smaller than units_out, because the host
     * may have overwritten units that were read.
     */
    return valid > job->units_out
               ? MIN(drive->desc.pages_per_block - job->next_page,
                     valid - job->units_out) : 0;
}

static uint32_t pages_of_next(const ScarpDrive *drive, uint32_t plane)
{
    uint32_t victim, copies, erases;

    if (scarp_map_can(drive, MAP_MERGES)) {
        return scarp_merge_plan(drive, plane, rounds_of(drive)->lpn[plane],
                                &copies, &erases) ? copies : 0;
    }
    return scarp_victim_least(drive, plane, &victim, 1)
               ? MIN(scarp_block_valid(drive, victim),
                     drive->desc.pages_per_block) : 0;
}

uint32_t scarp_gc_round_erases(const ScarpDrive *drive, uint32_t plane)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);

    return job->merge ? scarp_gc_merge_erases_left(drive, job) : 1;
}

uint32_t scarp_gc_round_left(const ScarpDrive *drive, uint32_t plane,
                             uint32_t *erases)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);
    uint32_t pages;

    *erases = 0;
    if (!scarp_round_is_paced(job)) {
        return 0;
    }
    if (scarp_gc_awaits_erase(drive, job)) {
        if (!rounds_of(drive)->next[plane]) {
            return 0;
        }
        *erases = scarp_gc_round_erases(drive, plane);
        return pages_of_next(drive, plane);
    }
    pages = pages_to_move(drive, job);
    pages -= MIN(pages, job->moves_left);
    /*
     * If units that were read wait for a full page, the program of that page
     * needs a grant, too.
     */
    return pages || job->pages_out || job->moves_left ? pages
                                                      : job->units_out > 0;
}

/* Returns how many granted pages of the plane have not moved yet. */
static uint32_t pages_granted(const ScarpDrive *drive, uint32_t plane)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);

    if (!job->running) {
        return 0;
    }
    return job->pages_out + rounds_of(drive)->pages[plane] +
           (job->erasing ? 0 : MIN(job->moves_left, pages_to_move(drive, job)));
}

/* True when the plane's job may still need a grant. */
static bool is_open(const ScarpDrive *drive, uint32_t plane)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);

    return scarp_round_is_paced(job) &&
           (!scarp_gc_awaits_erase(drive, job) ||
            rounds_of(drive)->next[plane]);
}

uint32_t scarp_gc_round(ScarpDrive *drive)
{
    ScarpRounds *rounds = rounds_of(drive);

    for (uint32_t k = 0; k < rounds->n;) {
        if (scarp_gc_has_round(drive, rounds->plane[k])) {
            return rounds->plane[k];
        }
        if (is_open(drive, rounds->plane[k])) {
            k++;
        } else {
            unlist(drive, k);
        }
    }
    return SCARP_NONE;
}

uint32_t scarp_gc_rounds(ScarpDrive *drive, const ScarpGcRound **open)
{
    ScarpRounds *rounds = rounds_of(drive);
    uint32_t n = 0;

    for (uint32_t k = 0; k < rounds->n;) {
        ScarpGcRound *round = &rounds->open[n];
        uint32_t plane = rounds->plane[k];

        if (!is_open(drive, plane)) {
            unlist(drive, k);
            continue;
        }
        round->plane = plane;
        round->pages = scarp_gc_round_left(drive, plane, &round->erases);
        n += round->pages || round->erases;
        k++;
    }
    *open = rounds->open;
    return n;
}

/* ---- Questions of hil --------------------------------------------------- */

int64_t scarp_gc_segment_ns(const ScarpDrive *drive)
{
    return rounds_of(drive)->segment_ns;
}

int64_t scarp_gc_erase_ns(const ScarpDrive *drive)
{
    return rounds_of(drive)->erase_ns;
}

/* True when a plane of the die moves pages, or may do so soon. */
static bool moves(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    uint32_t end = first;

    if (rounds_of(drive)->at_die[die]) {
        return true;
    }
    if (scarp_nand_collecting(drive, die)) {
        end += drive->desc.planes_per_die;
    }
    for (uint32_t p = first; p < end; p++) {
        if (pages_granted(drive, p)) {
            return true;
        }
    }
    return false;
}

int64_t scarp_gc_segment_on_ns(const ScarpDrive *drive, uint32_t die)
{
    const ScarpRounds *rounds = rounds_of(drive);
    uint32_t dies = drive->geo.n_dies / drive->desc.channels;
    uint32_t first = scarp_die_channel(drive, die) * dies;
    int64_t ns = rounds->segment_ns;

    for (uint32_t other = first; other < first + dies; other++) {
        if (other != die && moves(drive, other)) {
            ns += rounds->channel_ns;
        }
    }
    return ns;
}

bool scarp_round_start(ScarpDrive *drive, uint32_t plane, uint32_t lpn)
{
    rounds_of(drive)->lpn[plane] = lpn;
    if (scarp_map_can(drive, MAP_MERGES)
            ? scarp_gc_merge_start(drive, plane, lpn, SCARP_ORIGIN_GC)
            : scarp_gc_start(drive, plane, SCARP_ORIGIN_GC)) {
        return true;
    }
    rounds_of(drive)->lpn[plane] = SCARP_NONE;
    return false;
}

bool scarp_gc_open_round(ScarpDrive *drive, const ScarpGcWrite *write)
{
    ScarpRounds *rounds = rounds_of(drive);
    uint32_t plane = write->plane, lpn = scarp_gc_write_lpn(drive, write);

    if (!scarp_gc_runs(drive, plane)) {
        return scarp_round_start(drive, plane, lpn);
    }
    if (!scarp_gc_awaits_erase(drive, scarp_gc_job(drive, plane)) ||
        rounds->next[plane]) {
        return false;
    }
    rounds->next[plane] = true;
    rounds->lpn[plane] = lpn;
    rounds->pages[plane] = 0;
    list(drive, plane);
    return true;
}

/*
 * Returns a grant of pages that suffices for the rest of any victim: a block's
 * pages, and one page more, because the erase needs moves_left above 0. A grant
 * of exactly the pages left might not suffice: pages that are being read may
 * prove stale, so that further pages move instead.
 */
static uint32_t to_the_end(const ScarpDrive *drive)
{
    return drive->desc.pages_per_block + 1;
}

void scarp_gc_grant(ScarpDrive *drive, uint32_t plane, uint32_t erases,
                    uint32_t pages)
{
    ScarpGcJob *job = scarp_gc_job(drive, plane);
    ScarpRounds *rounds = rounds_of(drive);

    if (scarp_gc_awaits_erase(drive, job)) { /* the awaited erase comes first */
        scarp_mark_if(drive, erase_with_next_round, erases && pages);
        rounds->pages[plane] = pages;
        pages = 0;
    }
    rounds->granted[plane] += pages;
    drive->stats.gc_redistributed_ns += erases * rounds->erase_ns;
    if (job->merge) {
        job->erases += erases;
    } else if (erases) {
        job->erase_later = false;
        pages = to_the_end(drive) - job->moves_left;
    }
    job->moves_left += pages;
    scarp_gc_advance(drive, job);
}

/* Returns how many granted erases of the job have not begun. */
static uint32_t erases_granted(const ScarpDrive *drive, uint32_t die,
                               const ScarpGcJob *job)
{
    int64_t left_ns;
    bool waits = job->erasing && !scarp_nand_erasing(drive, die, &left_ns);

    if (job->origin != SCARP_ORIGIN_GC) {
        return 0;
    }
    if (job->merge) {
        return waits + (scarp_round_is_released(job)
                            ? scarp_gc_merge_erases_left(drive, job)
                            : job->erases);
    }
    return scarp_round_is_released(job) && (!job->erasing || waits);
}

int64_t scarp_gc_granted_ns(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    const ScarpRounds *rounds = rounds_of(drive);
    uint32_t pages = 0;
    int64_t ns = 0;

    if (!scarp_nand_collecting(drive, die)) {
        return 0;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        const ScarpGcJob *job = scarp_gc_job(drive, p);

        if (job->running) {
            pages += pages_granted(drive, p);
            ns += erases_granted(drive, die, job) * rounds->erase_ns;
        }
    }
    return pages ? ns + pages * scarp_gc_segment_on_ns(drive, die) : ns;
}

/* ---- From a victim to the next ------------------------------------------ */

void scarp_round_began(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpRounds *rounds = rounds_of(drive);

    job->moves_left = rounds->pages[job->plane];
    rounds->granted[job->plane] = job->moves_left;
    job->erase_later = true;
    rounds->pages[job->plane] = 0;
    list(drive, job->plane);
}

void scarp_round_moves(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpRounds *rounds = rounds_of(drive);

    /*
     * granted[] may be 0 here: if the host has rewritten a granted page since
     * its move began, another page moves instead (to_the_end()), and takes no
     * slack. Moves of a job that was released by force (moves_left is then
     * huge) take no slack either.
     */
    if (rounds->granted[job->plane] && job->moves_left < UINT32_MAX / 2) {
        rounds->granted[job->plane]--;
        drive->stats.gc_segments++;
        drive->stats.gc_redistributed_ns += rounds->segment_ns;
    }
}

/*
 * True when the next round of the plane, which was opened while the job waited
 * for its erase, is still needed.
 */
static bool still_wants(ScarpDrive *drive, uint32_t plane, uint32_t lpn)
{
    return scarp_gc_due(drive, plane) ||
           (lpn != SCARP_NONE && !scarp_map_page_possible(drive, plane, lpn));
}

/*
 * Clears the list of planes with a round, if no job of these planes may still
 * need a grant. So the list is empty at rest, as in a drive that starts from an
 * image.
 */
static void unlist_all(ScarpDrive *drive)
{
    ScarpRounds *rounds = rounds_of(drive);

    for (uint32_t k = 0; k < rounds->n; k++) {
        if (is_open(drive, rounds->plane[k])) {
            return;
        }
    }
    while (rounds->n) {
        unlist(drive, rounds->n - 1);
    }
}

void scarp_round_ended(ScarpDrive *drive, ScarpGcJob *job)
{
    ScarpRounds *rounds = rounds_of(drive);
    uint32_t plane = job->plane, lpn = rounds->lpn[plane];
    bool follows = rounds->next[plane];

    rounds->next[plane] = false;
    rounds->granted[plane] = 0;
    /*
     * The plane's next job may begin without a round, for example by request.
     * Such a job makes room for no LPN.
     */
    rounds->lpn[plane] = SCARP_NONE;
    /*
     * If the job was released by force (moves_left is then huge), its erase was
     * not granted as part of the next round, so no round follows.
     */
    if (follows && job->moves_left <= to_the_end(drive) &&
        still_wants(drive, plane, lpn)) {
        scarp_mark(drive, round_follows_erase);
        scarp_round_start(drive, plane, lpn);
    } else {
        scarp_mark_if(drive, round_not_wanted_any_more, follows);
    }
    rounds->pages[plane] = 0;
    unlist_all(drive);
}

/* ---- The policy's state ------------------------------------------------- */

static int64_t longest(const ScarpDrive *drive,
                       int64_t (*of)(const ScarpDrive *drive, uint32_t page))
{
    int64_t ns = 0;

    for (uint32_t page = 0; page < drive->desc.pages_per_block; page++) {
        ns = MAX(ns, of(drive, page));
    }
    return ns;
}

bool scarp_rounds_init(ScarpDrive *drive, ScarpScheme *scheme,
                       GError **error G_GNUC_UNUSED)
{
    ScarpRounds *rounds = scheme->state[AXIS_PACING];
    int64_t command_ns = drive->desc.command_ns;
    int64_t transfer_ns = scarp_nand_page_transfer_ns(drive);

    rounds->segment_ns =
        scarp_heat_longest_ns(drive, longest(drive, scarp_nand_read_ns)) +
        scarp_heat_longest_ns(drive, longest(drive, scarp_nand_program_ns)) +
        2 * command_ns;
    if (!scheme->place->copyback) {
        rounds->channel_ns = 2 * transfer_ns;
    }
    rounds->segment_ns += rounds->channel_ns;
    rounds->segment_ns = MAX(1, rounds->segment_ns);
    rounds->erase_ns =
        MAX(1, command_ns +
               scarp_heat_longest_ns(drive, drive->desc.erase_ns));
    rounds->plane = g_new0(uint32_t, drive->geo.n_planes);
    rounds->open = g_new0(ScarpGcRound, drive->geo.n_planes);
    rounds->listed = g_new0(bool, drive->geo.n_planes);
    rounds->at_die = g_new0(uint32_t, drive->geo.n_dies);
    rounds->next = g_new0(bool, drive->geo.n_planes);
    rounds->pages = g_new0(uint32_t, drive->geo.n_planes);
    rounds->granted = g_new0(uint32_t, drive->geo.n_planes);
    rounds->lpn = g_new(uint32_t, drive->geo.n_planes);
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        rounds->lpn[p] = SCARP_NONE;
    }
    return true;
}

void scarp_rounds_clear(ScarpDrive *drive G_GNUC_UNUSED, void *state)
{
    ScarpRounds *rounds = state;

    g_free(rounds->plane);
    g_free(rounds->open);
    g_free(rounds->listed);
    g_free(rounds->at_die);
    g_free(rounds->next);
    g_free(rounds->pages);
    g_free(rounds->granted);
    g_free(rounds->lpn);
}
