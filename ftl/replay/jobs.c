/*
 * Several workloads at once, each with its own depth and rate, like fio's jobs:
 * for example readers beside writers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"
#include "jobs.h"
#include "linelog.h"
#include "request.h"

#include <string.h>

typedef struct {
    ScarpCmd cmd;
    Job *job;
    uint64_t number; /* number of the submission */
} Slot;

typedef struct {
    ScarpDrive *drive;
    const ReplayOptions *o;
    ReplayResult *result;
    Job *jobs;
    uint32_t n_jobs, in_flight;
    GPtrArray *idle, *all; /* Slot */
    int64_t origin_ns;
} Jobs;

/*
 * Parses a number from 1 to `most`, which has digits only, no sign and no
 * blank.
 */
static bool parse_number(const char *text, const char *end, uint64_t most,
                         uint64_t *value)
{
    g_autofree char *digits = g_strndup(text, end - text);

    return g_ascii_string_to_unsigned(digits, 10, 1, most, value, NULL);
}

bool job_parse(const char *text, uint32_t *depth, uint64_t *rate,
               const char **workload, GError **error)
{
    const char *equals = strchr(text, '=');
    const char *head = equals ? equals : text;
    const char *colon = memchr(text, ':', head - text);
    uint64_t number;

    *rate = 0;
    if (!equals || !equals[1] ||
        !parse_number(text, colon ? colon : equals, 65536, &number) ||
        (colon && !parse_number(colon + 1, equals, G_MAXINT64, rate))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--job=%s: must be DEPTH[:RATE]=WORKLOAD, with a depth "
                    "from 1 to 65536 and a rate of 1 to %" G_GINT64_FORMAT
                    " bytes a second", text, G_MAXINT64);
        return false;
    }
    *depth = number;
    *workload = equals + 1;
    return true;
}

static bool advance(Jobs *r, Job *job, GError **error)
{
    uint64_t bytes = scarp_drive_logical_bytes(r->drive);
    GError *problem = NULL;
    TraceRecord *next = &job->next;

    job->has_next = job->workload->next(job->workload, next, &problem);
    if (problem) {
        g_propagate_error(error, problem);
        return false;
    }
    if (!job->has_next) {
        return true;
    }
    if (next->op == SCARP_OP_FLUSH) {
        next->offset_bytes = next->length_bytes = 0;
    } else if (next->offset_bytes % SCARP_SECTOR_BYTES ||
               next->length_bytes % SCARP_SECTOR_BYTES ||
               !next->length_bytes || next->offset_bytes > bytes ||
               next->length_bytes > bytes - next->offset_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--job: a request of %" G_GUINT64_FORMAT " bytes at %"
                    G_GUINT64_FORMAT ": must be whole sectors of the drive, "
                    "which has %" G_GUINT64_FORMAT " bytes",
                    next->length_bytes, next->offset_bytes, bytes);
        return false;
    }
    return request_allowed(r->drive, next, r->result->requests + 1, error);
}

static void submit(Jobs *r, Job *job, int64_t now_ns)
{
    Slot *slot;

    if (!r->idle->len) {
        slot = g_new0(Slot, 1);
        g_ptr_array_add(r->all, slot);
    } else {
        slot = g_ptr_array_steal_index_fast(r->idle, r->idle->len - 1);
    }
    request_count(r->result, &job->next);
    request_fill(&slot->cmd, &job->next, now_ns);
    slot->cmd.opaque = slot;
    slot->job = job;
    slot->number = r->result->requests - 1;
    job->in_flight++;
    r->in_flight++;
    r->result->peak_in_flight = MAX(r->result->peak_in_flight, r->in_flight);
    job->bytes += job->next.length_bytes;
    scarp_submit(r->drive, &slot->cmd, now_ns);
    if (r->o->lines) {
        linelog_write(r->o->lines, job->next.line, job->name);
    }
}

static void reap(Jobs *r)
{
    ScarpCmd *cmd;

    while ((cmd = scarp_reap(r->drive))) {
        Slot *slot = cmd->opaque;

        slot->job->in_flight--;
        r->in_flight--;
        r->result->end_ns = cmd->complete_ns;
        r->result->measured++;
        r->result->measured_bytes += cmd->length_bytes;
        if (r->o->rows) {
            cmdlog_write(r->o->rows, cmd, slot->number,
                         scarp_drive_causes(r->drive));
        }
        g_ptr_array_add(r->idle, slot);
    }
}

/*
 * Returns when the job's next request is due. A job that is behind its rate
 * catches up.
 */
static int64_t due_ns(const Jobs *r, const Job *job)
{
    int64_t now_ns = scarp_now_ns(r->drive);
    __int128 at_ns;

    if (!job->has_next || job->in_flight >= job->depth) {
        return SCARP_TIME_NEVER;
    }
    if (!job->rate) {
        return now_ns;
    }
    at_ns = r->origin_ns + (__int128)job->bytes * 1000000000 /
                           (int64_t)job->rate;
    return MAX(now_ns, MIN(at_ns, SCARP_TIME_LAST / 2));
}

static bool loop(Jobs *r, GError **error)
{
    int64_t last_ns = r->o->max_ns ? r->origin_ns + (int64_t)r->o->max_ns
                                   : SCARP_TIME_NEVER;

    for (;;) {
        int64_t event_ns = scarp_next_event_ns(r->drive);
        int64_t next_ns = SCARP_TIME_NEVER;
        Job *next = NULL;

        for (uint32_t i = 0; i < r->n_jobs; i++) {
            int64_t at_ns = due_ns(r, &r->jobs[i]);

            if (at_ns < next_ns && at_ns < last_ns) {
                next_ns = at_ns;
                next = &r->jobs[i];
            }
        }
        if (event_ns == SCARP_TIME_NEVER && !next) {
            return true;
        }
        /* at equal times completions come before submissions */
        if (event_ns <= next_ns) {
            scarp_run_until_done(r->drive, next_ns);
            reap(r);
            continue;
        }
        submit(r, next, next_ns);
        reap(r);
        if (!advance(r, next, error)) {
            return false;
        }
    }
}

bool jobs_run(ScarpDrive *drive, Job *jobs, uint32_t n_jobs,
              const ReplayOptions *options, ReplayResult *result,
              GError **error)
{
    Jobs r = {
        .drive = drive, .o = options, .result = result, .jobs = jobs,
        .n_jobs = n_jobs, .idle = g_ptr_array_new(),
        .all = g_ptr_array_new_with_free_func(g_free),
        .origin_ns = scarp_now_ns(drive),
    };
    bool ok = true;

    memset(result, 0, sizeof(*result));
    result->first_ns = result->begin_ns = r.origin_ns;
    scarp_stats_reset(drive);
    if (options->rows) {
        cmdlog_write_header(options->rows, scarp_drive_causes(drive));
    }
    if (options->lines) {
        linelog_write_header(options->lines);
    }
    for (uint32_t i = 0; i < n_jobs; i++) {
        ok = ok && advance(&r, &jobs[i], error);
    }
    ok = ok && loop(&r, error) && scarp_quiescent(drive, error);
    g_ptr_array_free(r.idle, true);
    g_ptr_array_free(r.all, true);
    if (ok && !result->requests) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "the jobs have no requests");
        ok = false;
    }
    return ok;
}
