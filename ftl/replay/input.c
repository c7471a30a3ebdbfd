/*
 * Trace files: plain, gzip or zstd, read as a stream, line by line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"
#include "csv.h"
#include "fields.h"
#include "formats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Bytes of text in the buffer. A trace is sniffed by its first buffer. */
#define BUFFER_BYTES 262144
#define MAX_SKIPPED_HEAD 10000
#define DAY_NS (86400 * NS_PER_S)
#define PRINTABLE G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS \
    " !\"#$%&'()*+,-./:;<=>?@[]^_{|}~"

typedef struct {
    Workload base;
    char *path;
    FILE *file;
    gzFile gzip;          /* plain files, too: zlib passes them through */
    ZSTD_DStream *zstd;
    ZSTD_inBuffer in;
    char *raw;            /* compressed bytes for zstd */
    bool zstd_open;       /* a zstd frame has begun and has not ended */
    char *buffer;         /* decompressed text */
    size_t at, filled;
    bool ended;
    int64_t file_bytes;
    uint64_t line;
    uint64_t records;     /* lines that were requests */
    uint64_t given;       /* requests handed out */
    int64_t first_ns;
    int64_t last_ns;      /* time of the request given out last */
    const TraceFormat *format;
    CsvFormat *csv;       /* the user's table, or NULL */
    TraceState state;
    char *also;           /* owned; base.also points to it */
    bool wide;            /* UTF-16, of which the zero bytes are left out */
    GString *text;        /* the present line */
} TraceFile;

static bool damaged(TraceFile *trace, const char *what, GError **error)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "%s: %s", trace->path,
                what);
    return false;
}

static bool refill_zstd(TraceFile *trace, size_t room, GError **error)
{
    ZSTD_outBuffer out = { trace->buffer + trace->filled, room, 0 };

    while (!out.pos) {
        size_t left;

        if (trace->in.pos == trace->in.size) {
            trace->in.size = fread(trace->raw, 1, BUFFER_BYTES, trace->file);
            trace->in.pos = 0;
            if (!trace->in.size) {
                if (trace->zstd_open) {
                    return damaged(trace, "ends in the middle of a zstd frame",
                                   error);
                }
                trace->ended = true;
                return true;
            }
        }
        left = ZSTD_decompressStream(trace->zstd, &out, &trace->in);
        if (ZSTD_isError(left)) {
            return damaged(trace, ZSTD_getErrorName(left), error);
        }
        trace->zstd_open = left != 0;
    }
    trace->filled += out.pos;
    return true;
}

/*
 * Appends text to the buffer. Returns false, with *error set, if the file is
 * damaged.
 */
static bool refill(TraceFile *trace, GError **error)
{
    size_t room;
    int got, code;

    memmove(trace->buffer, trace->buffer + trace->at, trace->filled - trace->at);
    trace->filled -= trace->at;
    trace->at = 0;
    room = BUFFER_BYTES - trace->filled;
    if (trace->zstd) {
        return refill_zstd(trace, room, error);
    }
    got = gzread(trace->gzip, trace->buffer + trace->filled, room);
    if (got < 0 || (!got && !gzeof(trace->gzip))) {
        return damaged(trace, gzerror(trace->gzip, &code), error);
    }
    if (!got) {
        /* Only gzclose_r() tells whether a gzip file was truncated. */
        if (gzclose_r(trace->gzip) != Z_OK) {
            trace->gzip = NULL;
            return damaged(trace, "ends in the middle of a gzip member", error);
        }
        trace->gzip = NULL;
        trace->ended = true;
    }
    trace->filled += got;
    return true;
}

/*
 * Appends n bytes to `text`. In UTF-16 (`wide`) a NUL is half of a letter, and
 * is left out. Otherwise a NUL is garbage, at which parsers must not stop, and
 * becomes a blank.
 */
static void append_text(GString *text, const char *bytes, size_t n, bool wide)
{
    size_t first = text->len, at = first;

    g_string_append_len(text, bytes, n);
    for (size_t i = first; i < text->len; i++) {
        if (text->str[i] || !wide) {
            text->str[at++] = text->str[i] ? text->str[i] : ' ';
        }
    }
    g_string_truncate(text, at);
}

/* Reads the next line into trace->text, without its line end. */
static bool read_line(TraceFile *trace, GError **error)
{
    for (;;) {
        char *begin = trace->buffer + trace->at;
        size_t length = trace->filled - trace->at;
        char *end = memchr(begin, '\n', length);

        if (end || (trace->ended && length) || length == BUFFER_BYTES) {
            size_t used = end ? (size_t)(end - begin) : length;

            g_string_truncate(trace->text, 0);
            append_text(trace->text, begin, used, trace->wide);
            trace->at += used + (end != NULL);
            trace->line++;
            return true;
        }
        if (trace->ended || !refill(trace, error)) {
            return false;
        }
        if (trace->ended && trace->filled == trace->at) {
            return false;
        }
    }
}

/*
 * Returns how many permille of the file have been read. -1: the size of the
 * file is not known.
 */
static int done_permille(TraceFile *trace)
{
    int64_t at = trace->zstd ? ftello(trace->file)
                 : trace->gzip ? gzoffset(trace->gzip) : trace->file_bytes;

    return trace->file_bytes > 0 && at >= 0 ? at * 1000 / trace->file_bytes
                                            : -1;
}

/*
 * Counts times that go back or jump ahead, and warns of the first of each: the
 * line is wrong, or another trace begins there.
 */
static void judge_time(TraceFile *trace, int64_t time_ns)
{
    Workload *base = &trace->base;
    int64_t ahead_ns = time_ns - trace->last_ns;
    g_autofree char *text = NULL;

    if (ahead_ns < 0 && !base->times_back++) {
        text = g_strdup_printf("%s:%" G_GUINT64_FORMAT ": time goes back by "
                               "%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT
                               " s; the order of the lines counts",
                               trace->path, trace->line, -ahead_ns / NS_PER_S,
                               -ahead_ns % NS_PER_S / 1000);
    } else if (ahead_ns > DAY_NS && !base->times_ahead++) {
        text = g_strdup_printf("%s:%" G_GUINT64_FORMAT ": time jumps ahead by "
                               "%" G_GINT64_FORMAT " days: a pause as long, "
                               "unless the line is wrong; --max-gap cuts it",
                               trace->path, trace->line, ahead_ns / DAY_NS);
    }
    if (text && base->warn) {
        base->warn(text);
    }
}

static bool give(TraceFile *trace, TraceRecord *record, GError **error)
{
    if (!trace->given++) {
        trace->first_ns = trace->last_ns = record->time_ns;
    }
    judge_time(trace, record->time_ns);
    trace->last_ns = record->time_ns;
    record->time_ns -= trace->first_ns;
    record->line = trace->line;
    trace->base.permille_done = done_permille(trace);
    if (record->length_bytes > G_MAXUINT32) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s:%" G_GUINT64_FORMAT ": a request of %"
                    G_GUINT64_FORMAT " bytes; at most %u are allowed",
                    trace->path, trace->line, record->length_bytes,
                    G_MAXUINT32);
        return false;
    }
    return true;
}

static bool bad_line(TraceFile *trace, char *kept, const char *problem,
                     GError **error)
{
    const char *advice = "";

    if (trace->records) {
        advice = "; --skip-broken N leaves out so many such lines";
    } else if (trace->base.sniffed) {
        advice = "; --format names another format";
    }
    g_strcanon(kept, PRINTABLE, '?');
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                "%s:%" G_GUINT64_FORMAT ": '%s' is not a line of %s (%s)%s%s",
                trace->path, trace->line, kept, trace->format->name,
                problem ? problem : trace->format->help,
                trace->records && trace->base.sniffed
                    ? "; the lines before it are: --format names another" : "",
                advice);
    return false;
}

/*
 * Leaves a broken line out, and warns of the first one. Returns false if no
 * more of them are allowed.
 */
static bool leave_out(TraceFile *trace)
{
    Workload *base = &trace->base;

    if (base->broken_lines == base->broken_allowed) {
        return false;
    }
    if (!base->broken_lines++ && base->warn) {
        g_autofree char *text =
            g_strdup_printf("%s:%" G_GUINT64_FORMAT ": left out: not a line of "
                            "%s", trace->path, trace->line,
                            trace->format->name);

        base->warn(text);
    }
    return true;
}

/*
 * Parses a line. If the line is wrong, *problem may say more than that it is
 * not of the format.
 */
static TraceVerdict parse_line(TraceFile *trace, char *text,
                               TraceRecord *record, char **problem)
{
    if (!trace->csv) {
        return trace->format->parse(&trace->state, text, record);
    }
    if (trace->line <= csv_header_lines(trace->csv)) {
        return TRACE_SKIP;
    }
    if (!csv_parse(trace->csv, text, record, problem)) {
        g_strcanon(*problem, PRINTABLE, '?');
        return TRACE_BAD;
    }
    return TRACE_RECORD;
}

/* True when the line, which is not a request, may precede the first request. */
static bool is_of_head(TraceFile *trace, const char *line)
{
    int traits = trace->format->traits;

    return !trace->records && trace->base.skipped_lines < MAX_SKIPPED_HEAD &&
           (traits & TRACE_LEADING_GARBAGE ||
            (!(traits & TRACE_NO_HEAD) && trace_is_head(line)));
}

static bool trace_next(Workload *self, TraceRecord *record, GError **error)
{
    TraceFile *trace = (TraceFile *)self;
    GError *damage = NULL;

    if (trace->state.has_second) {
        trace->state.has_second = false;
        *record = trace->state.second;
        return give(trace, record, error);
    }
    while (read_line(trace, &damage)) {
        g_autofree char *problem = NULL;
        char kept[200];
        char *text = g_strstrip(trace->text->str);

        if (!*text || trace_is_remark(text)) {
            continue;
        }
        g_strlcpy(kept, text, sizeof(kept));
        *record = (TraceRecord) { 0 };
        switch (parse_line(trace, text, record, &problem)) {
        case TRACE_RECORD:
            trace->records++;
            if (record->length_bytes || record->op == SCARP_OP_FLUSH) {
                return give(trace, record, error);
            }
            self->empty_requests++;
            break;
        case TRACE_FOREIGN:
            self->foreign_lines++;
            break;
        case TRACE_SKIP:
            break;
        case TRACE_BAD:
            if (is_of_head(trace, kept)) {
                self->skipped_lines++;
            } else if (!leave_out(trace)) {
                kept[60] = '\0';
                return bad_line(trace, kept, problem, error);
            }
            break;
        }
    }
    if (damage) {
        g_propagate_error(error, damage);
    }
    return false;
}

static void trace_free(Workload *self)
{
    TraceFile *trace = (TraceFile *)self;

    if (trace->gzip) {
        gzclose_r(trace->gzip);
    }
    if (trace->file) {
        fclose(trace->file);
    }
    ZSTD_freeDStream(trace->zstd);
    csv_free(trace->csv);
    trace_state_clear(&trace->state);
    g_free(trace->also);
    g_string_free(trace->text, true);
    g_free(trace->raw);
    g_free(trace->buffer);
    g_free(trace->path);
    g_free(trace);
}

static bool open_file(TraceFile *trace, GError **error)
{
    static const unsigned char zstd_magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
    unsigned char magic[4] = { 0 };

    trace->file = fopen(trace->path, "rb");
    if (!trace->file) {
        return damaged(trace, g_strerror(errno), error);
    }
    if (!fseeko(trace->file, 0, SEEK_END)) {
        trace->file_bytes = ftello(trace->file);
    }
    rewind(trace->file);
    if (fread(magic, 1, 4, trace->file) == 4 && !memcmp(magic, zstd_magic, 4)) {
        rewind(trace->file);
        trace->zstd = ZSTD_createDStream();
        trace->raw = g_malloc(BUFFER_BYTES);
        trace->in.src = trace->raw;
        return true;
    }
    trace->gzip = gzopen(trace->path, "rb");
    return trace->gzip || damaged(trace, g_strerror(errno), error);
}

static bool is_cmdlog(const char *path)
{
    char magic[8] = { 0 };
    FILE *file = fopen(path, "rb");

    if (file) {
        if (fread(magic, 1, 8, file) != 8) {
            magic[0] = 0;
        }
        fclose(file);
    }
    return !memcmp(magic, CMDLOG_MAGIC, 8);
}

/*
 * Returns the format of this name. Returns NULL, with *error set, if there is
 * no such format.
 */
static const TraceFormat *named_format(TraceFile *trace, const char *format,
                                       GError **error)
{
    static const TraceFormat csv = { .name = "csv", .help = CSV_HELP };

    if (!g_str_has_prefix(format, CSV_PREFIX)) {
        return trace_format_find(format, error);
    }
    trace->csv = csv_new(format + strlen(CSV_PREFIX), error);
    return trace->csv ? &csv : NULL;
}

/*
 * Returns the lines in the buffer, except a last line that may be incomplete.
 */
static char **first_lines(TraceFile *trace)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char *empty[] = { (char *)"", NULL };
    const char *end;

    append_text(text, trace->buffer + trace->at, trace->filled - trace->at,
                trace->wide);
    end = strrchr(text->str, '\n');
    if (!trace->ended) {
        g_string_truncate(text, end ? end - text->str : 0);
    }
    g_strchomp(text->str);
    return *text->str ? g_strsplit(text->str, "\n", -1) : g_strdupv(empty);
}

/* Skips the byte order mark with which Windows programs begin a text. */
static void skip_mark(TraceFile *trace)
{
    const char *text = trace->buffer;

    if (trace->filled >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        trace->at = 3;
    } else if (trace->filled >= 2 && (!memcmp(text, "\xff\xfe", 2) ||
                                      !memcmp(text, "\xfe\xff", 2))) {
        trace->at = 2;
        trace->wide = true;
    }
}

/*
 * Sets the format with this name. "blkparse:Q" names the action of blkparse,
 * too.
 */
static bool read_name(TraceFile *trace, const char *format, char **lines,
                      GError **error)
{
    static const char blkparse[] = "blkparse:";
    g_autofree char *name = g_strdup(format);

    trace->state.action = trace_action_of(lines);
    if (g_str_has_prefix(format, blkparse)) {
        const char *action = format + strlen(blkparse);

        if (!*action || !strchr("QDIC", *action) || action[1]) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--format=%s: allowed: the actions Q, D, I, C", format);
            return false;
        }
        trace->state.action = *action;
        name[strlen(blkparse) - 1] = '\0';
    }
    trace->format = named_format(trace, name, error);
    return trace->format;
}

static bool find_format(TraceFile *trace, const char *format, GError **error)
{
    g_auto(GStrv) lines = NULL;
    TraceGuess guess;

    while (!trace->ended && trace->filled < BUFFER_BYTES) {
        if (!refill(trace, error)) {
            return false;
        }
    }
    skip_mark(trace);
    lines = first_lines(trace);
    if (format) {
        return read_name(trace, format, lines, error);
    }
    if (!**lines && !lines[1]) {
        return damaged(trace, "is empty", error);
    }
    trace->state.action = trace_action_of(lines);
    if (!trace_format_sniff(lines, trace->path, &guess, error)) {
        return false;
    }
    trace->format = guess.format;
    trace->base.sniffed = guess.records;
    trace->base.also = trace->also = guess.also;
    return true;
}

Workload *trace_open(const char *path, const char *format, GError **error)
{
    TraceFile *trace;

    if (format ? !strcmp(format, "cmdlog") : is_cmdlog(path)) {
        return cmdlog_open(path, error);
    }
    trace = g_new0(TraceFile, 1);
    trace->base.next = trace_next;
    trace->base.free = trace_free;
    trace->base.permille_done = -1;
    trace->path = g_strdup(path);
    trace->buffer = g_malloc(BUFFER_BYTES);
    trace->text = g_string_new(NULL);
    if (!open_file(trace, error) || !find_format(trace, format, error)) {
        trace_free(&trace->base);
        return NULL;
    }
    trace->base.format = trace->format->name;
    return &trace->base;
}
