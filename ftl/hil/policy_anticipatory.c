/*
 * Host queue policy: anticipatory (hios-isca14 §6.1, after Linux's old
 * as-iosched and its defaults).
 *
 * Commands go by ascending address, reads and writes in batches of limited
 * time. When a read has ended and no waiting read begins near its end, the
 * policy dispatches nothing for a while (antic_us), as the host may be about to
 * read the next addresses. It does not wait in three cases: a command is late;
 * the host's mean time to the next read is longer than antic_us; or a waiting
 * read is as near as the host's next read is on average.
 *
 * A late command goes before the others of its kind, the oldest first. So
 * younger commands go before a read for at most read_expire_us, plus a batch of
 * writes, plus one wait; before a write, for at most write_expire_us, plus a
 * batch of reads, plus one wait. After that time only older commands do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/ops.h"

enum { WAIT_US, NEAR_KIB, READ_US, WRITE_US, READ_BATCH_US, WRITE_BATCH_US };
enum { READING, WRITING };

typedef struct {
    uint64_t next_byte[2];   /* end of the last command of each kind */
    int64_t batch_ns;        /* when the batch began */
    int kind;                /* kind of the batch */
    bool ended;              /* a read has ended, and no read came after it */
    uint64_t end_byte;       /* end address of that read */
    int64_t end_ns;
    int64_t wait_until_ns;   /* the end of the wait for the next read */
    int64_t think_ns;        /* mean time from a read's end to the next read */
    int64_t seek_bytes;      /* mean distance from a read's end to the next */
} Anticipatory;

typedef struct {
    ScarpCmd *oldest, *lowest;
    ScarpCmd *next; /* the lowest address from next_byte on */
} Seen;

static int64_t param_ns(const ScarpDrive *drive, int param)
{
    return drive->scheme.param[AXIS_HIL][param] * 1000;
}

static int64_t distance(const Anticipatory *state, const ScarpCmd *cmd)
{
    return ABS((int64_t)(cmd->offset_bytes - state->end_byte));
}

/*
 * Fills in seen[], and sets *near to the waiting read that is nearest to the
 * end of the last read. Returns a flush if one waits, else NULL.
 */
static ScarpCmd *look(const ScarpDrive *drive, const Anticipatory *state,
                      const ScarpCmdQueue *waiting, Seen seen[2],
                      ScarpCmd **near)
{
    uint64_t n = drive->desc.queue;

    for (ScarpCmd *cmd = scarp_cmd_first(waiting); cmd && n--;
         cmd = cmd->next) {
        int kind = cmd->op == SCARP_OP_READ ? READING : WRITING;
        Seen *s = &seen[kind];

        if (cmd->op == SCARP_OP_FLUSH) {
            return cmd;
        }
        s->oldest = s->oldest ? s->oldest : cmd;
        if (!s->lowest || cmd->offset_bytes < s->lowest->offset_bytes) {
            s->lowest = cmd;
        }
        if (cmd->offset_bytes >= state->next_byte[kind] &&
            (!s->next || cmd->offset_bytes < s->next->offset_bytes)) {
            s->next = cmd;
        }
        if (kind == READING &&
            (!*near || distance(state, cmd) < distance(state, *near))) {
            *near = cmd;
        }
    }
    return NULL;
}

static bool late(const ScarpDrive *drive, const ScarpCmd *cmd)
{
    int kind = cmd && cmd->op == SCARP_OP_READ ? READ_US : WRITE_US;

    return cmd && scarp_time_ns(drive) >=
                      MIN(cmd->deadline_ns,
                          cmd->submit_ns + param_ns(drive, kind));
}

/*
 * Once cmd is late, no younger command of its kind passes it: the oldest of the
 * kind is then late, too, and goes first. Commands of the other kind are not
 * bounded, because their batches end by time, not by number.
 */
static ScarpHilBound bound(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger)
{
    int kind = cmd->op == SCARP_OP_READ ? READ_US : WRITE_US;

    return (ScarpHilBound) {
        (cmd->op == SCARP_OP_READ) == (younger->op == SCARP_OP_READ)
            ? cmd->submit_ns + param_ns(drive, kind) : SCARP_TIME_NEVER,
        0,
    };
}

/*
 * Goes on with the current batch of reads or writes, or begins a batch of the
 * other kind.
 */
static void turn(const ScarpDrive *drive, Anticipatory *state,
                 const Seen seen[2])
{
    int64_t lasts_ns = param_ns(drive, state->kind == READING
                                           ? READ_BATCH_US : WRITE_BATCH_US);

    if (!seen[state->kind].oldest ||
        (seen[!state->kind].oldest &&
         scarp_time_ns(drive) >= state->batch_ns + lasts_ns)) {
        state->kind = !state->kind;
        state->batch_ns = scarp_time_ns(drive);
    }
}

/*
 * True when cmd should wait, because the host's next read may be nearer to the
 * last read.
 */
static bool waits(const ScarpDrive *drive, const Anticipatory *state,
                  const Seen seen[2], const ScarpCmd *cmd)
{
    return scarp_time_ns(drive) < state->wait_until_ns &&
           !late(drive, seen[READING].oldest) &&
           !late(drive, seen[WRITING].oldest) &&
           (cmd->op != SCARP_OP_READ ||
            distance(state, cmd) > state->seek_bytes);
}

static ScarpCmd *choose(const ScarpDrive *drive, Anticipatory *state,
                        const Seen seen[2], ScarpCmd *near)
{
    int64_t near_bytes = drive->scheme.param[AXIS_HIL][NEAR_KIB] * 1024;
    const Seen *s;

    turn(drive, state, seen);
    s = &seen[state->kind];
    if (late(drive, s->oldest)) {
        scarp_mark(drive, late_while_anticipating);
        return s->oldest;
    }
    if (near && scarp_time_ns(drive) < state->wait_until_ns &&
        distance(state, near) <= near_bytes && state->kind == READING) {
        scarp_mark(drive, anticipation_right);
        return near; /* the read that was waited for */
    }
    return s->next ? s->next : s->lowest;
}

static ScarpCmd *pick(ScarpDrive *drive, ScarpCmdQueue *waiting)
{
    Anticipatory *state = drive->scheme.state[AXIS_HIL];
    int64_t near_bytes = drive->scheme.param[AXIS_HIL][NEAR_KIB] * 1024;
    Seen seen[2] = { { NULL, NULL, NULL }, { NULL, NULL, NULL } };
    const Anticipatory before = *state;
    ScarpCmd *near = NULL;
    ScarpCmd *cmd = look(drive, state, waiting, seen, &near);

    if (cmd) {
        return scarp_cmd_take(waiting, cmd);
    }
    cmd = choose(drive, state, seen, near);
    if ((!near || distance(state, near) > near_bytes) &&
        waits(drive, state, seen, cmd)) {
        scarp_mark(drive, anticipated);
        *state = before; /* undoes choose(): no batch began */
        scarp_timer_set(drive, AXIS_HIL, state->wait_until_ns);
        return NULL;
    }
    state->wait_until_ns = INT64_MIN / 2; /* no wait */
    state->next_byte[state->kind] = cmd->offset_bytes + cmd->length_bytes;
    return scarp_cmd_take(waiting, cmd);
}

/* Updates a moving mean, in which the new sample has the weight 1/8. */
static void add(int64_t *mean, int64_t sample)
{
    *mean += (sample - *mean) / 8;
}

static void arrived(ScarpDrive *drive, const ScarpCmd *cmd)
{
    Anticipatory *state = drive->scheme.state[AXIS_HIL];
    int64_t wait_ns = param_ns(drive, WAIT_US);

    if (cmd->op == SCARP_OP_READ && state->ended) {
        state->ended = false;
        /*
         * A sample above 16 * wait_ns counts as 16 * wait_ns, so that one long
         * pause of the host does not spoil the mean for long.
         */
        add(&state->think_ns, MIN(scarp_time_ns(drive) - state->end_ns,
                                  16 * wait_ns));
        add(&state->seek_bytes, distance(state, cmd));
    }
}

static void ended(ScarpDrive *drive, const ScarpCmd *cmd)
{
    Anticipatory *state = drive->scheme.state[AXIS_HIL];
    int64_t wait_ns = param_ns(drive, WAIT_US);

    if (cmd->op != SCARP_OP_READ) {
        return;
    }
    state->ended = true;
    state->end_ns = scarp_time_ns(drive);
    state->end_byte = cmd->offset_bytes + cmd->length_bytes;
    state->wait_until_ns = state->think_ns <= wait_ns
                               ? state->end_ns + wait_ns : INT64_MIN / 2;
}

static void timer(ScarpDrive *drive)
{
    /* The wait is over. The drive calls pick() again. */
    scarp_mark_if(drive, anticipation_wrong,
                  scarp_time_ns(drive) ==
                      ((const Anticipatory *)drive->scheme.state[AXIS_HIL])
                          ->wait_until_ns);
}

/*
 * Sets the time at which the first batch began to the drive's time. A time of 0
 * would be wrong, because a running drive can be given this policy.
 */
static bool init(ScarpDrive *drive, ScarpScheme *scheme,
                 GError **error G_GNUC_UNUSED)
{
    ((Anticipatory *)scheme->state[AXIS_HIL])->batch_ns = scarp_time_ns(drive);
    return true;
}

/*
 * Saves or loads a time, which an image keeps as a time since the drive was
 * new.
 */
static void visit_time(const ScarpDrive *drive, ScarpVisit *visit,
                       const char *name, int64_t *ns)
{
    uint64_t life_ns = *ns + scarp_past_ns(drive);

    scarp_visit_u64(visit, name, &life_ns, 0, UINT64_MAX);
    *ns = life_ns - scarp_past_ns(drive);
}

static void persist(ScarpDrive *drive, void *private, ScarpVisit *visit)
{
    Anticipatory *state = private;
    uint64_t think_ns = state->think_ns, seek_bytes = state->seek_bytes;
    uint32_t kind = state->kind, ended = state->ended;

    scarp_visit_u64s(visit, "next_byte", state->next_byte, 2);
    scarp_visit_u32(visit, "kind", &kind, READING, WRITING);
    scarp_visit_u32(visit, "ended", &ended, 0, 1);
    scarp_visit_u64(visit, "end_byte", &state->end_byte, 0, UINT64_MAX);
    scarp_visit_u64(visit, "think_ns", &think_ns, 0, INT64_MAX);
    scarp_visit_u64(visit, "seek_bytes", &seek_bytes, 0, INT64_MAX);
    visit_time(drive, visit, "batch_ns", &state->batch_ns);
    visit_time(drive, visit, "end_ns", &state->end_ns);
    visit_time(drive, visit, "wait_until_ns", &state->wait_until_ns);
    state->kind = kind;
    state->ended = ended;
    state->think_ns = think_ns;
    state->seek_bytes = seek_bytes;
}

static const ScarpParam params[] = {
    [WAIT_US] = { "antic_us", "us", "waited for a near read at most", 0,
                  1000000, 6667 },
    [NEAR_KIB] = { "near_kib", "KiB", "from where the last read ended: near", 0,
                   1u << 30, 4096 },
    [READ_US] = { "read_expire_us", "us", "a read is late after this", 0,
                  1000000000, 125000 },
    [WRITE_US] = { "write_expire_us", "us", "any other command is", 0,
                   1000000000, 250000 },
    [READ_BATCH_US] = { "read_batch_us", "us", "of reads while writes wait", 0,
                        1000000000, 500000 },
    [WRITE_BATCH_US] = { "write_batch_us", "us", "of writes while reads wait",
                         0, 1000000000, 125000 },
};

const ScarpHilOps scarp_hil_anticipatory = {
    .policy = {
        .axis = AXIS_HIL,
        .name = "anticipatory",
        .help = "by address, in batches; waits for a near read a bounded time",
        .source = "hios-isca14 section 6.1; Linux as-iosched",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .state_size = sizeof(Anticipatory),
        .init = init,
        .persist = persist,
        .timer = timer,
    },
    .bound = bound,
    .arrived = arrived,
    .pick = pick,
    .ended = ended,
};
