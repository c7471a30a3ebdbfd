/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ring.h"

#include <errno.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BUFFER_BYTES (1ull << 30) /* the kernel's limit for one buffer */
#define MAX_BUFFERS 1024

static bool failed(char *error, const char *what, int code)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%s: %s", what, strerror(code));
    return false;
}

/*
 * Makes a ring that only one thread uses. That thread takes completions only
 * when it asks for them, so the kernel need not interrupt the thread for each.
 * An older kernel refuses these flags; the ring is then made without them.
 */
static int make(struct io_uring *ring, unsigned entries)
{
    const unsigned best = IORING_SETUP_SINGLE_ISSUER |
                          IORING_SETUP_DEFER_TASKRUN |
                          IORING_SETUP_TASKRUN_FLAG;
    int code = io_uring_queue_init(entries, ring, IORING_SETUP_CLAMP | best);

    if (code == -EINVAL) {
        code = io_uring_queue_init(entries, ring, IORING_SETUP_CLAMP);
    }
    return code;
}

static int register_memory(struct io_uring *ring, const ArrayRingPlace *place)
{
    struct iovec buffers[MAX_BUFFERS];
    unsigned n = 0;

    for (size_t at = 0; at < place->memory_bytes && n < MAX_BUFFERS;
         at += MAX_BUFFER_BYTES) {
        size_t left = place->memory_bytes - at;

        buffers[n].iov_base = (char *)place->memory + at;
        buffers[n++].iov_len = left < MAX_BUFFER_BYTES ? left :
                                                         MAX_BUFFER_BYTES;
    }
    return io_uring_register_buffers(ring, buffers, n);
}

bool array_ring_init(struct io_uring *ring, const ArrayRingPlace *place,
                     uint32_t first, uint32_t n, unsigned more, char *error)
{
    int code = make(ring, n * place->slots + more);

    if (code) {
        return failed(error, "io_uring", -code);
    }
    /*
     * Registering saves a look-up of the ring's file in each call. The ring
     * works without it, so a failure is no error.
     */
    io_uring_register_ring_fd(ring);
    code = n ? io_uring_register_files(ring, place->fds + first, n) : 0;
    if (code) {
        failed(error, "io_uring: registering a drive", -code);
    } else {
        code = n ? register_memory(ring, place) : 0;
        if (code) {
            failed(error, "io_uring: registering the cache (ulimit -l)",
                   -code);
        }
    }
    if (code) {
        io_uring_queue_exit(ring);
    }
    return !code;
}

void array_ring_check(int code)
{
    if (code < 0 && code != -EINTR && code != -EAGAIN && code != -EBUSY) {
        fprintf(stderr, "array: io_uring: %s\n", strerror(-code));
        abort();
    }
}

int array_ring_finish(struct io_uring *ring)
{
    struct io_uring_cqe *cqe;
    int code = 0;

    /*
     * A process that is stopped by a signal, and goes on, leaves the wait
     * early.
     */
    while (io_uring_peek_cqe(ring, &cqe)) {
        code = io_uring_submit_and_wait(ring, 1);
        if (code < 0 && code != -EINTR && code != -EAGAIN) {
            return code;
        }
    }
    code = cqe->res;
    io_uring_cqe_seen(ring, cqe);
    return code;
}

struct io_uring_sqe *array_ring_entry(struct io_uring *ring)
{
    struct io_uring_sqe *sqe;

    while (!(sqe = io_uring_get_sqe(ring))) {
        array_ring_check(io_uring_submit(ring));
    }
    return sqe;
}

void array_ring_prepare(struct io_uring_sqe *sqe, ArrayIo *io,
                        const ArrayRingPlace *place, int file)
{
    size_t at = (char *)io->data - (char *)place->memory;
    int buffer = at / MAX_BUFFER_BYTES;

    switch (io->op) {
    case ARRAY_IO_READ:
        io_uring_prep_read_fixed(sqe, file, io->data, io->length_bytes,
                                 io->offset_bytes, buffer);
        break;
    case ARRAY_IO_WRITE:
        io_uring_prep_write_fixed(sqe, file, io->data, io->length_bytes,
                                  io->offset_bytes, buffer);
        break;
    case ARRAY_IO_FLUSH:
        io_uring_prep_fsync(sqe, file, IORING_FSYNC_DATASYNC);
        break;
    case ARRAY_IO_DISCARD:
        /*
         * On a block device this is a write of zeroes by a command that
         * deallocates.
         */
        io_uring_prep_fallocate(sqe, file, FALLOC_FL_PUNCH_HOLE |
                                           FALLOC_FL_KEEP_SIZE,
                                io->offset_bytes, io->length_bytes);
        break;
    }
    io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data(sqe, io);
}

/* Returns the result that the kernel gives for this I/O if it succeeds. */
static uint64_t moved_bytes(const ArrayIo *io)
{
    return io->op == ARRAY_IO_DISCARD ? 0 : io->length_bytes;
}

int array_ring_error(const ArrayIo *io, int result)
{
    return result < 0 ? -result : result == (int)moved_bytes(io) ? 0 : EIO;
}
