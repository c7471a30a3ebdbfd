/*
 * A request of a workload, as each way of driving a drive takes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_REQUEST_H
#define REPLAY_REQUEST_H

#include "replay.h"

/* False and *error set: the number-th, from 1 on, names no stream of it. */
bool request_allowed(const ScarpDrive *drive, const TraceRecord *record,
                     uint64_t number, GError **error);
void request_count(ReplayResult *result, const TraceRecord *record);
/* All of cmd but its data and whose it is. */
void request_fill(ScarpCmd *cmd, const TraceRecord *record, int64_t now_ns);

#endif /* REPLAY_REQUEST_H */
