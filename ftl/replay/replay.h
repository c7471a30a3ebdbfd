/*
 * Running a workload on a drive, and the results.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_REPLAY_H
#define SCARP_REPLAY_H

#include "trace.h"

#include <stdio.h>

typedef enum {
    REPLAY_OPEN,   /* at the workload's times */
    REPLAY_CLOSED, /* `depth` requests at once */
    REPLAY_THINK,  /* the workload's gaps, each after a completion */
} ReplayMode;

typedef struct {
    ReplayMode mode;
    uint32_t depth;
    uint64_t speed_permille;  /* scales the workload's rate */
    uint64_t max_requests;    /* 0: all */
    uint64_t max_in_flight;   /* open loop: more are an error; 0: no limit */
    uint64_t warmup_requests; /* first requests, which are not measured */
    uint64_t align_bytes;     /* requests are multiples of it; 0: of sectors */
    /* addresses are scaled onto the drive, not folded */
    bool scale;
    uint64_t scale_bytes;     /* scaled: bytes that the trace addresses */
    bool progress;
    uint64_t max_ns;          /* of the drive's time; 0: no limit */
    FILE *rows;               /* command log, or NULL */
    FILE *gc_rows;            /* log of collections, or NULL */
    FILE *flash_rows;         /* log of where commands were served, or NULL */
    FILE *lines;              /* log of lines and jobs, or NULL */
    GArray *changes;          /* Change, or NULL */
    /*
     * Path of a command log: each command must end exactly at its time in this
     * log. NULL: ends are not compared.
     */
    const char *exact;
} ReplayOptions;

typedef struct {
    uint64_t requests, reads, writes, deallocates, flushes;
    uint64_t fua_writes;  /* writes with FUA */
    uint64_t read_bytes, write_bytes;
    uint64_t folded;      /* requests whose addresses were folded */
    uint64_t sequential;  /* requests that begin where the last one ended */
    /* bytes of the drive; a byte that is used twice counts once */
    uint64_t touched_bytes, written_bytes;
    uint32_t devices;     /* of the trace */
    uint32_t peak_in_flight;
    int64_t span_ns;      /* from the first to the last time of the workload */
    uint64_t measured;    /* requests after the warm-up */
    uint64_t measured_bytes;
    int64_t first_ns;     /* the drive's time at the beginning */
    int64_t begin_ns;     /* when the measured part began */
    int64_t end_ns;       /* when the last command completed */
} ReplayResult;

/*
 * Runs the workload. Returns false, with *error set, if the workload is bad, or
 * if the drive does not come to rest.
 */
bool replay_run(ScarpDrive *drive, Workload *workload,
                const ReplayOptions *options, ReplayResult *result,
                GError **error);

#endif /* SCARP_REPLAY_H */
