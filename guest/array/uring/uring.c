/*
 * Between the core's thread and a drive's thread stand two rings of pointers,
 * each with one writer and one reader.  Who finds nothing to do says that it
 * sleeps, looks once more, and sleeps; who puts something in wakes a sleeper.
 * So a busy thread is never woken, and costs no system call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "../record.h"
#include "keep.h"
#include "uring.h"

#include <errno.h>
#include <linux/falloc.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_BUFFER_BYTES (1ull << 30) /* the kernel's limit for one */

/* Of as many entries as a drive has slots, so that it is never full. */
typedef struct {
    _Alignas(64) atomic_uint head; /* the reader's */
    _Alignas(64) atomic_uint tail; /* the writer's */
    unsigned mask;
    ArrayIo **entries;
} Mailbox;

typedef struct {
    struct ArrayUring *uring;
    struct io_uring ring;
    pthread_t thread;
    int wake_fd;
    uint64_t woken; /* what is read from it */
    Mailbox todo, done;
    int *errors;    /* [slots], of what is in done */
    atomic_bool sleeping, stop;
    bool told;      /* something was put in todo since the last look */
    bool has_ring, has_thread;
} Lane;

struct ArrayUring {
    Array *array;
    ArrayConfig config;
    ArrayDrives drives;
    void *memory;
    size_t memory_bytes;
    const char *keep_path; /* or NULL */
    Keep keep;             /* memory and marks, then */
    FILE *record;          /* or NULL */
    Lane *lanes;
    int wake_fd;
    atomic_bool sleeping;
    ArrayRequest *first, *last; /* ended */
};

/* ---- Mailboxes --------------------------------------------------------- */

static bool mailbox_init(Mailbox *box, uint64_t slots)
{
    unsigned size = 1;

    while (size < slots) {
        size *= 2;
    }
    box->mask = size - 1;
    box->entries = calloc(size, sizeof(*box->entries));
    return box->entries;
}

static void mailbox_put(Mailbox *box, ArrayIo *io)
{
    unsigned tail = atomic_load_explicit(&box->tail, memory_order_relaxed);

    box->entries[tail & box->mask] = io;
    atomic_store_explicit(&box->tail, tail + 1, memory_order_release);
}

static ArrayIo *mailbox_take(Mailbox *box)
{
    unsigned head = atomic_load_explicit(&box->head, memory_order_relaxed);
    ArrayIo *io;

    if (head == atomic_load_explicit(&box->tail, memory_order_acquire)) {
        return NULL;
    }
    io = box->entries[head & box->mask];
    atomic_store_explicit(&box->head, head + 1, memory_order_release);
    return io;
}

static bool mailbox_empty(const Mailbox *box)
{
    return atomic_load(&box->head) == atomic_load(&box->tail);
}

static void wake(atomic_bool *sleeping, int fd)
{
    uint64_t one = 1;

    /* After what was put: either we see that it sleeps, or it sees that. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_exchange(sleeping, false) &&
        write(fd, &one, sizeof(one)) != sizeof(one)) {
        abort(); /* the counter cannot overflow: one write for each read */
    }
}

/* ---- A drive's thread -------------------------------------------------- */

static void lane_prepare(Lane *lane, ArrayIo *io)
{
    ArrayUring *u = lane->uring;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&lane->ring);
    size_t at = (char *)io->data - (char *)u->memory;
    int buffer = at / MAX_BUFFER_BYTES;

    /* File 0 of the ring's registered ones is the drive. */
    switch (io->op) {
    case ARRAY_IO_READ:
        io_uring_prep_read_fixed(sqe, 0, io->data, io->length_bytes,
                                 io->offset_bytes, buffer);
        break;
    case ARRAY_IO_WRITE:
        io_uring_prep_write_fixed(sqe, 0, io->data, io->length_bytes,
                                  io->offset_bytes, buffer);
        break;
    case ARRAY_IO_FLUSH:
        io_uring_prep_fsync(sqe, 0, IORING_FSYNC_DATASYNC);
        break;
    case ARRAY_IO_DISCARD:
        /* Of a block device: zeroes, by a command that deallocates. */
        io_uring_prep_fallocate(sqe, 0, FALLOC_FL_PUNCH_HOLE |
                                        FALLOC_FL_KEEP_SIZE, io->offset_bytes,
                                io->length_bytes);
        break;
    }
    io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data(sqe, io);
}

static void lane_listen(Lane *lane)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&lane->ring);

    io_uring_prep_read(sqe, lane->wake_fd, &lane->woken, sizeof(lane->woken),
                       0);
    io_uring_sqe_set_data(sqe, NULL);
}

/* What the kernel says when all went well. */
static uint64_t moved_bytes(const ArrayIo *io)
{
    return io->op == ARRAY_IO_DISCARD ? 0 : io->length_bytes;
}

/* Returns how many of the drive's I/O ended. */
static unsigned lane_reap(Lane *lane)
{
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0, ended = 0;
    bool listen = false;

    io_uring_for_each_cqe(&lane->ring, head, cqe) {
        ArrayIo *io = io_uring_cqe_get_data(cqe);

        seen++;
        if (!io) {
            listen = true;
            continue;
        }
        lane->errors[io->slot] = cqe->res < 0 ? -cqe->res :
            cqe->res == (int)moved_bytes(io) ? 0 : EIO;
        mailbox_put(&lane->done, io);
        ended++;
    }
    io_uring_cq_advance(&lane->ring, seen);
    if (listen) {
        lane_listen(lane);
    }
    if (ended) {
        wake(&lane->uring->sleeping, lane->uring->wake_fd);
    }
    return ended;
}

static void *lane_run(void *opaque)
{
    Lane *lane = opaque;
    unsigned under_way = 0;

    lane_listen(lane);
    while (!atomic_load(&lane->stop) || under_way) {
        ArrayIo *io;
        bool wait;

        while ((io = mailbox_take(&lane->todo))) {
            lane_prepare(lane, io);
            under_way++;
        }
        atomic_store(&lane->sleeping, true);
        wait = mailbox_empty(&lane->todo) && !atomic_load(&lane->stop);
        io_uring_submit_and_wait(&lane->ring, wait);
        atomic_store(&lane->sleeping, false);
        under_way -= lane_reap(lane);
    }
    return NULL;
}

/* ---- The core's thread ------------------------------------------------- */

/* For the record only. */
static int64_t now_ns(const ArrayUring *u)
{
    struct timespec now = { 0 };

    if (u->record) {
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void issue(void *opaque, ArrayIo *io)
{
    ArrayUring *u = opaque;

    array_record_issue(u->record, io);
    mailbox_put(&u->lanes[io->drive].todo, io);
    u->lanes[io->drive].told = true;
}

/* The link of a request that has ended is ours. */
static void done(void *opaque, ArrayRequest *request)
{
    ArrayUring *u = opaque;

    array_record_done(u->record, request);
    request->next = NULL;
    *(u->first ? &u->last->next : &u->first) = request;
    u->last = request;
}

ArrayRequest *array_uring_reap(ArrayUring *u)
{
    ArrayRequest *r = u->first;

    if (r) {
        u->first = r->next;
    }
    return r;
}

void array_uring_submit(ArrayUring *u, ArrayRequest *request)
{
    array_record_submit(u->record, now_ns(u), request);
    array_submit(u->array, request);
}

static bool take_done(ArrayUring *u)
{
    bool any = false;

    for (uint32_t i = 0; i < u->config.n_drives; i++) {
        Lane *lane = &u->lanes[i];
        ArrayIo *io;

        while ((io = mailbox_take(&lane->done))) {
            int error = lane->errors[io->slot];

            array_record_io_done(u->record, now_ns(u), io, error);
            array_io_done(u->array, io, error);
            any = true;
        }
    }
    return any;
}

static void tell_drives(ArrayUring *u)
{
    for (uint32_t i = 0; i < u->config.n_drives; i++) {
        if (u->lanes[i].told) {
            u->lanes[i].told = false;
            wake(&u->lanes[i].sleeping, u->lanes[i].wake_fd);
        }
    }
}

void array_uring_run(ArrayUring *u)
{
    take_done(u);
    tell_drives(u);
}

static bool anything_done(const ArrayUring *u)
{
    for (uint32_t i = 0; i < u->config.n_drives; i++) {
        if (!mailbox_empty(&u->lanes[i].done)) {
            return true;
        }
    }
    return false;
}

void array_uring_wait(ArrayUring *u)
{
    uint64_t woken;

    tell_drives(u);
    while (!take_done(u)) {
        atomic_store(&u->sleeping, true);
        atomic_thread_fence(memory_order_seq_cst);
        if (anything_done(u)) {
            /* Who has already seen us asleep writes, and we must read it. */
            if (atomic_exchange(&u->sleeping, false)) {
                continue;
            }
        }
        while (read(u->wake_fd, &woken, sizeof(woken)) != sizeof(woken)) {
            if (errno != EINTR) {
                abort();
            }
        }
    }
    tell_drives(u);
}

bool array_uring_sleep(ArrayUring *u)
{
    tell_drives(u);
    atomic_store(&u->sleeping, true);
    atomic_thread_fence(memory_order_seq_cst);
    /* Who has already seen us asleep makes the eventfd readable. */
    return !anything_done(u) || !atomic_exchange(&u->sleeping, false);
}

int array_uring_fd(const ArrayUring *u)
{
    return u->wake_fd;
}

/* ---- From beginning to end --------------------------------------------- */

static bool failed(char *error, const char *what, int code)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%s: %s", what, strerror(code));
    return false;
}

static bool lane_init(ArrayUring *u, uint32_t index, char *error)
{
    Lane *lane = &u->lanes[index];
    uint64_t slots = u->config.slots;
    struct iovec buffers[1024];
    unsigned n = 0;
    int code;

    lane->uring = u;
    lane->wake_fd = eventfd(0, EFD_CLOEXEC);
    lane->errors = calloc(slots, sizeof(*lane->errors));
    if (lane->wake_fd < 0 || !lane->errors ||
        !mailbox_init(&lane->todo, slots) ||
        !mailbox_init(&lane->done, slots)) {
        return failed(error, "a drive's mailbox", ENOMEM);
    }
    code = io_uring_queue_init(slots + 1, &lane->ring, 0);
    if (code) {
        return failed(error, "io_uring", -code);
    }
    lane->has_ring = true;
    code = io_uring_register_files(&lane->ring, &u->drives.fd[index], 1);
    if (code) {
        return failed(error, "io_uring: registering a drive", -code);
    }
    for (size_t at = 0; at < u->memory_bytes && n < 1024;
         at += MAX_BUFFER_BYTES) {
        size_t left = u->memory_bytes - at;

        buffers[n].iov_base = (char *)u->memory + at;
        buffers[n++].iov_len = left < MAX_BUFFER_BYTES ? left :
                                                         MAX_BUFFER_BYTES;
    }
    code = io_uring_register_buffers(&lane->ring, buffers, n);
    if (code) {
        return failed(error, "io_uring: registering the cache (ulimit -l)",
                      -code);
    }
    code = pthread_create(&lane->thread, NULL, lane_run, lane);
    lane->has_thread = !code;
    return code ? failed(error, "a drive's thread", code) : true;
}

static void lane_clear(Lane *lane)
{
    if (lane->has_thread) {
        atomic_store(&lane->stop, true);
        wake(&lane->sleeping, lane->wake_fd);
        pthread_join(lane->thread, NULL);
    }
    if (lane->has_ring) {
        io_uring_queue_exit(&lane->ring);
    }
    if (lane->uring && lane->wake_fd >= 0) {
        close(lane->wake_fd);
    }
    free(lane->errors);
    free(lane->todo.entries);
    free(lane->done.entries);
}

static bool make_memory(ArrayUring *u, char *error)
{
    u->memory_bytes = array_memory_bytes(&u->config);
    if (u->keep_path) {
        if (!keep_make(&u->keep, u->keep_path, &u->drives.label,
                       array_buffers(&u->config), error)) {
            return false;
        }
        u->memory = u->keep.memory;
        return true;
    }
    u->memory = mmap(NULL, u->memory_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return u->memory != MAP_FAILED ? true :
                                     failed(error, "cache_bytes", ENOMEM);
}

/* Wait for this one, the only one. */
static int finish(ArrayUring *u, ArrayRequest *request)
{
    array_uring_submit(u, request);
    while (!array_uring_reap(u)) {
        array_uring_wait(u);
    }
    return request->error;
}

/* What another process acknowledged and could not write. */
static bool write_kept(ArrayUring *u, const Keep *left, char *error)
{
    for (uint64_t i = 0; i < left->buffers; i++) {
        ArrayRequest write = {
            .op = ARRAY_OP_WRITE, .length_bytes = left->page_bytes,
            .offset_bytes = (left->marks[i] - 1) * left->page_bytes,
            .data = (char *)left->memory + i * left->page_bytes,
        };
        int code = left->marks[i] ? finish(u, &write) : 0;

        if (code) {
            return failed(error, "writing what another process left", code);
        }
    }
    return true;
}

static bool restore(ArrayUring *u, char *error)
{
    Keep left;
    int code;
    bool good;

    if (!u->keep_path) {
        return true;
    }
    if (!keep_open(&left, u->keep_path, &u->drives.label, error)) {
        return false;
    }
    if (left.base) {
        good = write_kept(u, &left, error);
        keep_close(&left);
        code = good ? array_uring_flush(u) : 0;
        if (!good || code) {
            return good ? failed(error, u->keep_path, code) : false;
        }
    }
    return keep_take_over(u->keep_path, error);
}

int array_uring_flush(ArrayUring *u)
{
    ArrayRequest flush = { .op = ARRAY_OP_FLUSH };

    return finish(u, &flush);
}

static bool make(ArrayUring *u, const char *keys, char *error)
{
    static const ArrayOps ops = { issue, done };

    if (!array_drives_config(&u->drives, keys, &u->config, error)) {
        return false;
    }
    if (!make_memory(u, error)) {
        return false;
    }
    u->lanes = aligned_alloc(64, u->config.n_drives * sizeof(*u->lanes));
    u->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (!u->lanes || u->wake_fd < 0) {
        return failed(error, "cache_bytes", ENOMEM);
    }
    memset(u->lanes, 0, u->config.n_drives * sizeof(*u->lanes));
    u->config.memory = u->memory;
    u->config.marks = u->keep.marks;
    u->array = array_new(&u->config, &ops, u, error);
    if (!u->array) {
        return false;
    }
    for (uint32_t i = 0; i < u->config.n_drives; i++) {
        if (!lane_init(u, i, error)) {
            return false;
        }
    }
    return restore(u, error);
}

ArrayUring *array_uring_new(ArrayDrives *drives, const char *keys,
                            const char *keep, char *error)
{
    ArrayUring *u = aligned_alloc(64, (sizeof(*u) + 63) / 64 * 64);

    if (!u) {
        array_drives_close(drives);
        failed(error, "the array", ENOMEM);
        return NULL;
    }
    memset(u, 0, sizeof(*u));
    u->drives = *drives;
    u->wake_fd = -1;
    u->keep_path = keep;
    u->memory = MAP_FAILED;
    if (!make(u, keys, error)) {
        array_uring_free(u);
        return NULL;
    }
    return u;
}

bool array_uring_record(ArrayUring *u, const char *path, char *error)
{
    u->record = fopen(path, "w");
    array_record_begin(u->record, &u->config);
    return u->record ? true : failed(error, path, errno);
}

int array_uring_record_end(ArrayUring *u)
{
    return array_record_end(&u->record);
}

void array_uring_free(ArrayUring *u)
{
    for (uint32_t i = 0; u->lanes && i < u->config.n_drives; i++) {
        lane_clear(&u->lanes[i]);
    }
    free(u->lanes);
    if (u->keep.base) {
        char why[ARRAY_ERROR_BYTES];

        if (u->array && array_quiet(u->array, why) &&
            !array_dirty_pages(u->array)) {
            keep_remove(u->keep_path);
        }
        keep_close(&u->keep);
        u->memory = MAP_FAILED;
    }
    array_free(u->array);
    if (u->memory != MAP_FAILED) {
        munmap(u->memory, u->memory_bytes);
    }
    if (u->wake_fd >= 0) {
        close(u->wake_fd);
    }
    array_uring_record_end(u);
    array_drives_close(&u->drives);
    free(u);
}

uint64_t array_uring_bytes(const ArrayUring *u)
{
    return array_bytes(u->array);
}

const ArrayStats *array_uring_stats(const ArrayUring *u)
{
    return array_stats(u->array);
}
