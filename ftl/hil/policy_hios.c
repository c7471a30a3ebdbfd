/*
 * Host queue policies: hios-1 and hios-2 (Jung et al., "HIOS: A Host Interface
 * I/O Scheduler for Solid State Disks", ISCA 2014).
 *
 * A write whose plane must be collected is found before its data moves.  The
 * collection's work is cut into segments, a page each, and those are done in
 * the slack of the commands that are dispatched from then on, in their order
 * (algorithms 1 and 2).  Collections happen only so: the policy brings the
 * pacing `redistributed` with it.  hios-2 reorders besides, while there is no
 * such work (algorithm 3).
 *
 * A command is passed over for three reasons, and only until the last moment
 * at which it can begin in time: it needs a collection that has to wait for
 * the next round, its dies are busy, or another write shares the page of the
 * one that goes.  From then on it goes before all younger ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios.h"

static bool is_set(const ScarpDrive *drive, int param)
{
    return drive->scheme.param[AXIS_HIL][param];
}

/* ---- Collections that a write needs ------------------------------------- */

static bool has_round(const ScarpDrive *drive, uint32_t plane)
{
    bool erase_first;

    return scarp_gc_runs(drive, plane) &&
           (scarp_gc_round_left(drive, plane, &erase_first) || erase_first);
}

/* Another round must end before this plane's can begin. */
static bool must_wait(ScarpDrive *drive, uint32_t plane)
{
    uint32_t die = scarp_plane_die(drive, plane);
    uint32_t first = scarp_die_plane(drive, die);

    if (is_set(drive, HIOS_SERIAL)) {
        uint32_t round = scarp_gc_round(drive);

        return round != SCARP_NONE && round != plane;
    }
    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        if (p != plane && has_round(drive, p)) {
            return true;
        }
    }
    return false;
}

typedef struct {
    int64_t gc_ns;  /* what the rounds cost that it could begin */
    bool successive; /* it needs one that has to wait */
} Found;

/*
 * Looks at each plane that the write goes to.  Those that follow each other in
 * one round of all planes are all that there are.
 */
static Found find(ScarpDrive *drive, const HiosRecord *record, bool open)
{
    const ScarpCmd *cmd = record->cmd;
    uint16_t stream = hios_stream(drive, cmd);
    uint32_t last, left = drive->geo.n_planes;
    Found found = { 0, false };

    if (!hios_is_write(record) || !cmd->length_bytes) {
        return found;
    }
    last = hios_last_lpn(drive, cmd);
    for (uint32_t lpn = hios_first_lpn(drive, cmd); lpn <= last && left--;
         lpn = hios_next_page(drive, lpn)) {
        uint32_t plane = drive->scheme.alloc->plane(drive, lpn, stream);
        int64_t ns = scarp_gc_reclaim_ns(drive, plane, lpn,
                                         MIN(last + 1,
                                             hios_next_page(drive, lpn)) - lpn);

        if (!ns) {
            /* Its round has begun, and it has used up what there was. */
            found.successive |= has_round(drive, plane) &&
                                !scarp_page_possible(drive, plane,
                                                     SCARP_ORIGIN_HOST, stream);
        } else if (must_wait(drive, plane)) {
            found.successive = true;
        } else {
            found.gc_ns = is_set(drive, HIOS_SERIAL)
                              ? found.gc_ns + ns : MAX(found.gc_ns, ns);
            if (open) {
                scarp_gc_open_round(drive, plane);
            }
        }
    }
    return found;
}

/* ---- Accumulating (algorithm 1) ----------------------------------------- */

/*
 * Whether the i-th, which lacks lacks_ns, waits until others have come whose
 * slack makes up for that.  Not when the queue is full, and no longer than a
 * parameter says, nor than any command that waits can bear.
 */
static bool accumulates(ScarpDrive *drive, Hios *hios, uint32_t i,
                        int64_t lacks_ns)
{
    int64_t now_ns = scarp_time_ns(drive), has_ns = 0;
    const HiosRecord *record = hios_waiting(hios, i);

    if (hios->n_waiting == drive->desc.queue) {
        return false;
    }
    if (hios->accumulates_seq != record->cmd->seq) {
        hios->accumulates_seq = record->cmd->seq;
        hios->accumulates_until_ns =
            now_ns + (int64_t)drive->scheme.param[AXIS_HIL]
                                                 [HIOS_ACCUMULATE_US] * 1000;
    }
    for (uint32_t j = 0; j < hios->n_waiting; j++) {
        int64_t slack_ns = hios_slack_ns(drive, hios, hios_waiting(hios, j));

        if (slack_ns <= 0) {
            continue;
        }
        has_ns += j == i ? 0 : slack_ns;
        hios->accumulates_until_ns = MIN(hios->accumulates_until_ns,
                                         now_ns + slack_ns);
    }
    if (has_ns >= lacks_ns + scarp_gc_erase_ns(drive) ||
        now_ns >= hios->accumulates_until_ns) {
        return false;
    }
    scarp_timer_set(drive, AXIS_HIL, hios->accumulates_until_ns);
    return true;
}

/* ---- Redistributing (algorithm 2) --------------------------------------- */

/* The i-th carries what its slack, and that of all behind it, has room for. */
static void redistribute(ScarpDrive *drive, Hios *hios, uint32_t i,
                         int64_t slack_ns)
{
    uint32_t plane = scarp_gc_round(drive), n, left;
    int64_t segment_ns = scarp_gc_segment_ns(drive);
    int64_t erase_ns = scarp_gc_erase_ns(drive);
    bool erase, erase_first;
    int64_t room_ns, ns;

    if (plane == SCARP_NONE ||
        hios_waiting(hios, i)->cmd->op > SCARP_OP_WRITE) {
        return;
    }
    left = scarp_gc_round_left(drive, plane, &erase_first);
    room_ns = hios_room_ns(drive, hios, i, slack_ns,
                           scarp_plane_die(drive, plane));
    erase = erase_first && room_ns >= erase_ns;
    ns = erase ? erase_ns : 0;
    n = room_ns < ns || erase_first > erase
            ? 0 : MIN(left, (uint64_t)(room_ns - ns) / segment_ns);
    ns += n * segment_ns;
    if (!erase_first && n == left && is_set(drive, HIOS_ERASE_LAST) &&
        room_ns >= ns + erase_ns) {
        erase = true;
        ns += erase_ns;
    }
    drive->stats.gc_segments += n;
    drive->stats.gc_redistributed_ns += ns;
    scarp_gc_grant(drive, plane, erase, n);
}

/* ---- Which is next ------------------------------------------------------ */

static bool may_pass(const ScarpDrive *drive, const HiosRecord *record)
{
    return scarp_time_ns(drive) < hios_latest_ns(record);
}

/*
 * Those that need a round of their own wait, until the queue is full.
 * *found: what the one that is returned needs.
 */
static uint32_t first_of_this_round(ScarpDrive *drive, Hios *hios,
                                    Found *found)
{
    for (uint32_t i = 0; i < hios->n_waiting; i++) {
        HiosRecord *record = hios_waiting(hios, i);

        *found = find(drive, record, false);
        if (hios->n_waiting == drive->desc.queue || !may_pass(drive, record) ||
            !found->successive) {
            return i;
        }
        drive->stats.passed_to_next_round += !record->passed;
        record->passed = true;
    }
    *found = find(drive, hios_waiting(hios, 0), false);
    return 0;
}

static uint32_t choose(ScarpDrive *drive, Hios *hios, Found *found)
{
    uint32_t i;

    if (scarp_gc_round(drive) != SCARP_NONE) {
        return first_of_this_round(drive, hios, found);
    }
    i = hios->neutral ? hios_empty_channel_first(drive, hios) : 0;
    *found = find(drive, hios_waiting(hios, i), false);
    return i;
}

static void classify(ScarpDrive *drive, const Hios *hios,
                     const HiosRecord *record, int64_t slack_ns)
{
    ScarpStats *stats = &drive->stats;

    ++*(slack_ns < 0 ? &stats->negative_activities
                     : slack_ns < hios->neutral_ns
                           ? &stats->neutral_activities
                           : &stats->positive_activities);
    stats->unmeetable_deadlines +=
        record->deadline_ns - record->cmd->submit_ns <
        scarp_gc_segment_ns(drive) + scarp_gc_erase_ns(drive);
}

static ScarpCmd *pick(ScarpDrive *drive, ScarpCmdQueue *waiting)
{
    Hios *hios = hios_of(drive);
    Found found = { 0, false };
    const HiosRecord *record;
    int64_t slack_ns;
    bool joined;
    uint32_t i;

    hios_see(drive, hios, waiting);
    joined = hios->joins != SCARP_NONE;
    i = joined ? hios_take_joined(hios) : choose(drive, hios, &found);
    record = hios_waiting(hios, i);
    slack_ns = hios_slack_ns(drive, hios, record);
    if (found.gc_ns) {
        if (slack_ns < found.gc_ns &&
            accumulates(drive, hios, i, found.gc_ns - slack_ns)) {
            return NULL;
        }
        find(drive, record, true);
    }
    classify(drive, hios, record, slack_ns - found.gc_ns);
    redistribute(drive, hios, i, slack_ns);
    if (hios->neutral && scarp_gc_round(drive) == SCARP_NONE) {
        hios_aggregate(drive, hios, i, joined);
    }
    return hios_dispatch(drive, hios, waiting, i);
}

static void timer(ScarpDrive *drive G_GNUC_UNUSED)
{
    /* It has accumulated long enough: the drive asks again. */
}

static const ScarpParam params[] = {
    [HIOS_DEADLINE_US] = { "deadline_us", "us",
                           "from a command's arrival, if it names none", 1,
                           1000000000, 30000 },
    [HIOS_ACCUMULATE_US] = { "accumulate_us", "us",
                             "that a write waits for others' slack at most", 0,
                             1000000, 1000 },
    [HIOS_MARGIN_US] = { "margin_us", "us",
                         "of each slack that GC does not get", 0, 1000000000,
                         1000 },
    [HIOS_SERIAL] = { "serial", "switch",
                      "1: GC delays every command, as in the paper's drive", 0,
                      1, 0 },
    [HIOS_ERASE_LAST] = { "erase_last", "switch",
                          "1: the last segments' command has the erase, too", 0,
                          1, 0 },
};

#define HIOS_POLICY(its_name, its_help, its_source) \
    .policy = { \
        .axis = AXIS_HIL, \
        .name = its_name, \
        .needs = NEEDS_ANY_PAGE | NEEDS_EARLY, \
        .brings = &scarp_pacing_redistributed.policy, \
        .help = its_help, \
        .source = its_source, \
        .params = params, \
        .n_params = G_N_ELEMENTS(params), \
        .state_size = sizeof(Hios), \
        .init = hios_init, \
        .clear = hios_clear, \
        .timer = timer, \
    }, \
    .pick = pick, \
    .data_in = hios_data_in, \
    .ended = hios_ended

const ScarpHilOps scarp_hil_hios_1 = {
    HIOS_POLICY("hios-1", "collections in the slack of commands' deadlines",
                "hios-isca14 sections 4.2, 5.2"),
};

const ScarpHilOps scarp_hil_hios_2 = {
    HIOS_POLICY("hios-2", "hios-1, and empty channels first, pages aggregated",
                "hios-isca14 sections 4.3, 5.3"),
};
