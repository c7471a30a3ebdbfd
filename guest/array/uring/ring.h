/*
 * A ring that carries the I/O of drives: declarations that uring.c and
 * threads.c share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_RING_H
#define ARRAY_RING_H

#include "../array.h"

#include <liburing.h>

/* Properties that the rings of one array share. */
typedef struct {
    const int *fds; /* [n_drives] */
    uint32_t n_drives;
    uint64_t slots; /* most I/O on a drive at once */
    void *memory;   /* has the data of all drives' I/O */
    size_t memory_bytes;
} ArrayRingPlace;

/*
 * Makes a ring for n of the drives, from the first of these, which become its
 * files 0 to n - 1. more: entries besides their I/O. False: error is one line,
 * and there is no ring.
 */
bool array_ring_init(struct io_uring *ring, const ArrayRingPlace *place,
                     uint32_t first, uint32_t n, unsigned more, char *error);
/*
 * Checks the result of a function that submits entries. Entries that a busy
 * kernel or a signal has left on the ring go with the next call. Any other
 * error ends the process: I/O would never end, and its waiters would wait for
 * ever.
 */
void array_ring_check(int code);
/*
 * Submits the only entry of a ring, and waits for its end, however often it is
 * interrupted: returns the entry's result, or a negative errno of the ring.
 */
int array_ring_finish(struct io_uring *ring);
/* Returns an entry; if none is free, submits the prepared ones first. */
struct io_uring_sqe *array_ring_entry(struct io_uring *ring);
/* Prepares the I/O on file number file; its user data is io. */
void array_ring_prepare(struct io_uring_sqe *sqe, ArrayIo *io,
                        const ArrayRingPlace *place, int file);
/* Converts the result of an I/O to 0, or an errno. */
int array_ring_error(const ArrayIo *io, int result);

#endif /* ARRAY_RING_H */
