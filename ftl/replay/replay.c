/*
 * The loop of a replay: one workload, one drive, one thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "changes.h"
#include "cmdlog.h"
#include "flashlog.h"
#include "linelog.h"
#include "request.h"

#include <string.h>

#define FOOTPRINT_BYTES 4096
#define MAX_DEVICES 256
#define LAST_TIME_NS (SCARP_TIME_LAST / 2)

typedef struct {
    ScarpCmd cmd;
    uint64_t number; /* number of the submission */
    int64_t logged_ns; /* end of the command in the log; 0: not known */
} Slot;

typedef struct {
    ScarpDrive *drive;
    Workload *workload;
    const ReplayOptions *o;
    ReplayResult *result;
    GPtrArray *idle;   /* Slot */
    GPtrArray *all;
    TraceRecord next;
    bool has_next, next_folded;
    int64_t last_time_ns;
    uint64_t end_bytes;   /* end address of the last request */
    uint64_t *touched, *written; /* a bit for FOOTPRINT_BYTES of the drive */
    uint32_t device[MAX_DEVICES];
    uint32_t in_flight;
    gint64 shown_us;
    FlashLog *served;     /* the flash log, or NULL */
    guint changed;        /* number of changes made */
    int64_t over_ns;      /* no request is submitted from this time on */
} Replay;

/*
 * Returns the address where a device of the trace begins. Devices begin at
 * distances that are no simple share of the drive, so that few devices overlap
 * much.
 */
static uint64_t device_shift(Replay *r, uint32_t device, uint64_t drive)
{
    uint32_t i = 0;

    while (i < r->result->devices && r->device[i] != device) {
        i++;
    }
    if (i == r->result->devices) {
        if (i == MAX_DEVICES) {
            i = device % MAX_DEVICES;
        } else {
            r->device[r->result->devices++] = device;
        }
    }
    return drive / 1000 * 618 / FOOTPRINT_BYTES * FOOTPRINT_BYTES * i % drive;
}

/*
 * Fits a request to the drive: aligned to align_bytes, or at least to sectors,
 * and inside the drive.
 */
static void fit(Replay *r, TraceRecord *record)
{
    uint64_t drive = scarp_drive_logical_bytes(r->drive);
    uint64_t align = MAX(r->o->align_bytes, SCARP_SECTOR_BYTES);
    uint64_t begin = record->offset_bytes, length, room;

    r->next_folded = false;
    if (record->op == SCARP_OP_FLUSH) {
        record->offset_bytes = record->length_bytes = 0;
        return;
    }
    /* the addresses of a command log are the drive's own */
    if (r->workload->absolute && begin % SCARP_SECTOR_BYTES == 0 &&
        record->length_bytes % SCARP_SECTOR_BYTES == 0 && begin <= drive &&
        record->length_bytes <= drive - begin) {
        return;
    }
    if (r->o->scale) {
        begin = (unsigned __int128)(begin % r->o->scale_bytes) * drive /
                r->o->scale_bytes;
    } else {
        r->next_folded = begin >= drive || record->length_bytes > drive - begin;
        begin = (begin % drive + device_shift(r, record->device, drive)) %
                drive;
    }
    length = MAX(record->length_bytes, 1) + begin % align;
    begin -= begin % align;
    length += (align - length % align) % align;
    room = drive / 2 - drive / 2 % align;
    length = MIN(length, room);
    if (length > drive - begin) {
        begin = drive - length;
        begin -= begin % align;
    }
    record->offset_bytes = begin;
    record->length_bytes = length;
}

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
    if (r->has_next && !request_allowed(r->drive, &r->next,
                                        r->result->requests + 1, error)) {
        return false;
    }
    if (r->has_next) {
        fit(r, &r->next);
        scarp_expect(r->drive, r->next.offset_bytes);
    }
    return true;
}

static uint64_t mark(uint64_t *bits, uint64_t first, uint64_t last)
{
    uint64_t news = 0;

    for (uint64_t i = first; i <= last; i++) {
        uint64_t bit = 1ull << (i % 64);

        news += !(bits[i / 64] & bit);
        bits[i / 64] |= bit;
    }
    return news * FOOTPRINT_BYTES;
}

/*
 * Adds a record, already fitted to the drive, to the statistics of the
 * workload: its footprint, its span of time, its sequential requests.
 */
static void characterise(Replay *r, const TraceRecord *record)
{
    uint64_t first = record->offset_bytes / FOOTPRINT_BYTES, last;

    r->result->span_ns = MAX(r->result->span_ns, record->time_ns);
    if (!record->length_bytes) {
        return;
    }
    r->result->sequential += record->offset_bytes == r->end_bytes;
    r->end_bytes = record->offset_bytes + record->length_bytes;
    last = (r->end_bytes - 1) / FOOTPRINT_BYTES;
    if (record->op == SCARP_OP_READ || record->op == SCARP_OP_WRITE) {
        r->result->touched_bytes += mark(r->touched, first, last);
    }
    if (record->op == SCARP_OP_WRITE) {
        r->result->written_bytes += mark(r->written, first, last);
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
    r->result->folded += r->next_folded;
    request_count(r->result, &r->next);
    characterise(r, &r->next);
    slot->number = r->result->requests - 1;
    slot->logged_ns = r->next.complete_ns;
    request_fill(&slot->cmd, &r->next, now_ns);
    slot->cmd.opaque = slot;
    if (slot->number == r->o->warmup_requests) {
        r->result->begin_ns = now_ns;
        scarp_stats_reset(r->drive);
    }
    r->in_flight++;
    r->result->peak_in_flight = MAX(r->result->peak_in_flight, r->in_flight);
    scarp_submit(r->drive, &slot->cmd, now_ns);
    if (r->o->lines) {
        linelog_write(r->o->lines, r->next.line, NULL);
    }
    if (r->served) {
        flashlog_begin(r->served, &slot->cmd);
    }
}

static bool reap(Replay *r, GError **error)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(r->drive))) {
        Slot *slot = cmd->opaque;

        /*
         * A command that ends after over_ns is not compared. In the logged run,
         * commands that this replay no longer submits may have delayed it.
         */
        if (r->o->exact && cmd->complete_ns < r->over_ns &&
            !cmdlog_ended(r->o->exact, cmd, slot->logged_ns, error)) {
            return false;
        }
        r->in_flight--;
        r->result->end_ns = cmd->complete_ns;
        if (slot->number >= r->o->warmup_requests) {
            r->result->measured++;
            r->result->measured_bytes += cmd->length_bytes;
        }
        if (r->o->rows) {
            cmdlog_write(r->o->rows, cmd, slot->number,
                         scarp_drive_causes(r->drive));
        }
        if (r->served) {
            flashlog_end(r->served, cmd);
        }
        g_ptr_array_add(r->idle, slot);
    }
    return true;
}

static void show_progress(Replay *r, gint64 began_us)
{
    uint64_t sent = r->result->requests, percent;
    gint64 now_us;
    int done = r->workload->permille_done;
    int64_t drive_ns = scarp_now_ns(r->drive) - r->result->first_ns;

    if (!r->o->progress || sent % 1024) {
        return;
    }
    now_us = g_get_monotonic_time();
    if (now_us - r->shown_us < 500000) {
        return;
    }
    r->shown_us = now_us;
    if (r->o->max_requests) {
        done = MAX(done, (int)(sent * 1000.0 / r->o->max_requests));
    }
    if (r->o->max_ns) {
        done = MAX(done, (int)(drive_ns * 1000.0 / r->o->max_ns));
    }
    done = MIN(done, 1000);
    fprintf(stderr, "\r%" G_GUINT64_FORMAT " requests", sent);
    if (done > 0) {
        percent = done / 10;
        fprintf(stderr, " [%-20.*s] %" G_GUINT64_FORMAT " %%, %"
                G_GINT64_FORMAT " s left", (int)percent / 5,
                "====================", percent,
                (now_us - began_us) * (1000 - done) / done / 1000000);
    }
    fprintf(stderr, "   ");
}

/*
 * Returns a time of the workload, scaled by the speed. A time that is too far
 * away becomes the last possible time.
 */
static int64_t at_speed(const Replay *r, int64_t ns)
{
    __int128 scaled = (__int128)ns * 1000 / (int64_t)r->o->speed_permille;

    return CLAMP(scaled, 0, LAST_TIME_NS);
}

/* Returns ns, or the nearest time that the drive can still reach. */
static int64_t safe_ns(const Replay *r, int64_t ns)
{
    return MAX(scarp_now_ns(r->drive), MIN(ns, LAST_TIME_NS));
}

/*
 * Returns the time at which the next request is due. SCARP_TIME_NEVER: a
 * command must complete first.
 */
static int64_t due_ns(const Replay *r, int64_t origin_ns)
{
    int64_t now_ns = scarp_now_ns(r->drive);

    switch (r->o->mode) {
    case REPLAY_OPEN:
        return safe_ns(r, r->workload->absolute
                              ? r->next.time_ns
                              : origin_ns + at_speed(r, r->next.time_ns));
    case REPLAY_CLOSED:
        return r->in_flight < r->o->depth ? now_ns : SCARP_TIME_NEVER;
    default:
        return r->in_flight ? SCARP_TIME_NEVER
                            : safe_ns(r, now_ns +
                                             at_speed(r, r->next.time_ns -
                                                             r->last_time_ns));
    }
}

/* ---- Changes ------------------------------------------------------------ */

/*
 * Returns the next change. NULL: no change is left, or the next one comes too
 * late.
 */
static const Change *next_change(const Replay *r)
{
    const Change *change = r->o->changes && r->changed < r->o->changes->len
        ? &g_array_index(r->o->changes, Change, r->changed) : NULL;

    return change && change->time_ns < r->over_ns ? change : NULL;
}

static bool make_change(Replay *r, const Change *change, GError **error)
{
    r->changed++;
    return change_fits(change, r->result->requests, r->drive, error) &&
           change_make(change, r->drive, error) && reap(r, error);
}

static bool loop(Replay *r, GError **error)
{
    int64_t origin_ns = scarp_now_ns(r->drive);
    gint64 began_us = g_get_monotonic_time();

    r->result->first_ns = origin_ns;
    r->over_ns = r->o->max_ns ? origin_ns + (int64_t)r->o->max_ns
                              : SCARP_TIME_NEVER;
    if (!advance(r, error)) {
        return false;
    }
    for (;;) {
        int64_t event_ns = scarp_next_event_ns(r->drive);
        int64_t next_ns = r->has_next ? due_ns(r, origin_ns) : SCARP_TIME_NEVER;
        const Change *change = next_change(r);

        if (r->has_next && next_ns != SCARP_TIME_NEVER &&
            next_ns >= r->over_ns) {
            r->has_next = false;
            next_ns = SCARP_TIME_NEVER;
        }
        if (change && change_is_due(change, r->result->requests, event_ns,
                                    next_ns)) {
            if (!make_change(r, change, error)) {
                return false;
            }
            continue;
        }
        if (event_ns == SCARP_TIME_NEVER && next_ns == SCARP_TIME_NEVER) {
            return true;
        }
        /* at equal times completions come before submissions */
        if (event_ns <= next_ns) {
            scarp_run_until_done(r->drive,
                                 change ? MIN(next_ns, change->time_ns)
                                        : next_ns);
            if (!reap(r, error)) {
                return false;
            }
            continue;
        }
        if (r->o->mode == REPLAY_OPEN && r->o->max_in_flight &&
            r->in_flight >= r->o->max_in_flight) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--backlog=%" G_GUINT64_FORMAT ": the drive does not "
                        "keep up, so many requests are outstanding after %"
                        G_GUINT64_FORMAT " in all; a lower --speed, another --mode, "
                        "or more are allowed (0: no limit)",
                        r->o->max_in_flight, r->result->requests);
            return false;
        }
        submit(r, next_ns);
        if (!reap(r, error)) {
            return false;
        }
        r->last_time_ns = r->next.time_ns;
        if (!advance(r, error)) {
            return false;
        }
        show_progress(r, began_us);
    }
}

static void log_gc(void *opaque, const ScarpGcRun *run)
{
    const Replay *r = opaque;

    gclog_write(r->o->gc_rows, run);
}

static void log_flash(void *opaque, const ScarpFlashOp *op)
{
    const Replay *r = opaque;

    flashlog_phase(r->served, op);
}

static void begin_logs(Replay *r)
{
    ScarpObserver observer = { .opaque = r };

    if (r->o->rows) {
        cmdlog_write_header(r->o->rows, scarp_drive_causes(r->drive));
    }
    if (r->o->lines) {
        linelog_write_header(r->o->lines);
    }
    if (r->o->gc_rows) {
        gclog_write_header(r->o->gc_rows);
        observer.gc_done = log_gc;
    }
    if (r->o->flash_rows) {
        r->served = flashlog_new(r->o->flash_rows);
        observer.flash_phase = log_flash;
    }
    if (r->o->gc_rows || r->o->flash_rows) {
        scarp_set_observer(r->drive, &observer);
    }
}

static void end_logs(Replay *r)
{
    if (r->o->gc_rows || r->o->flash_rows) {
        /*
         * Collections that bring the drive to rest are not a part of the run.
         */
        scarp_set_observer(r->drive, &(ScarpObserver) { 0 });
    }
    flashlog_free(r->served);
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
    uint64_t words = scarp_drive_logical_bytes(drive) / FOOTPRINT_BYTES / 64 +
                     1;
    bool ok;

    memset(result, 0, sizeof(*result));
    r.touched = g_new0(uint64_t, words);
    r.written = g_new0(uint64_t, words);
    begin_logs(&r);
    ok = loop(&r, error);
    end_logs(&r);
    if (options->progress && r.shown_us) {
        fprintf(stderr, "\n");
    }
    g_ptr_array_free(r.idle, true);
    g_free(r.touched);
    g_free(r.written);
    if (ok && !scarp_quiescent(drive, error)) {
        ok = false;
    }
    if (ok && (r.in_flight || !result->requests)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "the workload has %" G_GUINT64_FORMAT " requests, %u of "
                    "them never came back", result->requests, r.in_flight);
        ok = false;
    }
    if (ok && result->requests <= options->warmup_requests) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--warmup=%" G_GUINT64_FORMAT ": the run had only %"
                    G_GUINT64_FORMAT " requests; fewer are allowed",
                    options->warmup_requests, result->requests);
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
