/*
 * The array's core on simulated drives: declarations that the program's files
 * share.
 *
 * The program has one thread and one clock, of whole nanoseconds. The same
 * options give the same bytes. The program uses the engine only through its
 * public header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_SIM_H
#define ARRAY_SIM_H

#include "../array.h"
#include "scarp.h"

#include <glib.h>
#include <stdio.h>

typedef enum {
    SIM_INDEPENDENT, /* each drive has threads of its own, no array */
    SIM_STRIPED,     /* striped over the drives, no cache */
    SIM_CACHED,      /* the array without its flusher */
    SIM_FLUSHER,     /* the array */
    SIM_COORDINATED, /* the array; its drives take turns in collecting */
    SIM_MODES
} SimMode;

extern const char *const sim_mode_names[SIM_MODES];

typedef struct {
    SimMode mode;
    const char *description; /* of the drives */
    const char *scheme;
    const char *params;
    const char *overrides;
    const char *keys;        /* of the array */
    uint64_t seed;
    uint32_t drives;
    uint32_t threads;        /* 0: one a drive */
    uint32_t depth;          /* requests outstanding in each thread */
    uint32_t drive_slots;    /* most I/O on a drive at once, without a cache */
    int64_t host_ns;         /* a thread's time for a request */
    bool zipf;               /* Zipf's law, exponent 1; else uniform */
    uint32_t read_permille;
    uint32_t request_bytes;  /* a page, or a divisor of one */
    uint32_t fill_permille; /* part of each drive that is aged and addressed */
    bool fresh;              /* drives are not aged: no collection has run */
    const char *images;      /* folder of aged drives, or NULL */
    const char *record;      /* file for the core's record, or NULL */
    uint64_t warmup;         /* requests; UINT64_MAX: four times the cache */
    uint64_t requests;       /* requests that are measured */
    /* a thread's requests from flush to flush; 0: none */
    uint64_t barrier_every;
    int64_t turn_ns;         /* length of a turn */
    uint32_t turn_drives;    /* drives that collect at a time */
    uint32_t turn_free_blocks; /* a turn collects up to so many, per plane */
} SimOptions;

/* ---- workload.c -------------------------------------------------------- */

/*
 * A generator of random numbers. It is Scarp's own, so that results do not
 * depend on a library's version.
 */
typedef struct {
    uint64_t state;
} SimRandom;

uint64_t sim_random(SimRandom *random);
uint64_t sim_below(SimRandom *random, uint64_t n); /* uniform in [0, n) */
/*
 * Returns a rank from 0 to n - 1, drawn with weight 1 / (rank + 1). The weights
 * are exact: all arithmetic is in integers.
 */
uint64_t sim_zipf(SimRandom *random, uint64_t n);
/* Returns the page of a rank. Pages of adjacent ranks lie far apart. */
uint64_t sim_scatter(uint64_t rank, uint64_t n);

/* ---- drives.c ---------------------------------------------------------- */

typedef struct SimDrives SimDrives;

/* Called when cmd has ended. It may submit other commands. */
typedef void SimDriveDone(void *opaque, ScarpCmd *cmd);

SimDrives *sim_drives_new(const SimOptions *options, SimDriveDone *done,
                          void *opaque, GError **error);
void sim_drives_free(SimDrives *drives);
uint64_t sim_drives_bytes(const SimDrives *drives); /* of each drive */
ScarpDrive *sim_drives_get(const SimDrives *drives, uint32_t index);
void sim_drives_submit(SimDrives *drives, uint32_t index, ScarpCmd *cmd,
                       int64_t now_ns);
/*
 * Submits io, an I/O of the array's core, to its drive as the command cmd. Sets
 * cmd->opaque to io.
 */
void sim_drives_issue(SimDrives *drives, ArrayIo *io, ScarpCmd *cmd,
                      int64_t now_ns);
/* Returns the time of the next event of any drive. */
int64_t sim_drives_next_ns(SimDrives *drives);
/*
 * Runs the drives whose next event is at now_ns. sim_drives_next_ns() has
 * returned now_ns, and the drives have not changed since.
 */
void sim_drives_run(SimDrives *drives, int64_t now_ns);
/*
 * Takes commands that have ended since the last call, and calls SimDriveDone
 * for each. True: there were some.
 */
bool sim_drives_reap(SimDrives *drives);
/* Asks a drive to begin no collection before until_ns. */
void sim_drives_hold(SimDrives *drives, uint32_t index, int64_t until_ns,
                     int64_t now_ns);
/*
 * Ends a drive's hold, and begins a collection in each plane that has fewer
 * than free_blocks free blocks.
 */
void sim_drives_collect(SimDrives *drives, uint32_t index,
                        uint32_t free_blocks, int64_t now_ns);
/*
 * Brings all drives to rest and checks their laws. False, with *error set: a
 * law is broken.
 */
bool sim_drives_end(SimDrives *drives, GError **error);

/* ---- turns.c ----------------------------------------------------------- */

typedef struct SimTurns SimTurns;

SimTurns *sim_turns_new(const SimOptions *options, SimDrives *drives);
void sim_turns_free(SimTurns *turns);
/*
 * Returns the time of the next call of sim_turns_run(). At that time the caller
 * runs the drives first.
 */
int64_t sim_turns_next_ns(const SimTurns *turns);
void sim_turns_run(SimTurns *turns, int64_t now_ns);
/* Ends the hold of every drive, and all turns. */
void sim_turns_end(SimTurns *turns, int64_t now_ns);

/* ---- run.c ------------------------------------------------------------- */

typedef struct {
    uint64_t completed; /* requests in the measured part */
    int64_t ns;         /* length of the measured part */
    int64_t end_ns;     /* when all drives had come to rest */
    GArray *read_ns, *write_ns, *barrier_ns; /* latencies (int64_t), sorted */
    ArrayStats array;   /* of the measured part; zeroes: no array */
    struct {
        uint64_t reads, writes; /* completed by the drive */
        uint64_t amplification_milli, gc_runs, gc_busy_ns;
    } drive[ARRAY_MAX_DRIVES];
} SimResult;

/* False, with *error set: the run failed, and result is useless. */
bool sim_run(const SimOptions *options, SimResult *result, GError **error);
void sim_result_clear(SimResult *result);
/* Returns the result as one line of JSON; g_free() it. */
char *sim_json(const SimOptions *options, const SimResult *result);

/* ---- replay.c ---------------------------------------------------------- */

typedef struct {
    uint64_t requests, ios; /* ended requests; I/O sent to drives */
    uint64_t late;    /* I/O whose recorded end came before its drive's */
    uint64_t gc_runs; /* of all drives */
    uint32_t drives;
    ArrayStats array;
} SimReplay;

/*
 * Replays the record at path. False, with *error set: the core decided
 * differently than the record says, or the record is bad.
 */
bool sim_replay(const SimOptions *options, const char *path,
                SimReplay *result, GError **error);
/* Returns the result as one line of JSON; g_free() it. */
char *sim_replay_json(const SimReplay *result);

#endif /* ARRAY_SIM_H */
