/*
 * Redistributed pacing (hios-isca14 §5.2, algorithm 2): a collection does what
 * the host queue's policy grants it, page by page, and nothing else; it comes
 * with hios-1 and hios-2.
 *
 * As in the algorithm, a victim goes back unerased, and is erased before the
 * pages of the next one move.  Here it is not in the list of free blocks
 * meanwhile: its job waits for the erase.
 *
 * When no command waits nothing is granted, and nothing runs.  A plane that is
 * down to its last free block, or whose translation units have none left, no
 * longer waits: its collection runs to its end, erase and all (counted in
 * gc_forced_runs).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gc/internal.h"

#define LAST_FREE_BLOCK 1

typedef struct {
    int64_t segment_ns, erase_ns; /* what each costs, at most */
    uint32_t *ring;     /* [n_planes] planes with a round, in turn */
    uint32_t first, n;
    bool *listed;       /* [n_planes] it is in the ring */
    bool *next;         /* a victim follows the erase that was granted */
    uint32_t *pages;    /* and has been granted so many */
} Rounds;

static Rounds *rounds_of(const ScarpDrive *drive)
{
    return drive->scheme.state[AXIS_PACING];
}

/* ---- The ring ----------------------------------------------------------- */

static void list(ScarpDrive *drive, uint32_t plane)
{
    Rounds *rounds = rounds_of(drive);

    if (!rounds->listed[plane]) {
        uint32_t at = rounds->first + rounds->n++;

        rounds->listed[plane] = true;
        rounds->ring[at < drive->geo.n_planes ? at
                                              : at - drive->geo.n_planes] =
            plane;
    }
}

static uint32_t unlist_first(const ScarpDrive *drive, Rounds *rounds)
{
    uint32_t plane = rounds->ring[rounds->first];

    rounds->first = rounds->first + 1 == drive->geo.n_planes
                        ? 0 : rounds->first + 1;
    rounds->n--;
    rounds->listed[plane] = false;
    return plane;
}

/* It goes on without being granted anything. */
static bool is_released(const ScarpDrive *drive, const ScarpGcJob *job)
{
    return job->erasing || job->moves_left > drive->desc.pages_per_block;
}

static uint32_t job_pages_left(const ScarpDrive *drive, const ScarpGcJob *job)
{
    uint32_t units = scarp_block_valid(drive, job->victim) - job->units_out;
    uint32_t pages = drive->desc.pages_per_block - job->next_page;

    pages = MIN(pages, units);
    return pages > job->moves_left ? pages - job->moves_left : 0;
}

static uint32_t pages_of_next(const ScarpDrive *drive, uint32_t plane)
{
    uint32_t victim;

    return scarp_victim_least(drive, plane, &victim, 1)
               ? MIN(scarp_block_valid(drive, victim),
                     drive->desc.pages_per_block) : 0;
}

uint32_t scarp_gc_round_left(const ScarpDrive *drive, uint32_t plane,
                             bool *erase_first)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);
    const Rounds *rounds = rounds_of(drive);
    uint32_t pages;

    *erase_first = false;
    if (!job->running || job->origin != SCARP_ORIGIN_GC ||
        is_released(drive, job)) {
        return 0;
    }
    if (scarp_gc_awaits_erase(drive, job)) {
        *erase_first = rounds->next[plane];
        return *erase_first ? pages_of_next(drive, plane) : 0;
    }
    pages = job_pages_left(drive, job);
    /* What was read and waits for company takes a page, too. */
    return pages || job->pages_out || job->moves_left ? pages
                                                      : job->units_out > 0;
}

uint32_t scarp_gc_round(ScarpDrive *drive)
{
    Rounds *rounds = rounds_of(drive);

    while (rounds->n) {
        uint32_t plane = rounds->ring[rounds->first];
        bool erase_first;

        if (scarp_gc_round_left(drive, plane, &erase_first) || erase_first) {
            return plane;
        }
        unlist_first(drive, rounds);
    }
    return SCARP_NONE;
}

/* ---- What hil asks for -------------------------------------------------- */

int64_t scarp_gc_segment_ns(const ScarpDrive *drive)
{
    return rounds_of(drive)->segment_ns;
}

int64_t scarp_gc_erase_ns(const ScarpDrive *drive)
{
    return rounds_of(drive)->erase_ns;
}

bool scarp_gc_open_round(ScarpDrive *drive, uint32_t plane)
{
    Rounds *rounds = rounds_of(drive);

    if (!scarp_gc_runs(drive, plane)) {
        return scarp_gc_start(drive, plane, SCARP_ORIGIN_GC);
    }
    if (!scarp_gc_awaits_erase(drive, scarp_gc_job(drive, plane)) ||
        rounds->next[plane]) {
        return false;
    }
    rounds->next[plane] = true;
    rounds->pages[plane] = 0;
    list(drive, plane);
    return true;
}

void scarp_gc_grant(ScarpDrive *drive, uint32_t plane, bool erase,
                    uint32_t pages)
{
    Rounds *rounds = rounds_of(drive);
    ScarpGcJob *job = scarp_gc_job(drive, plane);

    if (erase) {
        job->erase_later = false;
        if (rounds->next[plane]) { /* the erase comes first */
            rounds->pages[plane] = pages;
            pages = 0;
        }
    }
    job->moves_left += pages + erase; /* an erase wants a move left */
    scarp_gc_advance(drive, job);
    if (rounds->n && rounds->ring[rounds->first] == plane) {
        unlist_first(drive, rounds);
        list(drive, plane);
    }
}

int64_t scarp_gc_granted_ns(const ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    const Rounds *rounds = rounds_of(drive);
    int64_t ns = 0;

    if (!scarp_nand_collecting(drive, die)) {
        return 0;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        const ScarpGcJob *job = scarp_gc_job(drive, p);
        uint32_t pages = 0;
        int64_t left_ns;

        if (!job->running) {
            continue;
        }
        if (!job->erasing) {
            pages = MIN(job->moves_left,
                        scarp_block_valid(drive, job->victim) - job->units_out);
        }
        ns += (pages + job->pages_out + rounds->pages[p]) *
              rounds->segment_ns;
        /* An erase that runs is what its die is busy with. */
        if (!job->erase_later && job->origin == SCARP_ORIGIN_GC &&
            !(job->erasing && scarp_nand_erasing(drive, die, &left_ns))) {
            ns += rounds->erase_ns;
        }
    }
    return ns;
}

/* ---- Pacing ------------------------------------------------------------- */

static void gc_start(ScarpDrive *drive, ScarpGcJob *job)
{
    Rounds *rounds = rounds_of(drive);

    job->moves_left = rounds->pages[job->plane];
    job->erase_later = true;
    rounds->pages[job->plane] = 0;
    list(drive, job->plane);
}

static void gc_done(ScarpDrive *drive, ScarpGcJob *job)
{
    Rounds *rounds = rounds_of(drive);
    uint32_t plane = job->plane;

    bool follows = rounds->next[plane];

    rounds->next[plane] = false;
    /* One that was released was not erased for the sake of another. */
    if (follows && job->moves_left <= drive->desc.pages_per_block &&
        scarp_gc_due(drive, plane)) {
        scarp_gc_start(drive, plane, SCARP_ORIGIN_GC);
    }
    rounds->pages[plane] = 0;
}

static void release(ScarpDrive *drive, uint32_t plane)
{
    ScarpGcJob *job = scarp_gc_job(drive, plane);

    if (!job->running && !scarp_gc_start(drive, plane, SCARP_ORIGIN_GC)) {
        return;
    }
    if (job->origin == SCARP_ORIGIN_GC && !is_released(drive, job)) {
        drive->stats.gc_forced_runs++;
        scarp_gc_allow(drive, job, UINT32_MAX);
    }
}

static void check(ScarpDrive *drive, uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);
    bool low = false;

    if (!scarp_blocks_opened(drive, die)) {
        return;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        if (scarp_plane_free_blocks(drive, p) <= LAST_FREE_BLOCK ||
            scarp_translation_due(drive, p)) {
            low = true;
            release(drive, p);
        }
    }
    if (!low) {
        scarp_blocks_clear_opened(drive, die);
    }
}

/* What was granted goes first: the slack that it is in ends. */
static ScarpTurn turn(ScarpDrive *drive, uint32_t die)
{
    return scarp_nand_queued(drive, die, QUEUE_GC) ? TURN_GC : TURN_HOST;
}

/* Idle dies collect nothing: nobody waits who could be granted it. */
static bool may_collect(const ScarpDrive *drive G_GNUC_UNUSED,
                        uint32_t die G_GNUC_UNUSED)
{
    return false;
}

static int64_t longest(const ScarpDrive *drive,
                       int64_t (*of)(const ScarpDrive *drive, uint32_t page))
{
    int64_t ns = 0;

    for (uint32_t page = 0; page < drive->desc.pages_per_block; page++) {
        ns = MAX(ns, of(drive, page));
    }
    return ns;
}

static bool init(ScarpDrive *drive, ScarpScheme *scheme,
                 GError **error G_GNUC_UNUSED)
{
    Rounds *rounds = scheme->state[AXIS_PACING];
    int64_t command_ns = drive->desc.command_ns;
    int64_t transfer_ns = scarp_nand_page_transfer_ns(drive);

    rounds->segment_ns = longest(drive, scarp_nand_read_ns) +
                               longest(drive, scarp_nand_program_ns) +
                               2 * command_ns;
    if (!scheme->place->copyback) {
        rounds->segment_ns += 2 * transfer_ns;
    }
    rounds->segment_ns = MAX(1, rounds->segment_ns);
    rounds->erase_ns = command_ns + (int64_t)drive->desc.erase_ns;
    rounds->ring = g_new0(uint32_t, drive->geo.n_planes);
    rounds->listed = g_new0(bool, drive->geo.n_planes);
    rounds->next = g_new0(bool, drive->geo.n_planes);
    rounds->pages = g_new0(uint32_t, drive->geo.n_planes);
    return true;
}

static void clear(ScarpDrive *drive G_GNUC_UNUSED, void *state)
{
    Rounds *rounds = state;

    g_free(rounds->ring);
    g_free(rounds->listed);
    g_free(rounds->next);
    g_free(rounds->pages);
}

const ScarpPacingOps scarp_pacing_redistributed = {
    .policy = {
        .axis = AXIS_PACING,
        .name = "redistributed",
        .help = "collections move pages in the slack of commands",
        .source = "hios-isca14 section 5.2, algorithm 2",
        .state_size = sizeof(Rounds),
        .init = init,
        .clear = clear,
    },
    .check = check,
    .turn = turn,
    .gc_start = gc_start,
    .gc_done = gc_done,
    .may_collect = may_collect,
};
