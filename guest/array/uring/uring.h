/*
 * The array on io_uring: a thread and a ring for each drive, and the core in
 * the thread that calls these functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_URING_H
#define ARRAY_URING_H

#include "drives.h"

typedef struct ArrayUring ArrayUring;

/*
 * Takes the drives over, and closes them, on errors too.  NULL: error is one
 * line.  All functions below are called by one thread.
 *
 * keep: NULL, or a file of shared memory that has the cache.  What a process
 * that was killed left there is on the drives when this returns.
 */
ArrayUring *array_uring_new(ArrayDrives *drives, const char *keys,
                            const char *keep, char *error);
/*
 * Before the first request: what the core is asked and what it decides goes to
 * a file (../record.h), until end.  False: error is one line.
 */
bool array_uring_record(ArrayUring *uring, const char *path, char *error);
/* 0, or an errno: the record is not whole. */
int array_uring_record_end(ArrayUring *uring);
/* Ends when all is on the drives: 0, or an errno, and the keep is kept. */
int array_uring_flush(ArrayUring *uring);
/* Nothing may be outstanding; flush before, or what is dirty is lost. */
void array_uring_free(ArrayUring *uring);
uint64_t array_uring_bytes(const ArrayUring *uring);
const ArrayStats *array_uring_stats(const ArrayUring *uring);

/* As array_submit(). */
void array_uring_submit(ArrayUring *uring, ArrayRequest *request);
/* Hand what has been submitted to the drives, take what they have done. */
void array_uring_run(ArrayUring *uring);
/* The same; returns when a drive has done something. */
void array_uring_wait(ArrayUring *uring);
/*
 * For who waits for other things, too: tells the drives what they have to do.
 * True: array_uring_fd(), an eventfd, can be read when one has done it, and
 * that is all there is to do now.  False: one already has.
 */
bool array_uring_sleep(ArrayUring *uring);
int array_uring_fd(const ArrayUring *uring);
/* A request that has ended, in order, or NULL. */
ArrayRequest *array_uring_reap(ArrayUring *uring);

#endif /* ARRAY_URING_H */
