/*
 * Formats of tracers and benchmarks: blkparse, fio.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fields.h"
#include "formats.h"

/*
 * Parses rwbs, the operation as the kernel's block tracer and blkparse write
 * it. An F before the letter of the operation asks for a flush before the data,
 * and sets *flush. An F behind that letter is FUA. Returns TRACE_SKIP for an
 * operation without data.
 */
static TraceVerdict read_rwbs(const char *rwbs, bool *flush, TraceRecord *r)
{
    size_t before = strspn(rwbs, "F");

    *flush = before > 0;
    rwbs += before;
    switch (*rwbs) {
    case 'D':
        r->op = SCARP_OP_DEALLOCATE;
        return TRACE_RECORD;
    case 'R':
        r->op = SCARP_OP_READ;
        return TRACE_RECORD;
    case 'W':
        r->op = SCARP_OP_WRITE;
        r->fua = strchr(rwbs + 1, 'F') != NULL;
        return TRACE_RECORD;
    case 'Z': /* zone commands, such as a reset */
        return TRACE_FOREIGN;
    default:
        return TRACE_SKIP;
    }
}

static void become_flush(TraceRecord *r)
{
    r->op = SCARP_OP_FLUSH;
    r->fua = false;
    r->offset_bytes = r->length_bytes = 0;
}

/* Columns: maj,min cpu seq time pid action rwbs [sector + sectors] [process] */
TraceVerdict trace_parse_blkparse(TraceState *state, char *text,
                                  TraceRecord *r)
{
    char *f[FIELDS_MAX];
    int n = split(text, " \t", true, f, FIELDS_MAX);
    char *comma = n ? strchr(f[0], ',') : NULL;
    TraceVerdict verdict;
    bool flush, data;

    /* lines of the summary begin with a word, requests with a device */
    if (n && g_ascii_isalpha(f[0][0])) {
        return TRACE_SKIP;
    }
    if (n < 6 || !comma || !decimal(f[3], NS_PER_S, &r->time_ns)) {
        return TRACE_BAD;
    }
    if (n < 7 || f[5][0] != state->action || f[5][1]) {
        return TRACE_SKIP;
    }
    *comma = '\0';
    if (!major_minor(f[0], comma + 1, r)) {
        return TRACE_BAD;
    }
    verdict = read_rwbs(f[6], &flush, r);
    data = verdict == TRACE_RECORD && n >= 10 && !strcmp(f[8], "+");
    if (data && !sectors(f[7], f[9], r)) {
        return TRACE_BAD;
    }
    if (flush && data && r->length_bytes) {
        state->second = *r;
        state->has_second = true;
    }
    if (flush) {
        become_flush(r);
        return TRACE_RECORD;
    }
    return data || verdict == TRACE_FOREIGN ? verdict : TRACE_SKIP;
}

/* ---- fio ---------------------------------------------------------------- */

/* Returns the device number of a file. Files are numbered as they appear. */
static uint32_t file_number(TraceState *state, const char *name)
{
    gpointer number;

    if (!state->files) {
        state->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             NULL);
    }
    number = g_hash_table_lookup(state->files, name);
    if (!number) {
        number = GUINT_TO_POINTER(g_hash_table_size(state->files) + 1);
        g_hash_table_insert(state->files, g_strdup(name), number);
    }
    return GPOINTER_TO_UINT(number) - 1;
}

/*
 * Parses the file and the action of a line, and the offset and bytes of a
 * request.
 */
static TraceVerdict fio_action(TraceState *state, char **f, int n,
                               TraceRecord *r)
{
    static const struct {
        const char *name;
        TraceVerdict verdict;
        ScarpOp op;
    } actions[] = {
        { "add", TRACE_SKIP, 0 }, { "open", TRACE_SKIP, 0 },
        { "close", TRACE_SKIP, 0 },
        { "read", TRACE_RECORD, SCARP_OP_READ },
        { "write", TRACE_RECORD, SCARP_OP_WRITE },
        { "trim", TRACE_RECORD, SCARP_OP_DEALLOCATE },
        { "sync", TRACE_RECORD, SCARP_OP_FLUSH },
        { "datasync", TRACE_RECORD, SCARP_OP_FLUSH },
        /* sync_file_range() makes the host write data, and flushes no drive */
        { "sync_file_range", TRACE_FOREIGN, 0 },
    };

    for (size_t i = 0; n >= 2 && i < G_N_ELEMENTS(actions); i++) {
        if (strcmp(f[1], actions[i].name)) {
            continue;
        }
        r->device = file_number(state, f[0]);
        r->op = actions[i].op;
        if (actions[i].verdict != TRACE_RECORD || r->op == SCARP_OP_FLUSH) {
            return actions[i].verdict;
        }
        return n >= 4 && bytes(f[2], f[3], r) ? TRACE_RECORD : TRACE_BAD;
    }
    return TRACE_BAD;
}

/* Columns: file action offset bytes; or file wait microseconds */
TraceVerdict trace_parse_fio2(TraceState *state, char *text, TraceRecord *r)
{
    char *f[FIELDS_MAX];
    int64_t ns;
    int n;

    if (g_str_has_prefix(text, "fio version")) {
        return TRACE_SKIP;
    }
    n = split(text, " \t", true, f, FIELDS_MAX);
    if (n >= 2 && !strcmp(f[1], "wait")) {
        if (n < 3 || !decimal(f[2], 1000, &ns) ||
            ns > G_MAXINT64 - state->waited_ns) {
            return TRACE_BAD;
        }
        state->waited_ns += ns;
        return TRACE_SKIP;
    }
    r->time_ns = state->waited_ns;
    return fio_action(state, f, n, r);
}

/* Columns: time (us) file action offset bytes */
TraceVerdict trace_parse_fio3(TraceState *state, char *text, TraceRecord *r)
{
    char *f[FIELDS_MAX];
    int n;

    if (g_str_has_prefix(text, "fio version")) {
        return TRACE_SKIP;
    }
    n = split(text, " \t", true, f, FIELDS_MAX);
    if (n < 3 || !decimal(f[0], 1000, &r->time_ns)) {
        return TRACE_BAD;
    }
    /* fio ignores waits in version 3, where each line has a time */
    if (!strcmp(f[2], "wait")) {
        return TRACE_FOREIGN;
    }
    return fio_action(state, f + 1, n - 1, r);
}
