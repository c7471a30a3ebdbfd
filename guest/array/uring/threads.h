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
 * Makes the threads. NULL: error is one line. One thread calls all functions.
 */
ArrayThreads *array_threads_new(const ArrayRingPlace *place, char *error);
/* Frees the threads; I/O that was put, told or not, ends first, unreported. */
void array_threads_free(ArrayThreads *threads);
/* Puts an I/O into the drive's queue; its thread looks when it is told. */
void array_threads_put(ArrayThreads *threads, ArrayIo *io);
void array_threads_tell(ArrayThreads *threads);
/* Returns an I/O that has ended, or NULL. */
ArrayIo *array_threads_take(ArrayThreads *threads, int *error);
/*
 * Prepares to sleep. True: array_threads_fd(), an eventfd, becomes readable
 * when a drive's thread has done something. False: one already has.
 */
bool array_threads_sleep(ArrayThreads *threads);
int array_threads_fd(const ArrayThreads *threads);

#endif /* ARRAY_THREADS_H */
