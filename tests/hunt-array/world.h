/*
 * The machine around an array's server: drives with caches of their own, the
 * kernel's ring, and the moment at which all of it ends.
 *
 * The server's sources are those that the real one is made of (guest/array).
 * What they ask of the kernel comes here: disk.c has its calls for drives,
 * ring.c those of liburing.  There is one world, as there is one kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ARRAY_WORLD_H
#define HUNT_ARRAY_WORLD_H

#include "../hunt/draw.h"
#include "label.h"
#include "model.h"

#include <glib.h>

#define MOST_DISKS 8u
#define KEEPS 2u
/* What a drive has before its data; the rest up to them is not stored. */
#define HEAD_BYTES ((uint64_t)ARRAY_RUNS_END)

typedef struct {
    uint64_t bytes;     /* as it says */
    uint8_t *now;       /* what is read */
    uint8_t *durable;   /* what a power cut leaves */
    bool *in_cache;     /* sectors that differ */
    uint8_t *fails;     /* sectors: writes that failed since one did not */
    unsigned flush_fails;
    int fd;             /* below 0: not open */
} Disk;

/* Files of shared memory at the moment of a death. */
typedef struct {
    char *bytes[KEEPS][2]; /* PATH, PATH.new; NULL: there is none */
    gsize length[KEEPS][2];
} KeepFiles;

typedef struct {
    Draw draw;
    Disk disks[MOST_DISKS]; /* the array's, then those of another one */
    uint64_t disk_bytes;    /* what they had when they were made */
    unsigned n_disks;
    char *keep[KEEPS];      /* paths */
    Array *array;           /* that of the server, while there is one */

    /* Faults */
    unsigned err[MOST_DISKS]; /* permille of I/O */
    bool stalled[MOST_DISKS];
    bool no_room;     /* for a file of shared memory */
    bool old_kernel;  /* whose rings cannot be told to hold ends back */
    uint64_t retries; /* of the server */
    /*
     * What may be told: I/O that was made to fail; writes and flushes only
     * when that was their last try.
     */
    uint64_t failures;
    uint64_t unwritten; /* sectors whose last try failed */
    bool flush_failed;  /* a drive's last try, since the server began */

    /* Death: the server ends at some I/O, the machine may end with it. */
    uint64_t ios;     /* that drives were asked for */
    uint64_t writes;  /* of them, those that change something */
    uint64_t dies_at; /* 0: not now */
    bool dead;
    KeepFiles left;

    unsigned rings, in_ring; /* open; I/O that has not ended */
} World;

extern World *the_world;

void world_init(World *world, uint64_t seed, unsigned n_disks, uint64_t bytes);
void world_clear(World *world);
/* "drive:N", which the server may open. */
const char *world_path(unsigned disk);

/* The server ends now; nothing that it still does has an effect. */
void world_die(World *world);
/* The next one finds what the last one left. */
void world_live(World *world);
/* And power was cut: caches of drives and shared memory are gone. */
void world_cut_power(World *world);

Disk disk_copy(const World *world, const Disk *disk);
void disk_restore(const World *world, Disk *disk, const Disk *from);
void disk_free(Disk *disk);
/* Nothing is dirty: what was discarded fails no more. */
void world_all_written(World *world);
/* Another server begins: what failed before is none of its failures. */
void world_forget_failures(World *world);

/* ---- For ring.c -------------------------------------------------------- */

/* Some I/O of a drive: 0 or the errno that it ends with. */
int disk_read(World *w, unsigned disk, void *data, uint64_t at, uint64_t n);
int disk_write(World *w, unsigned disk, const void *data, uint64_t at,
               uint64_t n);
int disk_flush(World *w, unsigned disk);
int disk_discard(World *w, unsigned disk, uint64_t at, uint64_t n);
/* The drive that was opened as fd. */
unsigned disk_of(const World *w, int fd);
/* Of what was under way when the server died. */
void ring_die(World *w);

/* Ends the scenario: a law is broken. */
void wrong(const char *format, ...) G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN;

#endif /* HUNT_ARRAY_WORLD_H */
