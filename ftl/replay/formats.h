/*
 * Text formats of block traces: a parser of one line for each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_FORMATS_H
#define REPLAY_FORMATS_H

#include "trace.h"

#define FIELDS_MAX 32

/* Columns of one kind of event in Windows' event tracing; 0: there is none. */
typedef struct {
    uint8_t time, offset, length, disk;
} EtwColumns;

/* State that a format keeps from line to line. */
typedef struct {
    char action;        /* blkparse: the letter whose lines are requests */
    int64_t waited_ns;  /* fio, version 2: the sum of its waits */
    GHashTable *files;  /* fio: name to device number, from 1; NULL: none yet */
    EtwColumns etw[3];  /* of reads, writes and flushes */
    TraceRecord second; /* of a line that stands for two requests */
    bool has_second;
} TraceState;

void trace_state_clear(TraceState *state);

typedef enum {
    TRACE_RECORD,  /* a request */
    TRACE_SKIP,    /* a line of the format that is no request */
    TRACE_FOREIGN, /* an operation for which a drive has no command */
    TRACE_BAD,     /* a line that is not of the format */
} TraceVerdict;

/*
 * Parses a line, which is one request, or two (state->second). A parser
 * modifies text; its times are the trace's own, not yet relative to its first.
 */
typedef TraceVerdict TraceParse(TraceState *state, char *text,
                                TraceRecord *record);

typedef enum {
    TRACE_LEADING_GARBAGE = 1, /* anything may precede the first good line */
    TRACE_NO_HEAD = 2,         /* no line of names may precede it */
    TRACE_DOTTED = 4, /* sniffed only if one of its times has a point */
    TRACE_SECTORS = 8, /* its offsets and lengths are counted in sectors */
} TraceTraits;

typedef struct {
    const char *name;
    const char *help;  /* says the fields of a line */
    TraceParse *parse;
    int traits;        /* TraceTraits */
    const char *begins; /* what the first line must begin with, or NULL */
} TraceFormat;

TraceParse trace_parse_msr, trace_parse_systor17, trace_parse_spc,
    trace_parse_alibaba, trace_parse_tencent, trace_parse_vscsi,
    trace_parse_etw;
TraceParse trace_parse_blkparse, trace_parse_fio2, trace_parse_fio3;
TraceParse trace_parse_fiu, trace_parse_mqsim, trace_parse_disksim,
    trace_parse_heimdall;

/* Returns all formats, *n of them, in the order of sniffing. */
const TraceFormat *trace_formats(size_t *n);
/* Returns NULL with *error set when no format has this name. */
const TraceFormat *trace_format_find(const char *name, GError **error);
/* Returns all names for a message; the caller frees them. */
char *trace_format_names(void);

/* ---- Sniffing ----------------------------------------------------------- */

typedef struct {
    const TraceFormat *format;
    uint32_t records; /* requests that were looked at */
    char *also;       /* names of others that fit them, joined; NULL: none */
} TraceGuess;

/* Returns blkparse's action: the first of Q, D, I and C that has lines. */
char trace_action_of(char **lines);
/* Tells whether the line is a remark, as any kind of trace may have them. */
bool trace_is_remark(const char *text);
/* Tells whether no field of the line is a number, as in names of columns. */
bool trace_is_head(const char *text);
/*
 * Chooses a format by what the lines look like, of which there is at least one;
 * false and *error set when none fits. The caller frees guess->also.
 */
bool trace_format_sniff(char **lines, const char *path, TraceGuess *guess,
                        GError **error);

#endif /* REPLAY_FORMATS_H */
