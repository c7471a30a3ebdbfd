/*
 * Several workloads at once, each with its own depth and rate.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_JOBS_H
#define REPLAY_JOBS_H

#include "replay.h"

typedef struct {
    const char *name; /* name of the job in the line log */
    Workload *workload;
    uint32_t depth;
    uint64_t rate; /* bytes a second; 0: no limit */
    /* jobs_run() sets the members below. */
    TraceRecord next;
    bool has_next;
    uint32_t in_flight;
    uint64_t bytes; /* bytes submitted */
} Job;

/* Parses DEPTH[:RATE]=WORKLOAD. *workload then points into `text`. */
bool job_parse(const char *text, uint32_t *depth, uint64_t *rate,
               const char **workload, GError **error);

/*
 * Runs until every job has ended, or for options->max_ns. Of the other options
 * only `rows` and `lines` are used.
 */
bool jobs_run(ScarpDrive *drive, Job *jobs, uint32_t n_jobs,
              const ReplayOptions *options, ReplayResult *result,
              GError **error);

#endif /* REPLAY_JOBS_H */
