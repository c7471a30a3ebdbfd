/*
 * Host queue policy: deadline (hios-isca14 §6.1, after Linux's
 * block/mq-deadline.c and its defaults).
 *
 * Reads go before writes, each kind in batches of ascending addresses. A batch
 * begins with the oldest command that is late, if there is one. At most
 * writes_starved batches of reads go before waiting writes. A command is late
 * after its own deadline, or, if it names none, read_deadline_us or
 * write_deadline_us after its arrival. A flush need not wait for commands that
 * are still in the host queue, so it goes at once.
 *
 * The policy sees only the oldest commands of the host queue, at most
 * controller.queue of them, as a controller would.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hil/ops.h"

enum { READ_US, WRITE_US, STARVED, BATCH };
enum { READING, WRITING };

typedef struct {
    uint64_t next_byte[2]; /* end of the last command of each kind */
    uint64_t in_batch;
    uint64_t starved;      /* batches of reads that passed waiting writes */
    int kind;
} Deadline;

static int kind_of(const ScarpCmd *cmd)
{
    return cmd->op == SCARP_OP_READ ? READING : WRITING;
}

/* The waiting commands of one kind, as pick() needs them. */
typedef struct {
    ScarpCmd *oldest, *late; /* the oldest command; the oldest late command */
    ScarpCmd *next; /* the lowest address from next_byte on */
} Seen;

static int64_t late_ns(const ScarpDrive *drive, const ScarpCmd *cmd)
{
    int64_t us = drive->scheme.param[AXIS_HIL][kind_of(cmd) == READING
                                                   ? READ_US : WRITE_US];

    return cmd->deadline_ns != SCARP_TIME_NEVER ? cmd->deadline_ns
                                                : cmd->submit_ns + us * 1000;
}

static ScarpCmd *look(const ScarpDrive *drive, const Deadline *state,
                      const ScarpCmdQueue *waiting, Seen seen[2])
{
    int64_t now_ns = scarp_time_ns(drive);
    uint64_t n = drive->desc.queue;

    for (ScarpCmd *cmd = scarp_cmd_first(waiting); cmd && n--;
         cmd = cmd->next) {
        int kind = kind_of(cmd);
        Seen *s = &seen[kind];

        if (cmd->op == SCARP_OP_FLUSH) {
            return cmd;
        }
        s->oldest = s->oldest ? s->oldest : cmd;
        if (!s->late && now_ns >= late_ns(drive, cmd)) {
            s->late = cmd;
        }
        if (cmd->offset_bytes >= state->next_byte[kind] &&
            (!s->next || cmd->offset_bytes < s->next->offset_bytes)) {
            s->next = cmd;
        }
    }
    return NULL;
}

/* Returns the kind of the next batch. */
static int turn(const ScarpDrive *drive, Deadline *state, const Seen seen[2])
{
    if (!seen[WRITING].oldest || !seen[READING].oldest) {
        state->starved = 0;
        return seen[READING].oldest ? READING : WRITING;
    }
    if (state->starved++ < drive->scheme.param[AXIS_HIL][STARVED]) {
        return READING;
    }
    scarp_mark(drive, writes_starved);
    state->starved = 0;
    return WRITING;
}

static ScarpCmd *pick(ScarpDrive *drive, ScarpCmdQueue *waiting)
{
    Deadline *state = drive->scheme.state[AXIS_HIL];
    Seen seen[2] = { { NULL, NULL, NULL }, { NULL, NULL, NULL } };
    ScarpCmd *cmd = look(drive, state, waiting, seen);

    if (cmd) {
        return scarp_cmd_take(waiting, cmd);
    }
    if (seen[state->kind].next &&
        state->in_batch < drive->scheme.param[AXIS_HIL][BATCH]) {
        cmd = seen[state->kind].next;
    } else {
        const Seen *s;

        state->kind = turn(drive, state, seen);
        state->in_batch = 0;
        s = &seen[state->kind];
        scarp_mark_if(drive, late_first, s->late);
        cmd = s->late ? s->late : s->next ? s->next : s->oldest;
    }
    state->in_batch++;
    state->next_byte[state->kind] = cmd->offset_bytes + cmd->length_bytes;
    return scarp_cmd_take(waiting, cmd);
}

/*
 * Once cmd is late, each batch of its kind begins with a late command that is
 * older, or with cmd itself. Between two batches of writes are at most
 * writes_starved batches of reads. With writes_starved=0, reads may wait as
 * long as writes come, as in Linux.
 */
static ScarpHilBound bound(const ScarpDrive *drive, const ScarpCmd *cmd,
                           const ScarpCmd *younger G_GNUC_UNUSED)
{
    const uint64_t *param = drive->scheme.param[AXIS_HIL];

    return (ScarpHilBound) {
        param[STARVED] || kind_of(cmd) == WRITING ? late_ns(drive, cmd)
                                                  : SCARP_TIME_NEVER,
        (param[STARVED] + 1) * param[BATCH],
    };
}

static void persist(ScarpDrive *drive G_GNUC_UNUSED, void *private,
                    ScarpVisit *visit)
{
    Deadline *state = private;
    uint32_t kind = state->kind;

    scarp_visit_u64s(visit, "next_byte", state->next_byte, 2);
    scarp_visit_u64(visit, "in_batch", &state->in_batch, 0, UINT64_MAX);
    scarp_visit_u64(visit, "starved", &state->starved, 0, UINT64_MAX);
    scarp_visit_u32(visit, "kind", &kind, READING, WRITING);
    state->kind = kind;
}

static const ScarpParam params[] = {
    [READ_US] = { "read_deadline_us", "us", "a read is late after this", 0,
                  1000000000, 500000 },
    [WRITE_US] = { "write_deadline_us", "us", "any other command is", 0,
                   1000000000, 5000000 },
    [STARVED] = { "writes_starved", "batches",
                  "of reads that may pass waiting writes", 0, 1000, 2 },
    [BATCH] = { "fifo_batch", "commands", "of a kind in a row", 1, 1000, 16 },
};

const ScarpHilOps scarp_hil_deadline = {
    .policy = {
        .axis = AXIS_HIL,
        .name = "deadline",
        .help = "reads first, by address, in batches; late commands before",
        .source = "hios-isca14 section 6.1; Linux block/mq-deadline.c",
        .params = params,
        .n_params = G_N_ELEMENTS(params),
        .state_size = sizeof(Deadline),
        .persist = persist,
    },
    .bound = bound,
    .pick = pick,
};
