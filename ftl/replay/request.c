/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request.h"

bool request_allowed(const ScarpDrive *drive, const TraceRecord *record,
                     uint64_t number, GError **error)
{
    uint32_t streams;

    if (record->op != SCARP_OP_WRITE ||
        record->stream < scarp_drive_streams(drive)) {
        return true;
    }
    streams = scarp_drive_streams(drive);
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "request %" G_GUINT64_FORMAT ": writes to stream %u; "
                "ftl.streams=%u allows 0 to %u", number, record->stream,
                streams, streams - 1);
    return false;
}

void request_count(ReplayResult *result, const TraceRecord *record)
{
    result->requests++;
    switch (record->op) {
    case SCARP_OP_READ:
        result->reads++;
        result->read_bytes += record->length_bytes;
        break;
    case SCARP_OP_WRITE:
        result->writes++;
        result->write_bytes += record->length_bytes;
        result->fua_writes += record->fua;
        break;
    case SCARP_OP_FLUSH:
        result->flushes++;
        break;
    default:
        result->deallocates++;
        break;
    }
}

void request_fill(ScarpCmd *cmd, const TraceRecord *record, int64_t now_ns)
{
    cmd->op = record->op;
    cmd->offset_bytes = record->offset_bytes;
    cmd->length_bytes = record->length_bytes;
    cmd->deadline_ns = record->deadline_ns ? now_ns + record->deadline_ns
                                           : SCARP_TIME_NEVER;
    cmd->nsid = 1;
    cmd->fua = record->fua;
    cmd->stream = record->stream;
}
