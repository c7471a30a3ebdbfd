/*
 * Workloads: block traces in several formats, and generators.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TRACE_H
#define SCARP_TRACE_H

#include "../scarp.h"

/* A request of a workload, before it is fitted to a drive. */
typedef struct {
    int64_t time_ns;       /* since the workload's first request */
    uint64_t offset_bytes;
    uint64_t length_bytes;
    uint32_t device;       /* of the trace */
    ScarpOp op;
    uint16_t stream;
    bool fua;
    int64_t deadline_ns; /* from its submission on; 0: none */
    uint64_t line;       /* of the trace's text; 0: it has none */
} TraceRecord;

#define TRACE_DEADLINE_MAX_US 1000000000ll

/* The formats' names, each with what a line of it has. */
char *trace_formats_text(void);

/* ---- Sources: a trace file or a generator ------------------------------ */

typedef struct Workload Workload;
struct Workload {
    /* Returns false at the end, or with *error set. */
    bool (*next)(Workload *self, TraceRecord *record, GError **error);
    void (*free)(Workload *self);
    const char *format;     /* its name, "generator" */
    bool absolute;          /* times are the drive's, not relative */
    uint32_t sniffed;       /* requests that told the format; 0: it was named */
    const char *also;       /* other formats that fit them, joined; or NULL */
    /* Lines of a trace that are not replayed: */
    uint64_t skipped_lines; /* a head, or garbage, before the first good line */
    uint64_t empty_requests; /* of no bytes */
    uint64_t foreign_lines; /* operations for which a drive has no command */
    /* Changes that reshape_new() made to the workload: */
    uint64_t skipped_requests; /* of operations that are left out */
    uint64_t gaps_cut;
    int64_t gaps_cut_ns;    /* the sum of what was taken off them */
    int permille_done; /* of the input read so far; -1: unknown */
    /* Takes a line about an oddity that can be replayed; may be NULL. */
    void (*warn)(const char *text);
    uint64_t times_back;  /* requests earlier than the one before */
    uint64_t times_ahead; /* more than a day later */
};

Workload *trace_open(const char *path, const char *format, GError **error);
/*
 * Makes a generator from "NAME[,key=value…]"; drive_bytes is the drive's size,
 * and seed the run's unless the text has one.
 */
Workload *gen_new(const char *text, uint64_t drive_bytes, uint64_t seed,
                  GError **error);
char *gen_text(void);

/* ---- Zipf, in integers -------------------------------------------------- */

typedef struct {
    uint32_t n;
    uint64_t *cumulative; /* [n]: cumulated weights 1 / rank^theta */
} Zipf;

/* theta is in thousandths. The table is the same on every host. */
void zipf_init(Zipf *zipf, uint32_t n, uint32_t theta_permille);
void zipf_clear(Zipf *zipf);
uint32_t zipf_rank(const Zipf *zipf, uint64_t random);

#endif /* SCARP_TRACE_H */
