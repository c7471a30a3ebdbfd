/*
 * Functions with which the replay loop and jobs check a request of a workload,
 * count it, and make a command from it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_REQUEST_H
#define REPLAY_REQUEST_H

#include "replay.h"

/*
 * Returns false, with *error set, if the request names a stream that the drive
 * does not have. `number` is the number of the request, from 1 on.
 */
bool request_allowed(const ScarpDrive *drive, const TraceRecord *record,
                     uint64_t number, GError **error);
void request_count(ReplayResult *result, const TraceRecord *record);
/* Fills cmd from the record, except the members `data` and `opaque`. */
void request_fill(ScarpCmd *cmd, const TraceRecord *record, int64_t now_ns);

#endif /* REPLAY_REQUEST_H */
