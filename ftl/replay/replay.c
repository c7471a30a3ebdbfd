/*
 * The replay loop: one workload, one drive, one thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay.h"

#include <string.h>

typedef struct {
    ScarpCmd cmd;
    uint32_t number; /* in the order of submission */
} Slot;

typedef struct {
    ScarpDrive *drive;
    Workload *workload;
    const ReplayOptions *o;
    ReplayResult *result;
    GPtrArray *idle;   /* slots */
    GPtrArray *all;
    TraceRecord next;
    bool has_next;
    int64_t last_time_ns;
    uint32_t in_flight;
    gint64 shown_us;
} Replay;

static bool advance(Replay *r, GError **error)
{
    GError *problem = NULL;

    if (r->o->max_requests && r->result->requests >= r->o->max_requests) {
        r->has_next = false;
        return true;
    }
    r->has_next = r->workload->next(r->workload, &r->next, &problem);
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
    return true;
}

/* Onto the drive, in whole sectors. */
static void fit(Replay *r, TraceRecord *record)
{
    uint64_t drive = scarp_drive_logical_bytes(r->drive);
    uint64_t align = MAX(r->o->align_bytes, SCARP_SECTOR_BYTES);
    uint64_t begin = record->offset_bytes, end;

    if (record->op == SCARP_OP_FLUSH) {
        record->offset_bytes = record->length_bytes = 0;
        return;
    }
    if (r->o->scale) {
        begin = (unsigned __int128)(begin % r->o->scale_bytes) * drive /
                r->o->scale_bytes;
    } else if (record->device) {
        /* Devices of one trace lie behind each other, 64 GiB apart. */
        begin += (uint64_t)record->device << 36;
    }
    end = begin + MAX(record->length_bytes, 1);
    begin -= begin % align;
    end += (align - end % align) % align;
    record->length_bytes = MIN(end - begin, drive / 2);
    if (begin + record->length_bytes > drive) {
        r->result->folded++;
        begin %= drive;
        begin -= begin % align;
        if (begin + record->length_bytes > drive) {
            begin = 0;
        }
    }
    record->offset_bytes = begin;
}

static void count(Replay *r, const TraceRecord *record)
{
    ReplayResult *result = r->result;

    result->requests++;
    switch (record->op) {
    case SCARP_OP_READ:
        result->reads++;
        result->read_bytes += record->length_bytes;
        break;
    case SCARP_OP_WRITE:
        result->writes++;
        result->write_bytes += record->length_bytes;
        break;
    case SCARP_OP_FLUSH:
        result->flushes++;
        break;
    default:
        result->deallocates++;
        break;
    }
}

static void submit(Replay *r, int64_t now_ns)
{
    Slot *slot;

    if (!r->idle->len) {
        slot = g_new0(Slot, 1);
        g_ptr_array_add(r->all, slot);
    } else {
        slot = g_ptr_array_steal_index_fast(r->idle, r->idle->len - 1);
    }
    count(r, &r->next);
    fit(r, &r->next);
    slot->number = r->result->requests - 1;
    slot->cmd.op = r->next.op;
    slot->cmd.offset_bytes = r->next.offset_bytes;
    slot->cmd.length_bytes = r->next.length_bytes;
    slot->cmd.deadline_ns = SCARP_TIME_NEVER;
    slot->cmd.opaque = slot;
    slot->cmd.nsid = 1;
    if (slot->number == r->o->warmup_requests) {
        r->result->begin_ns = now_ns;
        scarp_stats_reset(r->drive);
    }
    r->in_flight++;
    scarp_submit(r->drive, &slot->cmd, now_ns);
}

/* Row layout of the device's command log; see docs/model.md. */
static void log_row(Replay *r, const Slot *slot)
{
    const ScarpCmd *cmd = &slot->cmd;
    struct {
        int64_t submit_ns, complete_ns;
        uint64_t offset_bytes;
        uint32_t length_bytes;
        uint8_t op, status;
        uint16_t stream;
        uint32_t nsid, number;
        int64_t cause_ns[SCARP_CAUSE__COUNT];
    } row = {
        cmd->submit_ns, cmd->complete_ns, cmd->offset_bytes, cmd->length_bytes,
        cmd->op, cmd->status, cmd->stream, cmd->nsid, slot->number, { 0 },
    };

    memcpy(row.cause_ns, cmd->cause_ns, sizeof(row.cause_ns));
    fwrite(&row, sizeof(row), 1, r->o->rows);
}

static void log_header(FILE *file)
{
    struct {
        char magic[8];
        uint32_t row_bytes, causes;
        uint64_t reserved[2];
    } header = { "SCARPCM", 40 + 8 * SCARP_CAUSE__COUNT, SCARP_CAUSE__COUNT,
                 { 0 } };

    header.magic[7] = '1';
    fwrite(&header, sizeof(header), 1, file);
}

static void reap(Replay *r)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(r->drive))) {
        Slot *slot = cmd->opaque;

        r->in_flight--;
        r->result->end_ns = cmd->complete_ns;
        if (slot->number >= r->o->warmup_requests) {
            r->result->measured++;
            r->result->measured_bytes += cmd->length_bytes;
            if (cmd->op == SCARP_OP_READ) {
                hist_add(&r->result->read, cmd);
            } else if (cmd->op == SCARP_OP_WRITE) {
                hist_add(&r->result->write, cmd);
            }
        }
        if (r->o->rows) {
            log_row(r, slot);
        }
        g_ptr_array_add(r->idle, slot);
    }
}

static void show_progress(Replay *r, gint64 began_us)
{
    gint64 now_us = g_get_monotonic_time();
    int done = r->workload->permille_done;

    if (!r->o->progress || now_us - r->shown_us < 500000) {
        return;
    }
    r->shown_us = now_us;
    fprintf(stderr, "\r%" G_GUINT64_FORMAT " requests", r->result->requests);
    if (done > 0) {
        fprintf(stderr, ", %d.%d %%, %" G_GINT64_FORMAT " s left", done / 10,
                done % 10, (now_us - began_us) * (1000 - done) / done / 1000000);
    }
    fprintf(stderr, "   ");
}

/* When the next request is due; NEVER when something must end first. */
static int64_t due_ns(const Replay *r, int64_t origin_ns)
{
    int64_t gap_ns = (r->next.time_ns - r->last_time_ns) * 1000 /
                     (int64_t)r->o->speed_permille;

    switch (r->o->mode) {
    case REPLAY_OPEN:
        return MAX(scarp_now_ns(r->drive),
                   origin_ns + (int64_t)((__int128)r->next.time_ns * 1000 /
                                         r->o->speed_permille));
    case REPLAY_CLOSED:
        return r->in_flight < r->o->depth ? scarp_now_ns(r->drive)
                                          : SCARP_TIME_NEVER;
    default:
        return r->in_flight ? SCARP_TIME_NEVER
                            : scarp_now_ns(r->drive) + MAX(gap_ns, 0);
    }
}

static bool loop(Replay *r, GError **error)
{
    int64_t origin_ns = scarp_now_ns(r->drive);
    gint64 began_us = g_get_monotonic_time();

    if (!advance(r, error)) {
        return false;
    }
    for (;;) {
        int64_t event_ns = scarp_next_event_ns(r->drive);
        int64_t next_ns = r->has_next ? due_ns(r, origin_ns) : SCARP_TIME_NEVER;

        if (event_ns == SCARP_TIME_NEVER && next_ns == SCARP_TIME_NEVER) {
            return true;
        }
        /* At one time, what ends goes before what begins. */
        if (event_ns <= next_ns) {
            scarp_run(r->drive, event_ns);
            reap(r);
            continue;
        }
        submit(r, next_ns);
        reap(r);
        r->last_time_ns = r->next.time_ns;
        if (!advance(r, error)) {
            return false;
        }
        show_progress(r, began_us);
    }
}

bool replay_run(ScarpDrive *drive, Workload *workload,
                const ReplayOptions *options, ReplayResult *result,
                GError **error)
{
    Replay r = {
        .drive = drive, .workload = workload, .o = options, .result = result,
        .idle = g_ptr_array_new(),
        .all = g_ptr_array_new_with_free_func(g_free),
    };
    bool ok;

    memset(result, 0, sizeof(*result));
    hist_init(&result->read);
    hist_init(&result->write);
    if (options->rows) {
        log_header(options->rows);
    }
    ok = loop(&r, error);
    if (options->progress && r.shown_us) {
        fprintf(stderr, "\n");
    }
    g_ptr_array_free(r.idle, true);
    if (ok && !scarp_quiescent(drive, error)) {
        ok = false;
    }
    if (ok && (r.in_flight || !result->requests)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "the workload has %" G_GUINT64_FORMAT " requests, %u of "
                    "them never came back", result->requests, r.in_flight);
        ok = false;
    }
    if (ok && scarp_stats(drive)->oob_mismatches) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "%" G_GUINT64_FORMAT " reads found another LPN",
                    scarp_stats(drive)->oob_mismatches);
        ok = false;
    }
    g_ptr_array_free(r.all, true);
    return ok;
}
