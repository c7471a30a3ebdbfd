/*
 * A thread and a ring for each drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_THREADS_H
#define ARRAY_THREADS_H

#include "ring.h"

typedef struct ArrayThreads ArrayThreads;

/* NULL: error is one line.  All functions are called by one thread. */
ArrayThreads *array_threads_new(const ArrayRingPlace *place, char *error);
/* What was put, told or not, ends first, and nobody hears of it. */
void array_threads_free(ArrayThreads *threads);
/* For the drive's thread, which looks when it is told. */
void array_threads_put(ArrayThreads *threads, ArrayIo *io);
void array_threads_tell(ArrayThreads *threads);
/* One that has ended, or NULL. */
ArrayIo *array_threads_take(ArrayThreads *threads, int *error);
/*
 * True: array_threads_fd(), an eventfd, can be read when a drive has done
 * something.  False: one already has.
 */
bool array_threads_sleep(ArrayThreads *threads);
int array_threads_fd(const ArrayThreads *threads);

#endif /* ARRAY_THREADS_H */
