/*
 * Text formats of block traces, each with a function that parses one line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_FORMATS_H
#define REPLAY_FORMATS_H

#include "trace.h"

#define FIELDS_MAX 32

/* Columns of one kind of event in Windows' event tracing; 0: no such column. */
typedef struct {
    uint8_t time, offset, length, disk;
} EtwColumns;

/* State that a parser keeps from line to line. */
typedef struct {
    char action;        /* blkparse: lines with this letter are requests */
    int64_t waited_ns;  /* fio, version 2: all waits so far */
    GHashTable *files;  /* fio: device number by name, from 1 on; or NULL */
    EtwColumns etw[3];  /* of reads, writes and flushes */
    TraceRecord second; /* the second request of a line that is two requests */
    bool has_second;
} TraceState;

void trace_state_clear(TraceState *state);

typedef enum {
    TRACE_RECORD,  /* a request */
    TRACE_SKIP,    /* a line of the format that is not a request */
    TRACE_FOREIGN, /* an operation for which a drive has no command */
    TRACE_BAD,     /* a line that is not of the format */
} TraceVerdict;

/*
 * Parses a line, which is one request, or two requests (the second goes to
 * state->second). Modifies `text`. Times are the trace's own, not yet relative
 * to its first time.
 */
typedef TraceVerdict TraceParse(TraceState *state, char *text,
                                TraceRecord *record);

typedef enum {
    TRACE_LEADING_GARBAGE = 1, /* any lines may precede the first good one */
    /* no line of names may precede the first good one */
    TRACE_NO_HEAD = 2,
    TRACE_DOTTED = 4, /* times are in ms, mostly with a decimal point */
    TRACE_SECTORS = 8, /* offsets and lengths are in sectors */
} TraceTraits;

typedef struct {
    const char *name;
    const char *help;  /* tells the fields of a line */
    TraceParse *parse;
    int traits;        /* TraceTraits */
    const char *begins; /* begin of a trace's first line, or NULL: any */
} TraceFormat;

TraceParse trace_parse_msr, trace_parse_systor17, trace_parse_spc,
    trace_parse_alibaba, trace_parse_tencent, trace_parse_vscsi,
    trace_parse_etw;
TraceParse trace_parse_blkparse, trace_parse_fio2, trace_parse_fio3;
TraceParse trace_parse_fiu, trace_parse_mqsim, trace_parse_disksim,
    trace_parse_heimdall;

/* Returns the formats in the order of sniffing; *n is their number. */
const TraceFormat *trace_formats(size_t *n);
/*
 * Returns the format of this name. Returns NULL, with *error set, if there is
 * no such format.
 */
const TraceFormat *trace_format_find(const char *name, GError **error);
/*
 * Returns the names of all formats, for a message. The caller frees the text
 * with g_free().
 */
char *trace_format_names(void);

/* ---- Sniffing ----------------------------------------------------------- */

typedef struct {
    const TraceFormat *format;
    uint32_t records; /* number of requests that were looked at */
    char *also;       /* names of further formats that fit; NULL: none */
} TraceGuess;

/*
 * Returns the action whose lines are requests in blkparse's format: the first
 * of Q, D, I and C that occurs in any line.
 */
char trace_action_of(char **lines);
/* True when the line is a remark, as any kind of trace may have. */
bool trace_is_remark(const char *text);
/*
 * True when no field of the line is a number, so that the line may have the
 * names of columns.
 */
bool trace_is_head(const char *text);
/*
 * Chooses a format by the first lines of a trace; there is at least one line.
 * Returns false, with *error set, if no format fits. The caller frees
 * guess->also with g_free().
 */
bool trace_format_sniff(char **lines, const char *path, TraceGuess *guess,
                        GError **error);

#endif /* REPLAY_FORMATS_H */
