/*
 * Text formats of block traces, one function each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "csv.h"
#include "fields.h"

#include <string.h>

#define MAX_FIELDS 12
#define NS_PER_S 1000000000ll
#define TICKS_1970 116444736000000000ull

/* Splits text at any of the separators; blank: empty fields do not count. */
static int split(char *text, const char *separators, bool blank, char **field)
{
    int n = 0;

    while (n < MAX_FIELDS) {
        if (blank) {
            text += strspn(text, separators);
        }
        if (!*text) {
            break;
        }
        field[n++] = text;
        text += strcspn(text, separators);
        if (!*text) {
            break;
        }
        *text++ = '\0';
    }
    return n;
}

static bool sectors(const char *first, const char *count, TraceRecord *record)
{
    uint64_t n;

    if (!whole(first, &record->offset_bytes) || !whole(count, &n) ||
        record->offset_bytes > G_MAXINT64 / SCARP_SECTOR_BYTES ||
        n > G_MAXUINT32) {
        return false;
    }
    record->offset_bytes *= SCARP_SECTOR_BYTES;
    record->length_bytes = n * SCARP_SECTOR_BYTES;
    return true;
}

static bool device(const char *text, TraceRecord *record)
{
    uint64_t number;

    if (!whole(text, &number) || number > G_MAXUINT32) {
        return false;
    }
    record->device = number;
    return true;
}

static bool direction(const char *text, TraceRecord *record)
{
    char letter = g_ascii_toupper(*text);

    record->op = letter == 'R' ? SCARP_OP_READ : SCARP_OP_WRITE;
    return letter == 'R' || letter == 'W';
}

/* 0 = write, 1 = read */
static bool flag(const char *text, TraceRecord *record)
{
    record->op = *text == '1' ? SCARP_OP_READ : SCARP_OP_WRITE;
    return (*text == '0' || *text == '1') && !text[1];
}

/* Parses Scarp's own field: a stream number, or a placement handle. */
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
 * Parses Scarp's own field: microseconds within which the request should end;
 * 0: none.
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
 * Windows ticks (100 ns),host,disk,Read|Write,offset,bytes,response[,stream
 * [,deadline]]
 */
static TraceVerdict parse_msr(char *text, char action G_GNUC_UNUSED,
                              TraceRecord *r)
{
    char *f[MAX_FIELDS];
    uint64_t ticks;
    int n = split(text, ",", false, f);

    if (n < 6 || !whole(f[0], &ticks) || (n > 7 && !stream(f[7], r)) ||
        (n > 8 && !deadline(f[8], r))) {
        return TRACE_BAD;
    }
    /* From 1601, today's ticks do not fit into 63 bits as nanoseconds. */
    ticks -= ticks >= TICKS_1970 ? TICKS_1970 : 0;
    if (ticks > G_MAXINT64 / 100 || !device(f[2], r) || !direction(f[3], r) ||
        !whole(f[4], &r->offset_bytes) || !whole(f[5], &r->length_bytes)) {
        return TRACE_BAD;
    }
    r->time_ns = ticks * 100;
    return TRACE_RECORD;
}

/* Timestamp (s),Response,IOType,LUN,Offset,Size; a header */
static TraceVerdict parse_systor17(char *text, char action G_GNUC_UNUSED,
                                   TraceRecord *r)
{
    char *f[MAX_FIELDS];

    if (g_str_has_prefix(text, "Timestamp,")) {
        return TRACE_SKIP;
    }
    if (split(text, ",", false, f) != 6 || !decimal(f[0], NS_PER_S, &r->time_ns) ||
        !direction(f[2], r) || !device(f[3], r) ||
        !whole(f[4], &r->offset_bytes) || !whole(f[5], &r->length_bytes)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* ASU,LBA,bytes,opcode,time (s) */
static TraceVerdict parse_spc(char *text, char action G_GNUC_UNUSED,
                              TraceRecord *r)
{
    char *f[MAX_FIELDS];

    if (split(text, ",", false, f) < 5 || !device(f[0], r) ||
        !sectors(f[1], "0", r) || !whole(f[2], &r->length_bytes) ||
        !direction(f[3], r) || f[3][1] || !decimal(f[4], NS_PER_S, &r->time_ns)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* ns pid process sector sectors R|W major minor md5 */
static TraceVerdict parse_fiu(char *text, char action G_GNUC_UNUSED,
                              TraceRecord *r)
{
    char *f[MAX_FIELDS];
    uint64_t ns, major, minor;

    if (split(text, " \t", true, f) < 8 || !whole(f[0], &ns) ||
        !sectors(f[3], f[4], r) || !direction(f[5], r) || f[5][1] ||
        !whole(f[6], &major) || !whole(f[7], &minor) || major > 4095 ||
        minor > 0xfffff) {
        return TRACE_BAD;
    }
    r->time_ns = ns;
    r->device = major << 20 | minor;
    return TRACE_RECORD;
}

/* maj,min cpu seq time pid action rwbs sector + sectors [process] */
static TraceVerdict parse_blkparse(char *text, char action, TraceRecord *r)
{
    char *f[MAX_FIELDS];
    int n = split(text, " \t", true, f);
    char *comma = n ? strchr(f[0], ',') : NULL;

    /* The summary at the end is words; requests begin with the device. */
    if (n && g_ascii_isalpha(f[0][0])) {
        return TRACE_SKIP;
    }
    if (n < 6 || !comma || !decimal(f[3], NS_PER_S, &r->time_ns)) {
        return TRACE_BAD;
    }
    if (n < 10 || f[5][0] != action || f[5][1] || strcmp(f[8], "+")) {
        return TRACE_SKIP;
    }
    if (!device(comma + 1, r) || !sectors(f[7], f[9], r)) {
        return TRACE_BAD;
    }
    if (strchr(f[6], 'D')) {
        r->op = SCARP_OP_DEALLOCATE;
    } else if (strchr(f[6], 'R') || strchr(f[6], 'W')) {
        r->op = strchr(f[6], 'R') ? SCARP_OP_READ : SCARP_OP_WRITE;
    } else {
        return TRACE_SKIP;
    }
    return r->length_bytes ? TRACE_RECORD : TRACE_SKIP;
}

static TraceVerdict fio_action(char **f, int n, TraceRecord *r)
{
    static const struct {
        const char *name;
        ScarpOp op;
    } ops[] = {
        { "read", SCARP_OP_READ }, { "write", SCARP_OP_WRITE },
        { "trim", SCARP_OP_DEALLOCATE },
        { "sync", SCARP_OP_FLUSH }, { "datasync", SCARP_OP_FLUSH },
    };

    if (n >= 2 && (!strcmp(f[1], "add") || !strcmp(f[1], "open") ||
                   !strcmp(f[1], "close"))) {
        return TRACE_SKIP;
    }
    for (size_t i = 0; n >= 2 && i < G_N_ELEMENTS(ops); i++) {
        if (!strcmp(f[1], ops[i].name)) {
            r->op = ops[i].op;
            r->offset_bytes = r->length_bytes = 0;
            return r->op == SCARP_OP_FLUSH ||
                           (n >= 4 && whole(f[2], &r->offset_bytes) &&
                            whole(f[3], &r->length_bytes))
                       ? TRACE_RECORD : TRACE_BAD;
        }
    }
    return TRACE_BAD;
}

/* file action offset bytes; no times */
static TraceVerdict parse_fio2(char *text, char action G_GNUC_UNUSED,
                               TraceRecord *r)
{
    char *f[MAX_FIELDS];

    if (g_str_has_prefix(text, "fio version")) {
        return TRACE_SKIP;
    }
    r->time_ns = 0;
    r->device = 0;
    return fio_action(f, split(text, " \t", true, f), r);
}

/* time (us) file action offset bytes */
static TraceVerdict parse_fio3(char *text, char action G_GNUC_UNUSED,
                               TraceRecord *r)
{
    char *f[MAX_FIELDS];
    int n;

    if (g_str_has_prefix(text, "fio version")) {
        return TRACE_SKIP;
    }
    n = split(text, " \t", true, f);
    r->device = 0;
    if (n < 3 || !decimal(f[0], 1000, &r->time_ns)) {
        return TRACE_BAD;
    }
    return fio_action(f + 1, n - 1, r);
}

/* ns device sector sectors 0|1 */
static TraceVerdict parse_mqsim(char *text, char action G_GNUC_UNUSED,
                                TraceRecord *r)
{
    char *f[MAX_FIELDS];
    uint64_t ns;

    if (split(text, " \t", true, f) != 5 || !whole(f[0], &ns) ||
        !device(f[1], r) || !sectors(f[2], f[3], r) || !flag(f[4], r)) {
        return TRACE_BAD;
    }
    r->time_ns = ns;
    return TRACE_RECORD;
}

/* ms device sector sectors 0|1 */
static TraceVerdict parse_disksim(char *text, char action G_GNUC_UNUSED,
                                  TraceRecord *r)
{
    char *f[MAX_FIELDS];

    if (split(text, " \t", true, f) != 5 || !decimal(f[0], 1000000, &r->time_ns) ||
        !device(f[1], r) || !sectors(f[2], f[3], r) || !flag(f[4], r)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* ms device byte bytes 0|1 */
static TraceVerdict parse_heimdall(char *text, char action G_GNUC_UNUSED,
                                   TraceRecord *r)
{
    char *f[MAX_FIELDS];

    if (split(text, " \t", true, f) != 5 || !decimal(f[0], 1000000, &r->time_ns) ||
        !device(f[1], r) || !whole(f[2], &r->offset_bytes) ||
        !whole(f[3], &r->length_bytes) || r->length_bytes % 512 ||
        !flag(f[4], r)) {
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* Formats in the order of sniffing: those with more to recognise come first. */
static const TraceFormat formats[] = {
    { "systor17", "time s,response,R|W,LUN,offset,bytes; a header",
      parse_systor17, false, false },
    { "msr", "100 ns ticks,host,disk,Read|Write,offset,bytes,response"
      "[,stream[,deadline us]]",
      parse_msr, false, false },
    { "spc", "unit,sector,bytes,R|W,time s", parse_spc, false, false },
    { "blkparse", "maj,min cpu seq time s pid action rwbs sector + sectors",
      parse_blkparse, false, false },
    { "fio2", "fio version 2 iolog; file read|write|trim|sync offset bytes",
      parse_fio2, false, false },
    { "fio3", "fio version 3 iolog; us file read|write|trim|sync offset bytes",
      parse_fio3, false, false },
    { "fiu", "ns pid process sector sectors R|W major minor md5", parse_fiu,
      true, false },
    { "heimdall", "ms device byte bytes 0 (write)|1 (read)", parse_heimdall,
      false, true },
    { "mqsim", "ns device sector sectors 0 (write)|1 (read)", parse_mqsim,
      false, false },
    { "ssdsim", "ns device sector sectors 0 (write)|1 (read)", parse_mqsim,
      false, false },
    { "disksim", "ms device sector sectors 0 (write)|1 (read)", parse_disksim,
      false, true },
};

static char *format_names(void)
{
    GString *names = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_string_append_printf(names, "%s, ", formats[i].name);
    }
    g_string_append(names, "cmdlog, or " CSV_HELP);
    return g_string_free(names, false);
}

const TraceFormat *trace_format_find(const char *name, GError **error)
{
    g_autofree char *allowed = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (!strcmp(formats[i].name, name)) {
            return &formats[i];
        }
    }
    allowed = format_names();
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "--format=%s: unknown; allowed: %s", name, allowed);
    return NULL;
}

static bool looks_like(const TraceFormat *format, char **lines)
{
    int good = 0, version = 0;

    if (g_str_has_prefix(lines[0], "fio version ")) {
        version = lines[0][12] - '0';
    }
    if ((version == 2) != !strcmp(format->name, "fio2") ||
        (version == 3) != !strcmp(format->name, "fio3")) {
        return false;
    }
    /* The last line of the head may be incomplete. */
    for (char **line = lines; *line && line[1]; line++) {
        g_autofree char *copy = g_strstrip(g_strdup(*line));
        TraceRecord record = { 0 };

        if (*copy && format->fraction && !strchr(copy, '.')) {
            return false;
        }
        switch (*copy ? format->parse(copy, 'D', &record) : TRACE_SKIP) {
        case TRACE_BAD:
            if (!format->leading_garbage) {
                return false;
            }
            break;
        case TRACE_RECORD:
            good++;
            break;
        case TRACE_SKIP:
            break;
        }
    }
    return good > 0 || version;
}

const TraceFormat *trace_format_sniff(const char *head, const char *path,
                                      GError **error)
{
    g_auto(GStrv) lines = g_strsplit(head, "\n", 400);
    g_autofree char *allowed = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (lines[0] && looks_like(&formats[i], lines)) {
            return &formats[i];
        }
    }
    allowed = format_names();
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                "%s: of no format that is known; --format names one: %s", path,
                allowed);
    return NULL;
}

char *trace_formats_text(void)
{
    GString *text = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_string_append_printf(text, "%s: %s\n", formats[i].name,
                               formats[i].help);
    }
    g_string_append(text, "cmdlog: --cmd-log's binary rows, the device's too; "
                    "replayed at the drive's own times\n"
                    "csv: " CSV_HELP "\n");
    return g_string_free(text, false);
}
