/*
 * A ring that carries the I/O of drives: what uring.c and threads.c share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_RING_H
#define ARRAY_RING_H

#include "../array.h"

#include <liburing.h>

/* What the rings of one array have in common. */
typedef struct {
    const int *fds; /* [n_drives] */
    uint32_t n_drives;
    uint64_t slots; /* I/O on a drive at once */
    void *memory;   /* which all data of drives' I/O are in */
    size_t memory_bytes;
} ArrayRingPlace;

/*
 * For n of the drives, from the first of these, which are its files 0 to n - 1.
 * more: entries besides their I/O.  False: error is one line, and there is no
 * ring.
 */
bool array_ring_init(struct io_uring *ring, const ArrayRingPlace *place,
                     uint32_t first, uint32_t n, unsigned more, char *error);
/*
 * What a function returned that hands entries over.  What a busy kernel or a
 * signal has left on the ring goes with the next call.  All else ends the
 * process: I/O would never end, and who waits for it would wait for ever.
 */
void array_ring_check(int code);
/*
 * Hands over the one entry of a ring, and waits for its end, however often it
 * is interrupted: what the entry ended with, or a negative errno of the ring.
 */
int array_ring_finish(struct io_uring *ring);
/* An entry; where there is none, what was prepared is handed over first. */
struct io_uring_sqe *array_ring_entry(struct io_uring *ring);
/* The I/O on file number file; its user data is the I/O. */
void array_ring_prepare(struct io_uring_sqe *sqe, ArrayIo *io,
                        const ArrayRingPlace *place, int file);
/* What its end means: 0, or an errno. */
int array_ring_error(const ArrayIo *io, int result);

#endif /* ARRAY_RING_H */
