/*
 * The array on io_uring.  The core is in the thread that calls these functions,
 * and so is all I/O of the drives, on one ring; or each drive has a thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_URING_H
#define ARRAY_URING_H

#include "drives.h"

#include <liburing.h>

typedef struct ArrayUring ArrayUring;

typedef enum {
    ARRAY_URING_AUTO, /* threads, unless there is but one processor */
    ARRAY_URING_ALONE, /* all on the ring of the core's thread */
    ARRAY_URING_THREADS,
} ArrayUringThreads;

/* The caller's own commands on the ring have user data below it. */
#define ARRAY_URING_COMMANDS 4096u

typedef struct {
    const char *keys; /* or NULL */
    /*
     * NULL, or a file of shared memory that has the cache.  What a process that
     * was killed left there is on the drives when array_uring_new() returns.
     */
    const char *keep;
    /*
     * Somebody goes on with what a process that was killed had acknowledged:
     * without the file at keep that is not all there.
     */
    bool recovers;
    /*
     * The block device that it will be (array_device_number()), or goes on with
     * (array_device_goes_on(), before anything else).  0: none.
     */
    uint64_t device;
    ArrayUringThreads threads;
    /* The caller's own commands: how many at most, and who hears of an end. */
    unsigned commands;
    void (*ended)(void *opaque, const struct io_uring_cqe *cqe);
    void *opaque;
} ArrayUringOptions;

/*
 * Takes the drives over, and closes them, on errors too.  NULL: error is one
 * line.  All functions below are called by the thread that calls this one.
 */
ArrayUring *array_uring_new(ArrayDrives *drives,
                            const ArrayUringOptions *options, char *error);
/*
 * Before the first request, when nothing is left that could keep it from being
 * served: what other runs have left is old from here on.  Until then nobody
 * has lost anything by this one, wherever it ends.  Free where it has been
 * called.  False: error is one line, no request may be submitted, and it may be
 * called again.
 */
bool array_uring_serve(ArrayUring *uring, char *error);
/*
 * Before the first request: what the core is asked and what it decides goes to
 * a file (../record.h), until end.  False: error is one line.
 */
bool array_uring_record(ArrayUring *uring, const char *path, char *error);
/* 0, or an errno: the record is not whole. */
int array_uring_record_end(ArrayUring *uring);
/*
 * Ends when all is on the drives: 0, or an errno.  Where drives have not taken
 * all pages the keep is kept then, when the array goes.
 */
int array_uring_flush(ArrayUring *uring);
/* Nothing may be outstanding; flush before, or what is dirty is lost. */
void array_uring_free(ArrayUring *uring);
uint64_t array_uring_bytes(const ArrayUring *uring);
const ArrayStats *array_uring_stats(const ArrayUring *uring);

/* As array_submit(), after array_uring_serve(). */
void array_uring_submit(ArrayUring *uring, ArrayRequest *request);
/*
 * Take what the drives have done, and see that none has nothing to do.  What
 * else there is for them may be left to be handed over together with more: who
 * waits for a request calls array_uring_wait().
 */
void array_uring_run(ArrayUring *uring);
/*
 * Hand everything over; returns when a drive has done something, or a command
 * of the caller's has ended.  What follows from that is handed over by the next
 * call, together with what the caller then has: a system call less.
 */
void array_uring_wait(ArrayUring *uring);
/*
 * For commands of the caller's own.  array_uring_wait() hands them over, and
 * calls ended(), which may submit requests, and waits for nothing.
 */
struct io_uring *array_uring_ring(ArrayUring *uring);
/* A request that has ended, in order, or NULL. */
ArrayRequest *array_uring_reap(ArrayUring *uring);

#endif /* ARRAY_URING_H */
