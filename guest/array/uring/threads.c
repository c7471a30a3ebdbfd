/*
 * The core's thread and a drive's thread exchange I/O through two mailboxes,
 * one for each direction, each with one writer and one reader. A thread that
 * finds its mailbox empty announces that it sleeps, looks once more, and
 * sleeps. A thread that puts I/O into a mailbox wakes the reader if the reader
 * sleeps. So a busy thread is never woken, which saves system calls.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A server locks its memory (mlockall()), so stacks are not the usual 8 MiB. */
#define STACK_BYTES (1u << 20)

/*
 * A ring of pointers with at least as many entries as a drive has slots, so
 * that it is never full.
 */
typedef struct {
    _Alignas(64) atomic_uint head; /* written by the reader */
    _Alignas(64) atomic_uint tail; /* written by the writer */
    unsigned mask;
    ArrayIo **entries;
} Mailbox;

typedef struct {
    ArrayThreads *threads;
    uint32_t drive;
    pthread_t thread;
    int wake_fd;
    Mailbox todo, done;
    int *errors;    /* [slots]: results of the I/O in done */
    atomic_bool sleeping, stop;
    bool told;      /* todo has got I/O since the last wake-up */
    bool has_thread;

    /* Members that the drive's thread uses. */
    struct io_uring ring;
    uint64_t woken; /* where the ring reads wake_fd to */
    sem_t begun;
    char *error;    /* where the thread writes why it has no ring */
    bool has_ring;
} Lane;

struct ArrayThreads {
    ArrayRingPlace place;
    Lane *lanes; /* [n_drives] */
    uint32_t at; /* the drive whose mailbox is looked at next */
    int wake_fd;
    atomic_bool sleeping;
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

    /*
     * The writer has put I/O into the mailbox before. So the writer sees here
     * that the reader sleeps, or the reader, which looks once more, sees the
     * I/O.
     */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_exchange(sleeping, false) &&
        write(fd, &one, sizeof(one)) != sizeof(one)) {
        /* the counter cannot overflow: each write is read before the next */
        abort();
    }
}

/* ---- A drive's thread -------------------------------------------------- */

static void lane_listen(Lane *lane)
{
    struct io_uring_sqe *sqe = array_ring_entry(&lane->ring);

    io_uring_prep_read(sqe, lane->wake_fd, &lane->woken, sizeof(lane->woken),
                       0);
    io_uring_sqe_set_data(sqe, NULL);
}

/*
 * Puts the ended I/O of the drive into the mailbox for the core's thread.
 * Returns the number of these I/Os.
 */
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
        lane->errors[io->slot] = array_ring_error(io, cqe->res);
        mailbox_put(&lane->done, io);
        ended++;
    }
    io_uring_cq_advance(&lane->ring, seen);
    if (listen) {
        lane_listen(lane);
    }
    if (ended) {
        wake(&lane->threads->sleeping, lane->threads->wake_fd);
    }
    return ended;
}

static void lane_serve(Lane *lane)
{
    unsigned under_way = 0;

    lane_listen(lane);
    while (!atomic_load(&lane->stop) || under_way ||
           !mailbox_empty(&lane->todo)) {
        ArrayIo *io;
        bool wait;

        while ((io = mailbox_take(&lane->todo))) {
            array_ring_prepare(array_ring_entry(&lane->ring), io,
                               &lane->threads->place, 0);
            under_way++;
        }
        atomic_store(&lane->sleeping, true);
        wait = atomic_load(&lane->stop) ? under_way > 0 :
                                          mailbox_empty(&lane->todo);
        array_ring_check(io_uring_submit_and_wait(&lane->ring, wait));
        atomic_store(&lane->sleeping, false);
        under_way -= lane_reap(lane);
    }
}

/* Makes the drive's ring in its own thread, as a ring belongs to one thread. */
static void *lane_run(void *opaque)
{
    Lane *lane = opaque;
    bool good = array_ring_init(&lane->ring, &lane->threads->place,
                                lane->drive, 1, 1, lane->error);

    lane->has_ring = good;
    sem_post(&lane->begun);
    if (good) {
        lane_serve(lane);
        io_uring_queue_exit(&lane->ring);
    }
    return NULL;
}

/* ---- The core's thread ------------------------------------------------- */

void array_threads_put(ArrayThreads *t, ArrayIo *io)
{
    mailbox_put(&t->lanes[io->drive].todo, io);
    t->lanes[io->drive].told = true;
}

void array_threads_tell(ArrayThreads *t)
{
    for (uint32_t i = 0; i < t->place.n_drives; i++) {
        if (t->lanes[i].told) {
            t->lanes[i].told = false;
            wake(&t->lanes[i].sleeping, t->lanes[i].wake_fd);
        }
    }
}

ArrayIo *array_threads_take(ArrayThreads *t, int *error)
{
    for (; t->at < t->place.n_drives; t->at++) {
        Lane *lane = &t->lanes[t->at];
        ArrayIo *io = mailbox_take(&lane->done);

        if (io) {
            *error = lane->errors[io->slot];
            return io;
        }
    }
    t->at = 0;
    return NULL;
}

static bool anything_done(const ArrayThreads *t)
{
    for (uint32_t i = 0; i < t->place.n_drives; i++) {
        if (!mailbox_empty(&t->lanes[i].done)) {
            return true;
        }
    }
    return false;
}

bool array_threads_sleep(ArrayThreads *t)
{
    atomic_store(&t->sleeping, true);
    atomic_thread_fence(memory_order_seq_cst);
    /*
     * A drive's thread that has cleared `sleeping` before the exchange makes
     * the eventfd readable. The caller can then sleep, as it is woken at once.
     */
    return !anything_done(t) || !atomic_exchange(&t->sleeping, false);
}

int array_threads_fd(const ArrayThreads *t)
{
    return t->wake_fd;
}

/* ---- Making and freeing threads ---------------------------------------- */

static bool failed(char *error, const char *what, int code)
{
    snprintf(error, ARRAY_ERROR_BYTES, "%s: %s", what, strerror(code));
    return false;
}

static bool lane_init(ArrayThreads *t, uint32_t drive, char *error)
{
    Lane *lane = &t->lanes[drive];
    uint64_t slots = t->place.slots;
    pthread_attr_t small;
    int code;

    lane->threads = t;
    lane->drive = drive;
    lane->error = error;
    sem_init(&lane->begun, 0, 0);
    lane->wake_fd = eventfd(0, EFD_CLOEXEC);
    lane->errors = calloc(slots, sizeof(*lane->errors));
    if (lane->wake_fd < 0 || !lane->errors ||
        !mailbox_init(&lane->todo, slots) ||
        !mailbox_init(&lane->done, slots)) {
        return failed(error, "a drive's mailbox", ENOMEM);
    }
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    code = pthread_create(&lane->thread, &small, lane_run, lane);
    pthread_attr_destroy(&small);
    lane->has_thread = !code;
    if (code) {
        return failed(error, "a drive's thread", code);
    }
    while (sem_wait(&lane->begun)) {
        /* a signal came: wait on */
    }
    return lane->has_ring;
}

static void lane_clear(Lane *lane)
{
    if (!lane->threads) {
        return;
    }
    if (lane->has_thread) {
        atomic_store(&lane->stop, true);
        wake(&lane->sleeping, lane->wake_fd);
        pthread_join(lane->thread, NULL);
    }
    if (lane->wake_fd >= 0) {
        close(lane->wake_fd);
    }
    sem_destroy(&lane->begun);
    free(lane->errors);
    free(lane->todo.entries);
    free(lane->done.entries);
}

void array_threads_free(ArrayThreads *t)
{
    for (uint32_t i = 0; t->lanes && i < t->place.n_drives; i++) {
        lane_clear(&t->lanes[i]);
    }
    free(t->lanes);
    if (t->wake_fd >= 0) {
        close(t->wake_fd);
    }
    free(t);
}

ArrayThreads *array_threads_new(const ArrayRingPlace *place, char *error)
{
    ArrayThreads *t = calloc(1, sizeof(*t));
    size_t bytes = place->n_drives * sizeof(*t->lanes);

    if (!t) {
        failed(error, "the drives' threads", ENOMEM);
        return NULL;
    }
    t->place = *place;
    t->wake_fd = eventfd(0, EFD_CLOEXEC);
    t->lanes = aligned_alloc(64, bytes);
    if (!t->lanes || t->wake_fd < 0) {
        failed(error, "the drives' threads", ENOMEM);
        array_threads_free(t);
        return NULL;
    }
    memset(t->lanes, 0, bytes);
    for (uint32_t i = 0; i < place->n_drives; i++) {
        if (!lane_init(t, i, error)) {
            array_threads_free(t);
            return NULL;
        }
    }
    return t;
}
