/*
 * The array on io_uring. The core runs in the thread that calls these
 * functions, and so does all I/O of the drives, on one ring; or each drive has
 * a thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_URING_H
#define ARRAY_URING_H

#include "drives.h"

#include <liburing.h>

typedef struct ArrayUring ArrayUring;

typedef enum {
    ARRAY_URING_AUTO, /* threads, if there are two processors */
    ARRAY_URING_ALONE, /* all I/O on the ring of the core's thread */
    ARRAY_URING_THREADS,
} ArrayUringThreads;

/* User data of the caller's own commands on the ring is below this. */
#define ARRAY_URING_COMMANDS 4096u

typedef struct {
    const char *keys; /* or NULL */
    /*
     * NULL, or a file of shared memory for the cache. What a killed process
     * left there is on the drives when array_uring_new() returns.
     */
    const char *keep;
    /*
     * The caller goes on with what a killed process had acknowledged, some of
     * which may be only in the file at keep.
     */
    bool recovers;
    /*
     * The block device that the array will be (array_device_number()), or goes
     * on with (array_device_goes_on(), checked before anything else). 0: none.
     */
    uint64_t device;
    ArrayUringThreads threads;
    /*
     * The caller's own commands: how many at most, and the callback for an end.
     */
    unsigned commands;
    void (*ended)(void *opaque, const struct io_uring_cqe *cqe);
    void *opaque;
} ArrayUringOptions;

/*
 * Makes an array. Takes the drives over, and closes them, on errors too. NULL:
 * error is one line. The thread that calls this calls all functions below.
 */
ArrayUring *array_uring_new(ArrayDrives *drives,
                            const ArrayUringOptions *options, char *error);
/*
 * Begins to serve. Call it before the first request, when nothing else can fail
 * any more: from here on, what other runs have left counts as old. A run that
 * ends before has cost nobody anything. Repeated calls cost nothing. False:
 * error is one line, no request may be submitted, and the call may be repeated.
 */
bool array_uring_serve(ArrayUring *uring, char *error);
/*
 * Records the core's inputs and decisions in a file (../record.h), before the
 * first request and until array_uring_record_end(). False: error is one line.
 */
bool array_uring_record(ArrayUring *uring, const char *path, char *error);
/* Ends the record: 0, or an errno if it is incomplete. */
int array_uring_record_end(ArrayUring *uring);
/*
 * Writes all to the drives: 0, or an errno. If drives have not taken all pages,
 * the keep's file survives array_uring_free().
 */
int array_uring_flush(ArrayUring *uring);
/*
 * Frees the array, without outstanding requests; flush before, or dirty pages
 * are lost.
 */
void array_uring_free(ArrayUring *uring);
uint64_t array_uring_bytes(const ArrayUring *uring);
const ArrayStats *array_uring_stats(const ArrayUring *uring);

/* Submits a request like array_submit(), after array_uring_serve(). */
void array_uring_submit(ArrayUring *uring, ArrayRequest *request);
/*
 * Takes ended I/O, and keeps every drive busy. Other I/O may wait on the ring
 * for more: a caller that waits for a request calls array_uring_wait().
 */
void array_uring_run(ArrayUring *uring);
/*
 * Submits everything; returns when a drive has done something, or a command of
 * the caller's has ended. New I/O that follows is submitted by the next call,
 * together with the caller's: that saves a system call.
 */
void array_uring_wait(ArrayUring *uring);
/*
 * Returns the ring, for commands of the caller's own. array_uring_wait()
 * submits them, and calls ended(), which may submit requests, and must wait for
 * nothing.
 */
struct io_uring *array_uring_ring(ArrayUring *uring);
/* Returns the next request that has ended, in order, or NULL. */
ArrayRequest *array_uring_reap(ArrayUring *uring);

#endif /* ARRAY_URING_H */
