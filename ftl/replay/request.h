/*
 * A request of a workload, as the replay loop and jobs submit it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_REQUEST_H
#define REPLAY_REQUEST_H

#include "replay.h"

/*
 * False and *error set: request number, from 1 on, names a stream that the
 * drive lacks.
 */
bool request_allowed(const ScarpDrive *drive, const TraceRecord *record,
                     uint64_t number, GError **error);
void request_count(ReplayResult *result, const TraceRecord *record);
/* Fills cmd, except for its data and opaque. */
void request_fill(ScarpCmd *cmd, const TraceRecord *record, int64_t now_ns);

#endif /* REPLAY_REQUEST_H */
