/*
 * Workloads: block traces in several formats, and generators.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TRACE_H
#define SCARP_TRACE_H

#include "../scarp.h"

/* A request of a workload, before it is fitted to the drive. */
typedef struct {
    int64_t time_ns;       /* time since the workload's first request */
    uint64_t offset_bytes;
    uint64_t length_bytes;
    uint32_t device;       /* number of the device in the trace */
    ScarpOp op;
    uint16_t stream;
    bool fua;
    int64_t deadline_ns; /* from the submission on; 0: no deadline */
    uint64_t line;       /* line of the trace; 0: the workload is not a text */
    int64_t complete_ns; /* end of the command in a command log; 0: not known */
} TraceRecord;

#define TRACE_DEADLINE_MAX_US 1000000000ll

/* Returns the names of all formats, each with the fields of a line. */
char *trace_formats_text(void);

/* ---- Sources: a trace file or a generator ------------------------------ */

typedef struct Workload Workload;
struct Workload {
    /*
     * Gets the next request. Returns false if there is none. *error is then set
     * if the workload is bad.
     */
    bool (*next)(Workload *self, TraceRecord *record, GError **error);
    void (*free)(Workload *self);
    const char *format;     /* name of the format, or "generator" */
    bool absolute;          /* times and addresses are the drive's own */
    uint32_t sniffed;       /* requests that showed the format; 0: named */
    const char *also;       /* names of further formats that fit, or NULL */
    /* Lines of a trace that are not requests of the replay: */
    uint64_t skipped_lines; /* before the first good line */
    uint64_t empty_requests; /* of requests without bytes */
    uint64_t foreign_lines; /* of operations for which drives have no command */
    uint64_t broken_lines;  /* that are not of the format */
    /* How many broken lines are left out before one ends the replay. */
    uint64_t broken_allowed;
    /* Changes made by reshape_new(): */
    uint64_t skipped_requests; /* requests of operations that are left out */
    uint64_t gaps_cut;
    int64_t gaps_cut_ns;    /* sum of the times that were cut off */
    int permille_done; /* read so far; -1: unknown */
    /*
     * Called with a line about an oddity that does not stop the replay. NULL:
     * oddities are not reported.
     */
    void (*warn)(const char *text);
    uint64_t times_back;  /* requests with a time before the last one's */
    uint64_t times_ahead; /* requests more than a day after the last request */
};

Workload *trace_open(const char *path, const char *format, GError **error);
/*
 * Makes a generator from "NAME[,key=value…]" for a drive of drive_bytes bytes.
 * `seed` is used unless the text has a seed.
 */
Workload *gen_new(const char *text, uint64_t drive_bytes, uint64_t seed,
                  GError **error);
char *gen_text(void);

/* ---- Zipf, in integers -------------------------------------------------- */

typedef struct {
    uint32_t n;
    uint64_t *cumulative; /* [n]: cumulated weights 1 / rank^theta */
} Zipf;

/*
 * Makes a Zipf table, which is the same on every host. The exponent theta is in
 * thousandths.
 */
void zipf_init(Zipf *zipf, uint32_t n, uint32_t theta_permille);
void zipf_clear(Zipf *zipf);
uint32_t zipf_rank(const Zipf *zipf, uint64_t random);

#endif /* SCARP_TRACE_H */
