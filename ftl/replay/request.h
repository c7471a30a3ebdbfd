/*
 * A request of a workload, as it is submitted by the replay loop and by jobs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_REQUEST_H
#define REPLAY_REQUEST_H

#include "replay.h"

/*
 * False, with *error set, if the request, the number-th from 1 on, names a
 * stream that the drive does not have.
 */
bool request_allowed(const ScarpDrive *drive, const TraceRecord *record,
                     uint64_t number, GError **error);
void request_count(ReplayResult *result, const TraceRecord *record);
/* Fills cmd from the record, except for data and opaque. */
void request_fill(ScarpCmd *cmd, const TraceRecord *record, int64_t now_ns);

#endif /* REPLAY_REQUEST_H */
