/*
 * Host queue policies: hios-1 and hios-2 (Jung et al., "HIOS: A Host Interface
 * I/O Scheduler for Solid State Disks", ISCA 2014).
 *
 * A write whose plane must be collected is detected before its data moves. The
 * collection's work is cut into segments, a page each. Segments run in the
 * slack of the commands that are dispatched from then on, one command after the
 * other (algorithms 1 and 2). The policy brings the pacing `redistributed` with
 * it, so collections run in no other way, except those that
 * gc/pacing_redistributed.c lets run without grants. hios-2 also reorders
 * commands while no collection has work left (algorithm 3).
 *
 * Younger commands go before a command for three reasons: the command needs a
 * collection that has to wait for the next round, its dies are busy, or a
 * younger write shares the page of the dispatched write. Younger commands do so
 * only until the latest time at which the command can begin and still meet its
 * deadline. After that time only writes that share a page may still pass it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/hios/hios.h"
#include "policies.h"

#define PARKED_PARTS 64 /* retry a parked write after 1/64 of its wait so far */

/* ---- Accumulating (algorithm 1) ----------------------------------------- */

/*
 * True when the i-th command, whose slack is lacks_ns too short for its rounds,
 * should wait in the queue until the waiting commands have enough slack
 * together. The wait also ends when the queue is full, after accumulate_us, or
 * when a waiting command's slack is used up.
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
    scarp_mark_if(drive, accumulating_given_up,
                  has_ns < lacks_ns + scarp_gc_erase_ns(drive) &&
                  now_ns >= hios->accumulates_until_ns);
    if (has_ns >= lacks_ns + scarp_gc_erase_ns(drive) ||
        now_ns >= hios->accumulates_until_ns) {
        return false;
    }
    scarp_mark(drive, slack_accumulated);
    scarp_timer_set(drive, AXIS_HIL, hios->accumulates_until_ns);
    return true;
}

/* ---- Redistributing (algorithm 2) --------------------------------------- */

static void tell(ScarpDrive *drive, const ScarpCmd *cmd, uint32_t plane,
                 uint32_t segments, uint32_t erases)
{
    ScarpGcGrant grant = { .time_ns = scarp_time_ns(drive),
                           .cmd_seq = cmd->seq, .plane = plane,
                           .segments = segments, .erases = erases };

    if (drive->observer.gc_granted && segments + erases) {
        drive->observer.gc_granted(drive->observer.opaque, &grant);
    }
}

/*
 * Grants erases and page moves of the round, as many as fit into its die's
 * room_ns. The grant is reported for cmd, whose slack gives the time.
 */
static void carry(ScarpDrive *drive, const Hios *hios, const ScarpCmd *cmd,
                  const ScarpGcRound *round)
{
    uint32_t plane = round->plane, die = scarp_plane_die(drive, plane);
    int64_t erase_ns = scarp_gc_erase_ns(drive), segment_ns;
    int64_t room_ns = hios->die[die].room_ns, ns;
    uint32_t erases, n;

    if (room_ns < MIN(scarp_gc_segment_ns(drive), erase_ns)) {
        scarp_mark(drive, too_little_slack);
        scarp_gc_grant(drive, plane, 0, 0); /* earlier grants stay valid */
        return;
    }
    segment_ns = scarp_gc_segment_on_ns(drive, die);
    erases = MIN(round->erases, room_ns / erase_ns);
    ns = erases * erase_ns;
    n = erases < round->erases
            ? 0 : MIN(round->pages, (room_ns - ns) / segment_ns);
    ns += n * segment_ns;
    if (!round->erases && n == round->pages &&
        hios_is_set(drive, HIOS_ERASE_LAST)) {
        uint32_t last = scarp_gc_round_erases(drive, plane);

        erases = room_ns >= ns + last * erase_ns ? last : 0;
        scarp_mark_if(drive, erase_behind_pages, erases && n);
        ns += erases * erase_ns;
    }
    /*
     * A further plane of the die may have a round, which gets the rest of the
     * room.
     */
    hios->die[die].room_ns -= ns;
    scarp_mark_if(drive, segments_in_slack, n);
    scarp_mark_if(drive, erase_in_slack, erases);
    tell(drive, cmd, plane, n, erases);
    scarp_gc_grant(drive, plane, erases, n);
}

/*
 * Grants each round as much work as can run before the i-th command without
 * making a command miss its deadline (hios_rooms()). Rounds of different dies
 * do not share the slack, because dies work at the same time.
 */
static void redistribute(ScarpDrive *drive, Hios *hios, uint32_t i,
                         int64_t slack_ns)
{
    const ScarpCmd *cmd = hios_waiting(hios, i)->cmd;
    const ScarpGcRound *open;
    uint32_t n = cmd->op > SCARP_OP_WRITE ? 0 : scarp_gc_rounds(drive, &open);

    if (n) {
        hios_rooms(drive, hios, i, slack_ns, open, n);
    }
    for (uint32_t k = 0; k < n; k++) {
        carry(drive, hios, cmd, &open[k]);
    }
}

/* ---- The choice of the next command ------------------------------------- */

static bool may_pass(const ScarpDrive *drive, const HiosRecord *record)
{
    return scarp_time_ns(drive) < hios_latest_ns(record);
}

/*
 * Returns the index of the first command that can go before the present rounds
 * have ended: it need not wait for the end of a round, or no younger command
 * may pass it any more. Returns 0, the index of the oldest command, if the
 * queue is full, or if there is no such command.
 */
static uint32_t first_of_this_round(ScarpDrive *drive, Hios *hios)
{
    if (hios->n_waiting == drive->desc.queue) {
        return 0;
    }
    for (uint32_t i = 0; i < hios->n_waiting; i++) {
        HiosRecord *record = hios_waiting(hios, i);

        if (!may_pass(drive, record) ||
            !hios_find(drive, hios, record, HIOS_FIND_WAITS).successive) {
            return i;
        }
        scarp_mark(drive, passed_to_next_round);
        drive->stats.passed_to_next_round += !record->passed;
        record->passed = true;
    }
    scarp_mark(drive, all_need_next_round);
    return 0;
}

static uint32_t choose(ScarpDrive *drive, Hios *hios)
{
    if (scarp_gc_round(drive) != SCARP_NONE) {
        return first_of_this_round(drive, hios);
    }
    return hios->neutral ? hios_empty_channel_first(drive, hios) : 0;
}

static void classify(ScarpDrive *drive, const Hios *hios,
                     const HiosRecord *record, int64_t slack_ns)
{
    ScarpStats *stats = &drive->stats;

    scarp_mark_if(drive, negative_slack, slack_ns < 0);
    scarp_mark_if(drive, deadline_unmeetable,
                  record->deadline_ns - record->cmd->submit_ns <
                      scarp_gc_segment_ns(drive) + scarp_gc_erase_ns(drive));
    ++*(slack_ns < 0 ? &stats->negative_activities
                     : slack_ns < hios->neutral_ns
                           ? &stats->neutral_activities
                           : &stats->positive_activities);
    stats->unmeetable_deadlines +=
        record->deadline_ns - record->cmd->submit_ns <
        scarp_gc_segment_ns(drive) + scarp_gc_erase_ns(drive);
}

/*
 * Opens the rounds that the i-th command needs, and describes in *found what
 * the command then still waits for. Returns false if the command must first
 * wait until enough slack has accumulated.
 */
static bool opens_rounds(ScarpDrive *drive, Hios *hios, uint32_t i,
                         HiosFound *found)
{
    HiosRecord *record = hios_waiting(hios, i);
    int64_t slack_ns = hios_slack_ns(drive, hios, record);

    if (slack_ns < found->gc_ns &&
        accumulates(drive, hios, i, found->gc_ns - slack_ns)) {
        return false;
    }
    record->gc_ns = found->gc_ns;
    hios_find(drive, hios, record, HIOS_FIND_OPEN);
    *found = hios_find(drive, hios, record, HIOS_FIND_WAITS);
    return true;
}

/*
 * Returns the index of the command that goes next, or SCARP_NONE. Opens the
 * rounds (collections in granted pieces) that this command needs. *found says
 * what the command still waits for.
 */
static uint32_t next(ScarpDrive *drive, Hios *hios, HiosFound *found)
{
    uint32_t i = choose(drive, hios), before = SCARP_NONE;

    while (i != before) {
        const HiosRecord *record = hios_waiting(hios, i);

        *found = hios_find(drive, hios, record, HIOS_FIND_COST);
        if (!found->gc_ns) {
            break;
        }
        if (!opens_rounds(drive, hios, i, found)) {
            return SCARP_NONE;
        }
        before = i;
        if (found->stuck && may_pass(drive, record)) {
            i = first_of_this_round(drive, hios);
            scarp_mark_if(drive, others_carry_first, i != before);
        }
    }
    return i;
}

/*
 * Returns the delay until the parked i-th command is tried again. retry_ns is
 * the time of the granted work, but the command may stay parked far longer. So
 * the delay grows to about 1/PARKED_PARTS of the time for which the command has
 * been parked, and retries are few.
 */
static int64_t retry_after_ns(ScarpDrive *drive, Hios *hios, uint32_t i,
                              int64_t retry_ns)
{
    uint64_t seq = hios_waiting(hios, i)->cmd->seq;
    int64_t now_ns = scarp_time_ns(drive);

    if (hios->parked_seq != seq) {
        hios->parked_seq = seq;
        hios->parked_since_ns = now_ns;
    }
    /* The delay is doubled, as the exact fraction would have to be rounded. */
    while (retry_ns * PARKED_PARTS < now_ns - hios->parked_since_ns) {
        scarp_mark(drive, looked_at_more_rarely);
        retry_ns *= 2;
    }
    return retry_ns;
}

/*
 * Parks the i-th command: it stays in the queue while its planes have no room.
 * Returns false if the command must be dispatched instead: when the queue is
 * full, when waiting brings no room, or when its latest time to begin has come.
 */
static bool parks(ScarpDrive *drive, Hios *hios, uint32_t i)
{
    const HiosRecord *record = hios_waiting(hios, i);
    HiosFound found;

    if (hios->n_waiting == drive->desc.queue || !may_pass(drive, record)) {
        return false;
    }
    found = hios_find(drive, hios, record, HIOS_FIND_WAITS);
    if (!found.stuck || !found.retry_ns) {
        return false;
    }
    scarp_mark(drive, held_without_room);
    scarp_timer_set(drive, AXIS_HIL,
                    MIN(hios_latest_ns(record),
                        scarp_time_ns(drive) +
                            retry_after_ns(drive, hios, i, found.retry_ns)));
    return true;
}

static ScarpCmd *pick(ScarpDrive *drive, ScarpCmdQueue *waiting)
{
    HiosFound found = { 0 };
    Hios *hios = hios_of(drive);
    const HiosRecord *record;
    int64_t slack_ns;
    bool joined;
    uint32_t i;

    hios_see(drive, hios, waiting);
    joined = hios->joins != SCARP_NONE;
    i = joined ? hios_take_joined(hios) : next(drive, hios, &found);
    if (i == SCARP_NONE) {
        return NULL;
    }
    record = hios_waiting(hios, i);
    slack_ns = hios_slack_ns(drive, hios, record);
    redistribute(drive, hios, i, slack_ns);
    if (found.stuck && parks(drive, hios, i)) {
        return NULL;
    }
    classify(drive, hios, record, slack_ns - record->gc_ns);
    if (hios->neutral && hios_is_set(drive, HIOS_AGGREGATE) &&
        scarp_gc_round(drive) == SCARP_NONE) {
        hios_aggregate(drive, hios, i, joined);
    }
    return hios_dispatch(drive, hios, waiting, i);
}

/*
 * After a command's latest time to begin, only writes that join the page of the
 * dispatched write may pass it.
 */
static ScarpHilBound bound(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger G_GNUC_UNUSED)
{
    const Hios *hios = hios_of(drive);

    return (ScarpHilBound) { hios_latest_ns(&hios->record[cmd->record]),
                             drive->geo.units_per_page - 1 };
}

static void timer(ScarpDrive *drive G_GNUC_UNUSED)
{
    /*
     * The wait for slack, or the wait of a parked write, is over. The drive
     * calls pick() again.
     */
}

/* The parameters of hios-2. hios-1 has all of these except the last. */
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
    [HIOS_AGGREGATE] = { "aggregate", "switch",
                         "0: no writes are joined in a page", 0, 1,
                         1 },
};

#define HIOS_POLICY(its_name, its_help, its_source, its_params) \
    .policy = { \
        .axis = AXIS_HIL, \
        .name = its_name, \
        .needs = NEEDS_EARLY | NEEDS_NO_SLC, \
        .brings = &scarp_pacing_redistributed.policy, \
        .help = its_help, \
        .source = its_source, \
        .params = params, \
        .n_params = its_params, \
        .state_size = sizeof(Hios), \
        .init = hios_init, \
        .clear = hios_clear, \
        .timer = timer, \
    }, \
    .bound = bound, \
    .pick = pick, \
    .data_in = hios_data_in, \
    .ended = hios_ended

const ScarpHilOps scarp_hil_hios_1 = {
    HIOS_POLICY("hios-1", "collections in the slack of commands' deadlines",
                "hios-isca14 sections 4.2, 5.2", HIOS_AGGREGATE),
};

const ScarpHilOps scarp_hil_hios_2 = {
    HIOS_POLICY("hios-2", "hios-1, and empty channels first, pages aggregated",
                "hios-isca14 sections 4.3, 5.3", G_N_ELEMENTS(params)),
};
