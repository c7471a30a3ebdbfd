/*
 * The array on io_uring. The core runs in the thread that calls these
 * functions. The I/O of the drives is on one ring in the same thread, or on a
 * ring in a thread of each drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_URING_H
#define ARRAY_URING_H

#include "drives.h"

#include <liburing.h>

typedef struct ArrayUring ArrayUring;

typedef enum {
    ARRAY_URING_AUTO, /* threads, if there are two processors or more */
    ARRAY_URING_ALONE, /* all I/O on the ring of the core's thread */
    ARRAY_URING_THREADS,
} ArrayUringThreads;

/* User data of the caller's own commands on the ring is below this. */
#define ARRAY_URING_COMMANDS 4096u

typedef struct {
    const char *keys; /* or NULL */
    /*
     * NULL, or a file of shared memory for the cache. When array_uring_new()
     * returns, data that a killed process left in the file is on the drives.
     */
    const char *keep;
    /*
     * True: the caller goes on where a killed process ended. Writes that the
     * killed process had acknowledged may be only in the file `keep`.
     */
    bool recovers;
    /*
     * The number of the block device on which the array serves
     * (array_device_number()). A device of a killed server was checked before
     * by array_device_goes_on(). 0: the array serves without a block device.
     */
    uint64_t device;
    ArrayUringThreads threads;
    /*
     * The caller's own commands on the ring: how many are outstanding at most,
     * and the function that is called when one has ended.
     */
    unsigned commands;
    void (*ended)(void *opaque, const struct io_uring_cqe *cqe);
    void *opaque;
} ArrayUringOptions;

/*
 * Makes an array. The drives belong to the array from this call on: the array
 * closes them when it is freed, or when it cannot be made. NULL: error is one
 * line. The thread that calls this calls all functions below.
 */
ArrayUring *array_uring_new(ArrayDrives *drives,
                            const ArrayUringOptions *options, char *error);
/*
 * Begins to serve: tells the drives that this run may write data. From here on,
 * caches that other runs have left count as old. So call this when nothing else
 * can fail, before the first request: a run that ends without serving has
 * harmed nobody. Repeated calls cost nothing. False: error is one line, no
 * request may be submitted, and the caller may try again.
 */
bool array_uring_serve(ArrayUring *uring, char *error);
/*
 * Records the core's inputs and decisions in a file (../record.h), from the
 * first request until array_uring_record_end(). False: error is one line.
 */
bool array_uring_record(ArrayUring *uring, const char *path, char *error);
/* Ends the record: 0, or an errno if it is incomplete. */
int array_uring_record_end(ArrayUring *uring);
/*
 * Writes all dirty pages to the drives. Returns 0, or an errno. If pages could
 * not be written, array_uring_free() leaves the file `keep`.
 */
int array_uring_flush(ArrayUring *uring);
/*
 * Frees the array, which has no outstanding requests. Dirty pages are lost, so
 * flush the array before.
 */
void array_uring_free(ArrayUring *uring);
uint64_t array_uring_bytes(const ArrayUring *uring);
const ArrayStats *array_uring_stats(const ArrayUring *uring);

/* Submits a request like array_submit(), after array_uring_serve(). */
void array_uring_submit(ArrayUring *uring, ArrayRequest *request);
/*
 * Takes ended I/O, and submits new I/O to drives that have none. I/O for other
 * drives may stay on the ring until more comes; array_uring_wait() submits it,
 * so a caller who waits for a request must call that.
 */
void array_uring_run(ArrayUring *uring);
/*
 * Submits all I/O, and returns when a drive's I/O or a command of the caller
 * has ended. The next call submits I/O that results from these ends, together
 * with the caller's commands, which saves a system call.
 */
void array_uring_wait(ArrayUring *uring);
/*
 * Returns the ring, for commands of the caller's own. array_uring_wait()
 * submits them, and calls options.ended() for each completion. That function
 * may submit requests, but must not wait.
 */
struct io_uring *array_uring_ring(ArrayUring *uring);
/* Returns the request that ended first of those not returned yet, or NULL. */
ArrayRequest *array_uring_reap(ArrayUring *uring);

#endif /* ARRAY_URING_H */
