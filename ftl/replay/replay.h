/*
 * Driving a drive with a workload, and the results.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REPLAY_H
#define SCARP_REPLAY_H

#include "trace.h"

#include <stdio.h>

typedef enum {
    REPLAY_OPEN,   /* at the workload's times */
    REPLAY_CLOSED, /* depth requests at once */
    REPLAY_THINK,  /* the workload's gaps, counted from the last completion */
} ReplayMode;

typedef struct {
    ReplayMode mode;
    uint32_t depth;
    uint64_t speed_permille;  /* scales the workload's rate */
    uint64_t max_requests;    /* 0: all */
    uint64_t max_in_flight;   /* open loop: more are an error; 0: no limit */
    uint64_t warmup_requests; /* first ones, not in the results */
    uint64_t align_bytes;     /* requests are widened to it; 0: sectors */
    bool scale;               /* addresses scaled, not folded, onto the drive */
    uint64_t scale_bytes;     /* the trace's address space, when scaled */
    bool progress;
    uint64_t max_ns;          /* of the drive's time; 0: no limit */
    FILE *rows;               /* command log, or NULL */
    FILE *gc_rows;            /* log of collections, or NULL */
    FILE *flash_rows;         /* log of where commands were served, or NULL */
    FILE *lines;              /* log of lines and jobs, or NULL */
} ReplayOptions;

typedef struct {
    uint64_t requests, reads, writes, deallocates, flushes;
    uint64_t fua_writes;  /* of the writes */
    uint64_t read_bytes, write_bytes;
    uint64_t folded;      /* requests wrapped onto the drive */
    uint64_t sequential;  /* begin where the one before ended */
    uint64_t touched_bytes, written_bytes; /* of the drive, counted once */
    uint32_t devices;     /* of the trace */
    uint32_t peak_in_flight;
    int64_t span_ns;      /* span of the workload's own times */
    uint64_t measured;    /* after the warm-up */
    uint64_t measured_bytes;
    int64_t first_ns;     /* the drive's time at the start */
    int64_t begin_ns;     /* start of what is measured */
    int64_t end_ns;       /* the last completion */
} ReplayResult;

/* False and *error set when the workload is bad or the drive is not quiet. */
bool replay_run(ScarpDrive *drive, Workload *workload,
                const ReplayOptions *options, ReplayResult *result,
                GError **error);

#endif /* SCARP_REPLAY_H */
