/*
 * scarp-requests: a list of requests to a block device or file, by io_uring
 * past the page cache, and when each was submitted and done.  For `scarp
 * probe`, which has checked that the device may be written to.
 *
 *   scarp-requests FD DEPTH PARENT COUNTER <requests >times
 *
 * FD is what `scarp probe` has opened, checked and holds: a path could be
 * another device's by now.  DEPTH 0: each request at its time; else so many at
 * once.  One that is due while MAX_DEPTH are in flight counts from when it was
 * due.  PARENT is the process that started it; it does not outlive that.
 * COUNTER is a descriptor of eight bytes in memory: how many bytes of writes
 * were begun, whichever way this ends.
 *
 * A request is i64 ns after the first, u64 offset, u32 bytes, u32 kind (0 read,
 * 1 write, 2 deallocate, 3 flush); its times are i64 ns twice, in the order of
 * requests.
 *
 *   scarp-requests FD foreign
 *
 * ends with 0 if a file has nothing in it but zeroes and what scarp-requests
 * writes, and with 4 if somebody could miss it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES (1u << 20)
/* An NVMe queue of the kernel has room for 1023; past that a submission waits. */
#define MAX_DEPTH 1000
/* Of timed requests so much is in flight at most. */
#define TIMED_BYTES (64u << 20)
/* So near to its time a request is waited for without sleep. */
#define SPIN_NS 200000
#define SECTOR 512
#define MIX UINT64_C(0x9e3779b97f4a7c15)
#define FOREIGN 4

enum { READ, WRITE, DEALLOCATE, FLUSH };

typedef struct {
    int64_t at_ns;
    uint64_t offset;
    uint32_t bytes, kind;
} Request;

typedef struct {
    int64_t submit_ns, complete_ns;
} Times;

typedef struct {
    int fd;
    bool block;
    _Atomic uint64_t *begun;    /* bytes of writes; the parent reads it */
    struct io_uring ring;
    Request *requests;
    Times *times;
    size_t n;
    unsigned in_flight, most;
    size_t buffer_bytes;        /* the largest request's, in whole pages */
    unsigned char *memory;      /* most buffers */
    unsigned free[MAX_DEPTH], n_free;
    uint32_t *buffer_of;        /* [n] */
} Run;

static void fail(const char *what, int error)
{
    fprintf(stderr, "scarp-requests: %s: %s\n", what, strerror(error));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void read_requests(Run *run)
{
    size_t room = 1 << 16, got;

    run->requests = malloc(room * sizeof(Request));
    while ((got = fread(run->requests + run->n, sizeof(Request),
                        room - run->n, stdin)) > 0) {
        run->n += got;
        if (run->n == room) {
            room *= 2;
            run->requests = realloc(run->requests, room * sizeof(Request));
        }
        if (!run->requests) {
            fail("requests", ENOMEM);
        }
    }
    for (size_t i = 0; i < run->n; i++) {
        if (run->requests[i].bytes > MAX_BYTES ||
            run->requests[i].kind > FLUSH) {
            fail("a request is too large, or of no kind", EINVAL);
        }
        if (run->requests[i].kind != DEALLOCATE &&
            run->requests[i].bytes > run->buffer_bytes) {
            run->buffer_bytes = (run->requests[i].bytes + 4095) / 4096 * 4096;
        }
    }
}

static void deallocate(Run *run, const Request *request)
{
    uint64_t range[2] = { request->offset, request->bytes };
    int bad = run->block
                  ? ioctl(run->fd, BLKDISCARD, range)
                  : fallocate(run->fd,
                              FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              range[0], range[1]);

    /* A drive that cannot is no error: its reads will show it. */
    if (bad && errno != EOPNOTSUPP) {
        fail("deallocating", errno);
    }
}

static void submit(Run *run, size_t i)
{
    const Request *request = &run->requests[i];
    struct io_uring_sqe *sqe;
    unsigned char *memory;
    unsigned buffer;
    int done;

    if (request->kind == DEALLOCATE) {
        run->times[i].submit_ns = now_ns();
        deallocate(run, request);
        run->times[i].complete_ns = now_ns();
        return;
    }
    buffer = run->free[--run->n_free];
    run->buffer_of[i] = buffer;
    memory = run->memory + buffer * run->buffer_bytes;
    sqe = io_uring_get_sqe(&run->ring);
    switch (request->kind) {
    case READ:
        io_uring_prep_read(sqe, run->fd, memory, request->bytes,
                           request->offset);
        break;
    case WRITE:
        *run->begun += request->bytes;
        io_uring_prep_write(sqe, run->fd, memory, request->bytes,
                            request->offset);
        break;
    default:
        io_uring_prep_fsync(sqe, run->fd, IORING_FSYNC_DATASYNC);
        break;
    }
    sqe->user_data = i;
    run->times[i].submit_ns = now_ns();
    done = io_uring_submit(&run->ring);
    if (done < 0) {
        fail("submitting", -done);
    }
    run->in_flight++;
}

static void end(Run *run, struct io_uring_cqe *cqe)
{
    size_t i = cqe->user_data;
    const Request *request = &run->requests[i];

    run->times[i].complete_ns = now_ns();
    if (cqe->res < 0 || (request->kind != FLUSH &&
                         (uint32_t)cqe->res != request->bytes)) {
        fail("a request", cqe->res < 0 ? -cqe->res : EIO);
    }
    run->free[run->n_free++] = run->buffer_of[i];
    run->in_flight--;
    io_uring_cqe_seen(&run->ring, cqe);
}

/* What has ended; waits until until_ns for one if there is none. */
static void reap(Run *run, int64_t until_ns)
{
    struct io_uring_cqe *cqe;
    int64_t left_ns;

    while (!io_uring_peek_cqe(&run->ring, &cqe)) {
        end(run, cqe);
        until_ns = 0;
    }
    left_ns = until_ns - now_ns() - SPIN_NS;
    if (left_ns > 0) {
        struct __kernel_timespec time = {
            .tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000,
        };

        if (!io_uring_wait_cqe_timeout(&run->ring, &cqe, &time)) {
            end(run, cqe);
        }
    }
}

static void timed(Run *run)
{
    int64_t begin_ns = now_ns() + 1000000, full_until_ns = 0;

    for (size_t i = 0; i < run->n; i++) {
        int64_t due_ns = begin_ns + run->requests[i].at_ns;

        while (now_ns() < due_ns || !run->n_free) {
            reap(run, due_ns);
            if (!run->n_free) {
                full_until_ns = now_ns();
            }
        }
        submit(run, i);
        /*
         * Where the drive has not kept up, what a request waited for room is
         * its latency, too: else the more a drive is behind, the less it shows.
         */
        if (due_ns < full_until_ns) {
            run->times[i].submit_ns = due_ns;
        }
    }
    while (run->in_flight) {
        reap(run, now_ns() + 1000000000);
    }
}

static void closed(Run *run)
{
    struct io_uring_cqe *cqe;

    for (size_t i = 0; i < run->n || run->in_flight; ) {
        while (i < run->n && run->in_flight < run->most) {
            submit(run, i++);
        }
        if (run->in_flight) {
            int bad = io_uring_wait_cqe(&run->ring, &cqe);

            if (bad) {
                fail("waiting", -bad);
            }
            end(run, cqe);
            reap(run, 0);
        }
    }
}

/* Neither zeroes nor the same in each buffer: a drive might see that. */
static uint64_t word_at(uint64_t place)
{
    uint64_t mixed = (place + 1) * MIX;

    return mixed ^ mixed >> 29;
}

/* The place that a word is of. */
static uint64_t place_of(uint64_t word)
{
    uint64_t inverse = MIX;

    /* Newton's: each round doubles the bits that are right, three at first. */
    for (int i = 0; i < 5; i++) {
        inverse *= 2 - MIX * inverse;
    }
    return (word ^ word >> 29 ^ word >> 58) * inverse - 1;
}

/*
 * All of a sector is zero, or what word_at() says.  Requests are of whole
 * sectors, and what was read into a buffer may be written again.
 */
static bool ours(const unsigned char *sector)
{
    uint64_t words[SECTOR / 8], place;
    bool zero = true, written;

    memcpy(words, sector, SECTOR);
    place = place_of(words[0]);
    written = place % SECTOR == 0 && place < (uint64_t)MAX_DEPTH * MAX_BYTES;
    for (int i = 0; i < SECTOR / 8; i++) {
        zero &= !words[i];
        written &= words[i] == word_at(place + i * 8);
    }
    return zero || written;
}

static int foreign(int fd)
{
    unsigned char *memory = aligned_alloc(4096, MAX_BYTES);
    off_t at = 0;

    if (!memory) {
        fail("memory", ENOMEM);
    }
    while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
        ssize_t got;

        at -= at % 4096;
        got = pread(fd, memory, MAX_BYTES, at);
        if (got < 0) {
            fail("reading", errno);
        }
        if (!got) {
            return 0;
        }
        memset(memory + got, 0, MAX_BYTES - got);
        for (ssize_t i = 0; i < got; i += SECTOR) {
            if (!ours(memory + i)) {
                return FOREIGN;
            }
        }
        at += got;
    }
    if (errno != ENXIO) {
        fail("what it holds", errno);
    }
    return 0;
}

static void prepare(Run *run)
{
    struct stat stat;
    int flags = fcntl(run->fd, F_GETFL), bad;

    if (flags < 0 || fstat(run->fd, &stat)) {
        fail("the descriptor", errno);
    }
    run->block = S_ISBLK(stat.st_mode);
    if (fcntl(run->fd, F_SETFL, flags | O_DIRECT)) {
        fail("past the page cache", errno);
    }
    bad = io_uring_queue_init(MAX_DEPTH, &run->ring, 0);
    if (bad) {
        fail("io_uring", -bad);
    }
    if (posix_memalign((void **)&run->memory, 4096,
                       run->most * run->buffer_bytes)) {
        fail("buffers", ENOMEM);
    }
    for (size_t i = 0; i < run->most * run->buffer_bytes; i += 8) {
        uint64_t word = word_at(i);

        memcpy(run->memory + i, &word, 8);
    }
    for (unsigned i = 0; i < run->most; i++) {
        run->free[run->n_free++] = i;
    }
}

/* Nobody would know of what is written after the parent's end. */
static void live_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL)) {
        fail("the parent", errno);
    }
    /* It may have ended before that. */
    if (getppid() != parent) {
        fail("the parent", ESRCH);
    }
}

static void count_into(Run *run, int fd)
{
    run->begun = mmap(NULL, sizeof(*run->begun), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
    if (run->begun == MAP_FAILED) {
        fail("the counter", errno);
    }
}

int main(int argc, char **argv)
{
    Run run = { 0 };
    unsigned depth = 0;
    int parent, counter;

    if (argc == 3 && !strcmp(argv[2], "foreign") &&
        sscanf(argv[1], "%d", &run.fd) == 1) {
        return foreign(run.fd);
    }
    if (argc != 5 || sscanf(argv[1], "%d", &run.fd) != 1 ||
        sscanf(argv[2], "%u", &depth) != 1 || depth > MAX_DEPTH ||
        sscanf(argv[3], "%d", &parent) != 1 ||
        sscanf(argv[4], "%d", &counter) != 1) {
        fprintf(stderr, "scarp-requests: FD DEPTH PARENT COUNTER; DEPTH at most "
                "%u\n", MAX_DEPTH);
        return 2;
    }
    live_with(parent);
    count_into(&run, counter);
    read_requests(&run);
    run.most = depth ? depth : MAX_DEPTH;
    while (!depth && run.most * run.buffer_bytes > TIMED_BYTES) {
        run.most /= 2;
    }
    run.times = calloc(run.n + 1, sizeof(Times));
    run.buffer_of = calloc(run.n + 1, sizeof(uint32_t));
    if (!run.times || !run.buffer_of) {
        fail("times", ENOMEM);
    }
    prepare(&run);
    if (depth) {
        closed(&run);
    } else {
        timed(&run);
    }
    if (fwrite(run.times, sizeof(Times), run.n, stdout) != run.n ||
        fflush(stdout)) {
        fail("times", errno);
    }
    return 0;
}
