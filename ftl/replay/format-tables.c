/*
 * Formats of published tables: cloud volumes, servers, storage benchmarks.
 * docs/replay.md says where each of them is described.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fields.h"
#include "formats.h"

/*
 * Parses an additional field of Scarp's: a stream number, or a placement
 * handle.
 */
static bool stream(const char *text, TraceRecord *record)
{
    uint64_t number;

    if (!whole(text, &number) || number > G_MAXUINT16) {
        return false;
    }
    record->stream = number;
    return true;
}

/*
 * Parses an additional field of Scarp's: the microseconds in which the request
 * should end; 0: no deadline.
 */
static bool deadline(const char *text, TraceRecord *record)
{
    uint64_t number;

    if (!whole(text, &number) || number > TRACE_DEADLINE_MAX_US) {
        return false;
    }
    record->deadline_ns = number * 1000;
    return true;
}

/*
 * Columns: Windows ticks (100 ns),host,disk,Read|Write,offset,bytes,response
 * [,stream[,deadline]]
 */
TraceVerdict trace_parse_msr(TraceState *state G_GNUC_UNUSED, char *text,
                             TraceRecord *r)
{
    char *f[FIELDS_MAX];
    int n = split(text, ",", false, f, FIELDS_MAX);

    if (n < 6 || (n > 7 && !stream(f[7], r)) || (n > 8 && !deadline(f[8], r)) ||
        strchr(f[0], '.') || !decimal(f[0], 100, &r->time_ns) ||
        !device(f[2], r) || !direction(f[3], r) || !bytes(f[4], f[5], r)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* Columns: Timestamp (s),Response,IOType,LUN,Offset,Size */
TraceVerdict trace_parse_systor17(TraceState *state G_GNUC_UNUSED, char *text,
                                  TraceRecord *r)
{
    char *f[FIELDS_MAX];

    if (split(text, ",", false, f, FIELDS_MAX) != 6 ||
        !decimal(f[0], NS_PER_S, &r->time_ns) || !direction(f[2], r) ||
        !device(f[3], r) || !bytes(f[4], f[5], r)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* Columns: ASU,LBA,bytes,opcode,time (s) */
TraceVerdict trace_parse_spc(TraceState *state G_GNUC_UNUSED, char *text,
                             TraceRecord *r)
{
    char *f[FIELDS_MAX];

    if (split(text, ",", false, f, FIELDS_MAX) < 5 || !device(f[0], r) ||
        !sectors(f[1], "0", r) || !whole(f[2], &r->length_bytes) ||
        !direction(f[3], r) || f[3][1] ||
        !decimal(f[4], NS_PER_S, &r->time_ns)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* Columns: volume,R|W,offset,bytes,microseconds */
TraceVerdict trace_parse_alibaba(TraceState *state G_GNUC_UNUSED, char *text,
                                 TraceRecord *r)
{
    char *f[FIELDS_MAX];

    if (split(text, ",", false, f, FIELDS_MAX) != 5 || !device(f[0], r) ||
        !direction(f[1], r) || f[1][1] || !bytes(f[2], f[3], r) ||
        !decimal(f[4], 1000, &r->time_ns)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* Columns: seconds,sector,sectors,0 (read)|1 (write),volume */
TraceVerdict trace_parse_tencent(TraceState *state G_GNUC_UNUSED, char *text,
                                 TraceRecord *r)
{
    char *f[FIELDS_MAX];

    if (split(text, ",", false, f, FIELDS_MAX) != 5 ||
        !decimal(f[0], NS_PER_S, &r->time_ns) || !sectors(f[1], f[2], r) ||
        !flag(f[3], '1', '0', r) || !device(f[4], r)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* Columns: number,bytes,segments,command,sector,microseconds */
TraceVerdict trace_parse_vscsi(TraceState *state G_GNUC_UNUSED, char *text,
                               TraceRecord *r)
{
    char *f[FIELDS_MAX];
    uint64_t number;

    if (split(text, ",", false, f, FIELDS_MAX) < 6 || !whole(f[0], &number) ||
        !sectors(f[4], "0", r) || !whole(f[1], &r->length_bytes) ||
        !decimal(f[5], 1000, &r->time_ns)) {
        return TRACE_BAD;
    }
    return direction(f[3], r) ? TRACE_RECORD : TRACE_FOREIGN;
}

/* ---- Windows' event tracing --------------------------------------------- */

static const struct {
    const char *event;
    ScarpOp op;
} etw_events[] = {
    { "DiskRead", SCARP_OP_READ },
    { "DiskWrite", SCARP_OP_WRITE },
    { "DiskFlush", SCARP_OP_FLUSH },
};

/* Reads a line of the head, which names the columns of one kind of event. */
static EtwColumns etw_columns(char **f, int n)
{
    EtwColumns columns = { 0 };

    for (int i = 1; i < n; i++) {
        uint8_t *column = !strcmp(f[i], "TimeStamp") ? &columns.time
                          : !strcmp(f[i], "ByteOffset") ? &columns.offset
                          : !strcmp(f[i], "IOSize") ? &columns.length
                          : !strcmp(f[i], "DiskNum") ? &columns.disk : NULL;

        if (column) {
            *column = i;
        }
    }
    return columns;
}

static bool etw_has(const EtwColumns *columns, int n, bool places)
{
    return columns->time && columns->disk && columns->time < n &&
           columns->disk < n &&
           (!places || (columns->offset && columns->length &&
                        columns->offset < n && columns->length < n));
}

/*
 * Columns: Event,TimeStamp (us),... of disk events, as xperf and tracerpt print
 * them
 */
TraceVerdict trace_parse_etw(TraceState *state, char *text, TraceRecord *r)
{
    char *f[FIELDS_MAX];
    int n = split(text, ",", false, f, FIELDS_MAX);
    uint64_t disk;

    for (size_t i = 0; n > 1 && i < G_N_ELEMENTS(etw_events); i++) {
        EtwColumns *columns = &state->etw[i];
        bool places = etw_events[i].op != SCARP_OP_FLUSH;

        if (strcmp(f[0], etw_events[i].event)) {
            continue;
        }
        if (!strcmp(f[1], "TimeStamp")) {
            *columns = etw_columns(f, n);
            return etw_has(columns, n, places) ? TRACE_SKIP : TRACE_BAD;
        }
        if (!etw_has(columns, n, places) ||
            !decimal(f[columns->time], 1000, &r->time_ns) ||
            !whole_or_hex(f[columns->disk], &disk) || disk > G_MAXUINT32 ||
            (places && (!whole_or_hex(f[columns->offset], &r->offset_bytes) ||
                        !whole_or_hex(f[columns->length],
                                      &r->length_bytes)))) {
            return TRACE_BAD;
        }
        r->device = disk;
        r->op = etw_events[i].op;
        return TRACE_RECORD;
    }
    return TRACE_SKIP;
}
