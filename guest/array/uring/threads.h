/*
 * A thread and a ring for each drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_THREADS_H
#define ARRAY_THREADS_H

#include "ring.h"

typedef struct ArrayThreads ArrayThreads;

/*
 * Makes the threads. NULL: error is one line. One thread, the core's, calls all
 * of these functions.
 */
ArrayThreads *array_threads_new(const ArrayRingPlace *place, char *error);
/* Frees the threads. I/O that was put ends first, and nobody is told of it. */
void array_threads_free(ArrayThreads *threads);
/*
 * array_threads_put() puts an I/O into the queue of the drive's thread, and
 * array_threads_tell() wakes the threads whose queues have new I/O.
 */
void array_threads_put(ArrayThreads *threads, ArrayIo *io);
void array_threads_tell(ArrayThreads *threads);
/* Returns an I/O that has ended, or NULL. */
ArrayIo *array_threads_take(ArrayThreads *threads, int *error);
/*
 * Prepares the caller for sleep. True: array_threads_fd(), an eventfd, becomes
 * readable when a drive's thread has ended I/O. False: I/O has ended already.
 */
bool array_threads_sleep(ArrayThreads *threads);
int array_threads_fd(const ArrayThreads *threads);

#endif /* ARRAY_THREADS_H */
