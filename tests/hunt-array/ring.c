/*
 * The kernel's ring, in the place of liburing: I/O ends in any order, whenever
 * the draw says so, well or badly.
 *
 * What the server's inline functions of liburing.h look at is as it is there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "world.h"

#include <errno.h>
#include <liburing.h>
#include <string.h>

#define MOST_FILES MOST_DISKS

/* I/O that the kernel has. */
typedef struct {
    struct io_uring_sqe sqe;
    unsigned disk;
    uint8_t *was; /* what a write carried when it began */
} Entry;

typedef struct {
    unsigned heads[4]; /* of both queues */
    unsigned flags;
    GArray *entries; /* of Entry */
    unsigned disk[MOST_FILES];
} Kernel;

/* There is one ring of the array at a time. */
static Kernel *kernel;

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    unsigned size = 1;

    if (the_world->old_kernel && (flags & IORING_SETUP_DEFER_TASKRUN)) {
        return -EINVAL;
    }
    g_assert(!kernel);
    while (size < entries) {
        size *= 2;
    }
    kernel = g_new0(Kernel, 1);
    kernel->entries = g_array_new(false, false, sizeof(Entry));
    memset(ring, 0, sizeof(*ring));
    ring->flags = flags;
    ring->sq.khead = &kernel->heads[0];
    ring->sq.ktail = &kernel->heads[1];
    ring->cq.khead = &kernel->heads[2];
    ring->cq.ktail = &kernel->heads[3];
    ring->sq.kflags = ring->cq.kflags = &kernel->flags;
    ring->sq.ring_entries = size;
    ring->sq.ring_mask = size - 1;
    ring->cq.ring_entries = 2 * size;
    ring->cq.ring_mask = 2 * size - 1;
    ring->sq.kring_mask = &ring->sq.ring_mask;
    ring->sq.kring_entries = &ring->sq.ring_entries;
    ring->cq.kring_mask = &ring->cq.ring_mask;
    ring->cq.kring_entries = &ring->cq.ring_entries;
    ring->sq.sqes = g_new0(struct io_uring_sqe, size);
    ring->cq.cqes = g_new0(struct io_uring_cqe, 2 * size);
    the_world->rings++;
    return 0;
}

void io_uring_queue_exit(struct io_uring *ring)
{
    for (guint i = 0; i < kernel->entries->len; i++) {
        g_free(g_array_index(kernel->entries, Entry, i).was);
    }
    g_array_free(kernel->entries, true);
    g_clear_pointer(&kernel, g_free);
    g_free(ring->sq.sqes);
    g_free(ring->cq.cqes);
    the_world->rings--;
    the_world->in_ring = 0;
}

int io_uring_register_files(struct io_uring *ring, const int *files,
                            unsigned n)
{
    (void)ring;
    for (unsigned i = 0; i < n; i++) {
        kernel->disk[i] = disk_of(the_world, files[i]);
        g_assert(kernel->disk[i] < MOST_DISKS);
    }
    return 0;
}

int io_uring_register_buffers(struct io_uring *ring,
                              const struct iovec *buffers, unsigned n)
{
    (void)ring, (void)buffers, (void)n;
    return 0;
}

int io_uring_register_ring_fd(struct io_uring *ring)
{
    (void)ring;
    return -EINVAL; /* it need not work */
}

/* ---- I/O --------------------------------------------------------------- */

static void take_over(struct io_uring *ring)
{
    while (ring->sq.sqe_head != ring->sq.sqe_tail) {
        Entry entry = {
            .sqe = ring->sq.sqes[ring->sq.sqe_head++ & ring->sq.ring_mask],
        };

        entry.disk = kernel->disk[entry.sqe.fd];
        if (entry.sqe.opcode == IORING_OP_WRITE_FIXED) {
            entry.was = g_memdup2((void *)(uintptr_t)entry.sqe.addr,
                                  entry.sqe.len);
        }
        g_array_append_val(kernel->entries, entry);
        the_world->in_ring++;
    }
    *ring->sq.khead = ring->sq.sqe_head;
}

/* What is as it was when a drive was asked; it may be looked at until then. */
static const void *carried(const Entry *entry)
{
    if (!the_world->dead && memcmp(entry->was,
                                   (void *)(uintptr_t)entry->sqe.addr,
                                   entry->sqe.len)) {
        wrong("a drive is given data that change");
    }
    return entry->was;
}

static int happen(World *w, const Entry *entry)
{
    const struct io_uring_sqe *sqe = &entry->sqe;
    void *data = (void *)(uintptr_t)sqe->addr;
    int code;

    switch (sqe->opcode) {
    case IORING_OP_READ_FIXED:
        code = disk_read(w, entry->disk, data, sqe->off, sqe->len);
        /* Or it reads less than all. */
        return !code ? (int)sqe->len :
               draw_chance(&w->draw, 20) ? (int)sqe->len / 2 : -code;
    case IORING_OP_WRITE_FIXED:
        code = disk_write(w, entry->disk, carried(entry), sqe->off, sqe->len);
        return !code ? (int)sqe->len :
               draw_chance(&w->draw, 20) ? (int)sqe->len / 2 : -code;
    case IORING_OP_FSYNC:
        return -disk_flush(w, entry->disk);
    case IORING_OP_FALLOCATE:
        return -disk_discard(w, entry->disk, sqe->off, sqe->addr);
    default:
        g_assert_not_reached();
    }
}

static void end_one(struct io_uring *ring, guint index)
{
    Entry entry = g_array_index(kernel->entries, Entry, index);
    unsigned tail = *ring->cq.ktail;

    g_array_remove_index_fast(kernel->entries, index);
    the_world->in_ring--;
    ring->cq.cqes[tail & ring->cq.ring_mask] = (struct io_uring_cqe) {
        .user_data = entry.sqe.user_data, .res = happen(the_world, &entry),
    };
    *ring->cq.ktail = tail + 1;
    g_free(entry.was);
}

/* One of a drive that does not stall; -1: there is none. */
static int any(const World *w, bool stalled)
{
    guint n = kernel->entries->len, from = n ? draw_below(
        &the_world->draw, n) : 0;

    for (guint i = 0; i < n; i++) {
        guint at = (from + i) % n;

        if (stalled || w->dead ||
            !w->stalled[g_array_index(kernel->entries, Entry, at).disk]) {
            return at;
        }
    }
    return -1;
}

/* The process is killed: the kernel does what it has, or does not. */
void ring_die(World *w)
{
    w->dead = false;
    for (guint i = 0; kernel && i < kernel->entries->len; i++) {
        const Entry *entry = &g_array_index(kernel->entries, Entry, i);
        uint64_t ios = w->ios, dies_at = w->dies_at;

        w->dies_at = 0;
        if (entry->sqe.opcode != IORING_OP_READ_FIXED &&
            draw_chance(&w->draw, 50)) {
            happen(w, entry);
        }
        w->ios = ios;
        w->dies_at = dies_at;
    }
    w->dead = true;
}

static bool busy(void)
{
    return draw_chance(&the_world->draw, 2);
}

int io_uring_submit(struct io_uring *ring)
{
    take_over(ring);
    return 0;
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
    if (busy()) {
        return DRAW_OF(&the_world->draw, 0, 1) ? -EAGAIN : -EINTR;
    }
    take_over(ring);
    for (unsigned n = draw_below(&the_world->draw, 3); n; n--) {
        int at = any(the_world, false);

        if (at >= 0) {
            end_one(ring, at);
        }
    }
    return 0;
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned wait)
{
    unsigned n = wait;

    if (busy()) {
        return DRAW_OF(&the_world->draw, 0, 1) ? -EBUSY : -EINTR;
    }
    take_over(ring);
    if (wait && !kernel->entries->len && !io_uring_cq_ready(ring)) {
        wrong("stuck: the server waits, and no drive has anything to do");
    }
    n += draw_below(&the_world->draw, 4);
    for (unsigned i = 0; i < n; i++) {
        int at = any(the_world, i < wait && any(the_world, false) < 0);

        if (at >= 0) {
            end_one(ring, at);
        }
    }
    return 0;
}

int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe,
                       unsigned submit, unsigned wait, sigset_t *mask)
{
    (void)ring, (void)cqe, (void)submit, (void)wait, (void)mask;
    g_assert_not_reached(); /* of rings of the drives' own threads */
}
