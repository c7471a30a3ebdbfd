/*
 * The core's thread and its ring. Without other threads this ring carries the
 * I/O of all drives, and no thread has to be woken. With threads each drive has
 * a thread with a ring of its own (threads.c), which wakes the core's thread
 * through this ring.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "../record.h"
#include "keep.h"
#include "threads.h"
#include "uring.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/*
 * Number of waiting entries at which array_uring_run() submits them, urgent or
 * not.
 */
#define BATCH 8

struct ArrayUring {
    Array *array;
    ArrayConfig config;
    ArrayUringOptions options;
    ArrayDrives drives;
    ArrayRingPlace place;
    Keep keep;             /* file with memory and marks, if the user asked */
    FILE *record;          /* or NULL */
    struct io_uring ring;
    bool has_ring;
    bool serves;           /* the run serves, and keep's file is PATH */
    ArrayRequest *first, *last; /* requests that have ended */

    /* Members that are used without threads. */
    uint32_t *under_way; /* [n_drives], number of I/O on the ring */
    bool urgent; /* the ring has new I/O for a drive with no other */

    /* Members that are used with threads. */
    ArrayThreads *threads; /* or NULL */
    uint64_t woken;
    bool listening; /* the ring reads the threads' eventfd */
};

/* ---- The core's thread ------------------------------------------------- */

/*
 * Returns the time for the next line of the core's record (../record.h), or 0
 * if nothing is recorded.
 */
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
    if (u->threads) {
        array_threads_put(u->threads, io);
        return;
    }
    array_ring_prepare(array_ring_entry(&u->ring), io, &u->place, io->drive);
    u->urgent |= !u->under_way[io->drive]++;
}

/* Called by the core: adds the request to the list of ended requests. */
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

static void submit(ArrayUring *u, ArrayRequest *request)
{
    array_record_submit(u->record, now_ns(u), request);
    array_submit(u->array, request);
}

void array_uring_submit(ArrayUring *u, ArrayRequest *request)
{
    assert(u->serves);
    submit(u, request);
}

static void io_ended(ArrayUring *u, ArrayIo *io, int error)
{
    array_record_io_done(u->record, now_ns(u), io, error);
    array_io_done(u->array, io, error);
}

static void take_from_threads(ArrayUring *u)
{
    ArrayIo *io;
    int error;

    while ((io = array_threads_take(u->threads, &error))) {
        io_ended(u, io, error);
    }
}

/* Passes a completion to the caller, to the threads, or to the core. */
static void look(ArrayUring *u, const struct io_uring_cqe *cqe)
{
    if (cqe->user_data < ARRAY_URING_COMMANDS) {
        u->options.ended(u->options.opaque, cqe);
    } else if (u->threads) {
        u->listening = false;
    } else {
        ArrayIo *io = io_uring_cqe_get_data(cqe);

        u->under_way[io->drive]--;
        io_ended(u, io, array_ring_error(io, cqe->res));
    }
}

static void take(ArrayUring *u)
{
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0;

    io_uring_for_each_cqe(&u->ring, head, cqe) {
        look(u, cqe);
        seen++;
    }
    io_uring_cq_advance(&u->ring, seen);
    if (u->threads) {
        take_from_threads(u);
        array_threads_tell(u->threads);
    }
}

/*
 * True when entries on the ring must be submitted now. A kernel without
 * IORING_SETUP_DEFER_TASKRUN posts completions at any time, so the thread does
 * not notice at once that a drive has run out of I/O: with such a kernel no
 * entry may wait.
 */
static bool is_urgent(const ArrayUring *u)
{
    return u->urgent || (!(u->ring.flags & IORING_SETUP_DEFER_TASKRUN) &&
                         io_uring_sq_ready(&u->ring));
}

/* True when the kernel has completions that it posts only at the next call. */
static bool completions_held_back(const ArrayUring *u)
{
    return __atomic_load_n(u->ring.sq.kflags, __ATOMIC_RELAXED) &
           IORING_SQ_TASKRUN;
}

static void hand_over(ArrayUring *u)
{
    array_ring_check(io_uring_submit_and_get_events(&u->ring));
    u->urgent &= io_uring_sq_ready(&u->ring) > 0;
}

void array_uring_run(ArrayUring *u)
{
    if (is_urgent(u) || io_uring_sq_ready(&u->ring) >= BATCH ||
        completions_held_back(u)) {
        hand_over(u);
    }
    take(u);
    /* a completion may have led to I/O for a drive that had no other */
    if (is_urgent(u)) {
        hand_over(u);
    }
}

/*
 * Prepares the core's thread for sleep. True: when a drive's thread has ended
 * I/O, the ring gets a completion. False: I/O has ended already.
 */
static bool listen_to_threads(ArrayUring *u)
{
    array_threads_tell(u->threads);
    if (!array_threads_sleep(u->threads)) {
        return false;
    }
    if (!u->listening) {
        struct io_uring_sqe *sqe = array_ring_entry(&u->ring);

        io_uring_prep_read(sqe, array_threads_fd(u->threads), &u->woken,
                           sizeof(u->woken), 0);
        io_uring_sqe_set_data(sqe, &u->woken);
        u->listening = true;
    }
    return true;
}

void array_uring_wait(ArrayUring *u)
{
    bool wait = !io_uring_cq_ready(&u->ring);

    if (u->threads) {
        wait &= listen_to_threads(u);
    }
    array_ring_check(io_uring_submit_and_wait(&u->ring, wait));
    u->urgent &= io_uring_sq_ready(&u->ring) > 0;
    take(u);
}

struct io_uring *array_uring_ring(ArrayUring *u)
{
    return &u->ring;
}

/* ---- Making and freeing an array --------------------------------------- */

static bool failed(char *error, const char *what, int code)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%s: %s", what, strerror(code));
    return false;
}

static bool make_memory(ArrayUring *u, char *error)
{
    const char *keep = u->options.keep;

    u->place.memory_bytes = array_memory_bytes(&u->config);
    if (keep) {
        /*
         * The file gets this run's own id as after_id, too, where the id of an
         * earlier run that served belongs. So no other run accepts the file
         * until this run serves.
         */
        KeepRun run = { u->drives.runs.heard + 1, u->drives.id, u->drives.id };

        if (!keep_make(&u->keep, keep, &u->drives.label, &run,
                       array_buffers(&u->config), error)) {
            return false;
        }
        u->place.memory = u->keep.memory;
        return true;
    }
    u->place.memory = mmap(NULL, u->place.memory_bytes,
                           PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return u->place.memory != MAP_FAILED ? true :
                                           failed(error, "cache_bytes", ENOMEM);
}

/* Submits a request while there is no other, and waits until it has ended. */
static int finish(ArrayUring *u, ArrayRequest *request)
{
    submit(u, request);
    while (!array_uring_reap(u)) {
        array_uring_wait(u);
    }
    return request->error;
}

/* Writes the marked buffers that a killed process left to the drives. */
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

/*
 * Begins a run. If an earlier run has left a cache, the caller writes its data
 * to the drives after this function. Before that, all drives know that this run
 * serves, and the cache is this run's. So wherever this run ends, the next run
 * finds the data; and a drive that misses these writes can be recognised,
 * because it has not heard of this run. The number of the device that served
 * last stays, as that device misses no data. If there is no cache here, a cache
 * elsewhere may have data and must not become old, so the run does not serve
 * yet.
 */
static bool begin(ArrayUring *u, Keep *left, char *error)
{
    KeepRun run = { .id = u->drives.id, .after_id = u->drives.runs.served_id };

    if (!array_drives_start_run(&u->drives, error)) {
        return false;
    }
    if (!left->base) {
        return true;
    }
    run.number = u->drives.runs.heard;
    keep_adopt(left, &run);
    return array_drives_serve_run(&u->drives, u->drives.device, error);
}

static bool restore(ArrayUring *u, Keep *left, char *error)
{
    int code;

    if (!left->base) {
        return true;
    }
    if (!write_kept(u, left, error)) {
        return false;
    }
    code = array_uring_flush(u);
    if (code) {
        return failed(error, u->options.keep, code);
    }
    return keep_replace(&u->keep, left, u->options.keep, error);
}

static bool begin_and_restore(ArrayUring *u, char *error)
{
    const char *path = u->options.keep;
    uint64_t pages = array_bytes(u->array) / u->config.page_bytes;
    Keep left = { 0 };
    bool good;

    if (path && !keep_open(&left, path, &u->drives.label, &u->drives.runs,
                           pages, u->options.recovers, error)) {
        return false;
    }
    if (path && u->options.recovers && !left.base) {
        snprintf(error, ARRAY_ERROR_BYTES, "%.100s: is not there, and may have "
                 "had what no drive has: recover without it to give that up",
                 path);
        return false;
    }
    good = begin(u, &left, error) && restore(u, &left, error);
    keep_close(&left);
    return good;
}

bool array_uring_serve(ArrayUring *u, char *error)
{
    uint64_t device = u->options.device ? u->options.device : ARRAY_NO_DEVICE;

    if (!u->serves) {
        u->serves = array_drives_serve_run(&u->drives, device, error) &&
                    (!u->keep.base || u->keep.taken_over ||
                     keep_take_over(&u->keep, u->options.keep, error));
    }
    return u->serves;
}

int array_uring_flush(ArrayUring *u)
{
    ArrayRequest flush = { .op = ARRAY_OP_FLUSH };

    return finish(u, &flush);
}

/* Returns the number of processors that this process may use, at least 1. */
static int processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* Makes the core's ring, and the drives' threads if they are wanted. */
static bool make_rings(ArrayUring *u, char *error)
{
    ArrayUringThreads want = u->options.threads;
    bool threads = want == ARRAY_URING_THREADS ||
                   (want == ARRAY_URING_AUTO && processors() > 1);
    uint32_t on_it = threads ? 0 : u->place.n_drives;

    u->has_ring = array_ring_init(&u->ring, &u->place, 0, on_it,
                                  u->options.commands + 1, error);
    if (!u->has_ring) {
        return false;
    }
    if (threads) {
        u->threads = array_threads_new(&u->place, error);
        return u->threads;
    }
    u->under_way = calloc(on_it, sizeof(*u->under_way));
    return u->under_way ? true : failed(error, "the ring", ENOMEM);
}

static bool make(ArrayUring *u, char *error)
{
    static const ArrayOps ops = { issue, done };

    if (!array_drives_config(&u->drives, u->options.keys, &u->config, error) ||
        !make_memory(u, error)) {
        return false;
    }
    u->place.fds = u->drives.fd;
    u->place.n_drives = u->config.n_drives;
    u->place.slots = u->config.slots;
    u->config.memory = u->place.memory;
    u->config.marks = u->keep.marks;
    u->array = array_new(&u->config, &ops, u, error);
    return u->array && make_rings(u, error) && begin_and_restore(u, error);
}

ArrayUring *array_uring_new(ArrayDrives *drives,
                            const ArrayUringOptions *options, char *error)
{
    ArrayUring *u = calloc(1, sizeof(*u));

    if (!u) {
        array_drives_close(drives);
        failed(error, "the array", ENOMEM);
        return NULL;
    }
    u->drives = *drives;
    u->options = *options;
    u->place.memory = MAP_FAILED;
    if (!make(u, error)) {
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

/* Waits for all I/O on the ring: until then drives may use its memory. */
static void drain(ArrayUring *u)
{
    uint64_t left = 0;

    for (uint32_t i = 0; u->under_way && i < u->place.n_drives; i++) {
        left += u->under_way[i];
    }
    while (left) {
        struct io_uring_cqe *cqe;
        unsigned head, seen = 0;

        array_ring_check(io_uring_submit_and_wait(&u->ring, 1));
        io_uring_for_each_cqe(&u->ring, head, cqe) {
            left -= cqe->user_data >= ARRAY_URING_COMMANDS;
            seen++;
        }
        io_uring_cq_advance(&u->ring, seen);
    }
}

static void free_rings(ArrayUring *u)
{
    if (u->threads) {
        array_threads_free(u->threads);
    }
    if (u->has_ring) {
        drain(u);
        io_uring_queue_exit(&u->ring);
    }
    free(u->under_way);
}

static void free_memory(ArrayUring *u)
{
    char why[ARRAY_ERROR_BYTES];

    if (u->keep.base) {
        /*
         * If the array has not served, PATH stays: a server that recovers still
         * needs the cache in that file.
         */
        keep_end(&u->keep, u->options.keep,
                 u->serves && array_quiet(u->array, why) &&
                     !array_dirty_pages(u->array));
    } else if (u->place.memory != MAP_FAILED) {
        munmap(u->place.memory, u->place.memory_bytes);
    }
}

void array_uring_free(ArrayUring *u)
{
    free_rings(u);
    free_memory(u);
    array_free(u->array);
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
