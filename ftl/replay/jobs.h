/*
 * Several workloads at once, each with a depth and a rate of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_JOBS_H
#define REPLAY_JOBS_H

#include "replay.h"

typedef struct {
    Workload *workload;
    uint32_t depth;
    uint64_t rate; /* bytes a second; 0: no limit */
    /* Of jobs_run(). */
    TraceRecord next;
    bool has_next;
    uint32_t in_flight;
    uint64_t bytes; /* submitted */
} Job;

/* DEPTH[:RATE]=WORKLOAD; *workload points into text. */
bool job_parse(const char *text, uint32_t *depth, uint64_t *rate,
               const char **workload, GError **error);

/*
 * Until every job is at its end, or options->max_ns have passed.  Of the other
 * options only rows counts.
 */
bool jobs_run(ScarpDrive *drive, Job *jobs, uint32_t n_jobs,
              const ReplayOptions *options, ReplayResult *result,
              GError **error);

#endif /* REPLAY_JOBS_H */
