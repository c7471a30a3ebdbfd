/*
 * An io_uring that carries the I/O of drives: declarations that uring.c and
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
    void *memory;   /* the buffers of all drives' I/O */
    size_t memory_bytes;
} ArrayRingPlace;

/*
 * Makes a ring for n drives, from drive `first` on, which become the ring's
 * files 0 to n - 1. more: entries beside those for the drives' I/O. False:
 * error is one line, and there is no ring.
 */
bool array_ring_init(struct io_uring *ring, const ArrayRingPlace *place,
                     uint32_t first, uint32_t n, unsigned more, char *error);
/*
 * Checks the result of a function that submits entries. If the kernel was busy,
 * or a signal came, entries stay on the ring and go with the next call. Any
 * other error ends the process: I/O would never end, and requests would wait
 * for ever.
 */
void array_ring_check(int code);
/*
 * Submits the only entry of a ring, and waits for its completion even if
 * signals interrupt the wait. Returns the entry's result, or a negative errno
 * of the ring.
 */
int array_ring_finish(struct io_uring *ring);
/* Returns a free entry. If none is free, submits the prepared entries first. */
struct io_uring_sqe *array_ring_entry(struct io_uring *ring);
/* Prepares io on the ring's file number `file`. The entry's user data is io. */
void array_ring_prepare(struct io_uring_sqe *sqe, ArrayIo *io,
                        const ArrayRingPlace *place, int file);
/* Converts the result of an I/O to 0, or an errno. */
int array_ring_error(const ArrayIo *io, int result);

#endif /* ARRAY_RING_H */
