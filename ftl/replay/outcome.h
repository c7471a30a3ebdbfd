/*
 * The results of a replay, as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_OUTCOME_H
#define REPLAY_OUTCOME_H

#include "replay.h"

/* How the workload was run. */
typedef struct {
    const char *name;       /* name of the workload, or "jobs" */
    const char *pace;       /* argument of --mode, or "jobs" */
    int64_t depth, speed_permille, seed;
    uint64_t repeat;        /* how often the workload ran */
    const GPtrArray *warnings; /* warnings about the workload; NULL: none */
    double wall_s;
} Outcome;

/*
 * Writes the results to the file, or to standard output if `path` is NULL or
 * "-". Returns false, with *error set, if the file cannot be written.
 */
bool outcome_write(const char *path, const ScarpDrive *drive,
                   const Workload *workload, const Outcome *outcome,
                   const ReplayResult *result, GError **error);

#endif /* REPLAY_OUTCOME_H */
