/*
 * array-ublk: an array of drives as a block device of the kernel's.
 *
 * One thread runs the core. Its ring (uring/) also carries the commands that
 * fetch the device's requests. Other threads start and stop the device, because
 * the kernel completes those two commands only while requests are being served.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "ring.h"
#include "ublk.h"
#include "uring.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TAG_SIGNAL = UBLK_DEPTH }; /* user data that is no tag */

typedef struct {
    const char *keys, *keep, *record;
    ArrayUringThreads threads;
    int id, recover, remove; /* ids of devices; below 0: not given */
    bool read_only;
} Options;

typedef struct {
    Ublk ublk;
    ArrayUring *array;
    struct io_uring *ring; /* the array's ring */
    ArrayRequest requests[UBLK_DEPTH];
    uint32_t fetching; /* tags that the driver has or a request uses */
    int signals;
    struct signalfd_siginfo signal;
    uint64_t number; /* the device's number: ../label.h */
    bool recovered, stopping;
    bool unable; /* the array cannot serve, which was reported */
    int start_code; /* result of the start, for who joins starter */
    pthread_t starter, stopper;
} Server;

static bool complain(const char *what, int code)
{
    if (code == UBLK_REFUSED) {
        fprintf(stderr, "array-ublk: %s\n", what);
    } else {
        fprintf(stderr, "array-ublk: %s: %s\n", what, strerror(code));
    }
    return false;
}

/*
 * Keeps the kernel from making this process wait for free memory. To free
 * memory the kernel writes dirty pages through this process. If the process
 * then waited for free memory, both would wait for ever.
 */
static void never_wait_for_memory(void)
{
    if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) && errno != EINVAL) {
        complain("PR_SET_IO_FLUSHER, without which it may stand still when "
                 "memory is short", errno);
    }
}

/*
 * Locks the process in memory. All memory that it will use is allocated by now.
 */
static void stay_in_memory(void)
{
    if (mlockall(MCL_CURRENT)) {
        complain("mlockall, without which it may stand still when memory is "
                 "short", errno);
    }
}

/* ---- Starting and stopping --------------------------------------------- */

static void *starter(void *opaque)
{
    Server *s = opaque;
    s->start_code = ublk_start(&s->ublk, s->recovered);
    if (s->start_code) {
        complain("the ublk device does not start", s->start_code);
        /* a device that is being recovered waits for the next server */
        if (s->recovered) {
            exit(1);
        }
        ublk_stop(&s->ublk);
        return NULL;
    }
    printf("/dev/ublkb%u\n", s->ublk.id);
    fflush(stdout);
    return NULL;
}

static void *stopper(void *opaque)
{
    Server *s = opaque;

    pthread_join(s->starter, NULL);
    ublk_stop(&s->ublk);
    return NULL;
}

/* ---- Requests ---------------------------------------------------------- */

/*
 * Begins to serve with the first request. Before that the start may fail, and
 * after a failed start a kept cache must still be valid. If a drive cannot be
 * written, the next request tries again.
 */
static bool serves(Server *s)
{
    char error[ARRAY_ERROR_BYTES];

    if (array_uring_serve(s->array, error)) {
        return true;
    }
    if (!s->unable) {
        fprintf(stderr, "array-ublk: requests fail: %s\n", error);
    }
    s->unable = true;
    return false;
}

static void begin(Server *s, uint16_t tag)
{
    static const int ops[] = {
        [UBLK_IO_OP_READ] = ARRAY_OP_READ, [UBLK_IO_OP_WRITE] = ARRAY_OP_WRITE,
        [UBLK_IO_OP_FLUSH] = ARRAY_OP_FLUSH,
        [UBLK_IO_OP_DISCARD] = ARRAY_OP_DISCARD,
    };
    const struct ublksrv_io_desc *d = &s->ublk.requests[tag];
    unsigned op = ublksrv_get_op(d);

    if (op > UBLK_IO_OP_DISCARD || !serves(s)) {
        ublk_end(&s->ublk, s->ring, tag,
                 op > UBLK_IO_OP_DISCARD ? -EOPNOTSUPP : -EIO);
        return;
    }
    s->requests[tag] = (ArrayRequest) {
        .op = ops[op], .fua = d->op_flags & UBLK_IO_F_FUA,
        .offset_bytes = d->start_sector << 9,
        .length_bytes = (uint64_t)d->nr_sectors << 9,
        .data = ublk_buffer(&s->ublk, tag),
    };
    array_uring_submit(s->array, &s->requests[tag]);
}

static void end(Server *s, ArrayRequest *r)
{
    bool moves = r->op == ARRAY_OP_READ || r->op == ARRAY_OP_WRITE;

    ublk_end(&s->ublk, s->ring, r - s->requests,
             r->error ? -r->error : moves ? (int)r->length_bytes : 0);
}

static void listen_to_signals(Server *s)
{
    struct io_uring_sqe *sqe = array_ring_entry(s->ring);

    io_uring_prep_read(sqe, s->signals, &s->signal, sizeof(s->signal), 0);
    sqe->user_data = TAG_SIGNAL;
}

/*
 * Called on a signal: begins to stop the device. If no thread can be made for
 * that, the next signal tries again.
 */
static void signalled(Server *s)
{
    int code = s->stopping ? 0 : pthread_create(&s->stopper, NULL, stopper, s);

    s->stopping = !code;
    if (code) {
        complain("a thread, without which it does not end; send the signal "
                 "again", code);
        listen_to_signals(s);
    }
}

static void look(void *opaque, const struct io_uring_cqe *cqe)
{
    Server *s = opaque;

    if (cqe->user_data == TAG_SIGNAL) {
        signalled(s);
    } else if (cqe->res == UBLK_IO_RES_OK) {
        begin(s, cqe->user_data);
    } else {
        /* the tag comes back because the device is being stopped */
        s->fetching--;
    }
}

/* Serves requests until the driver has given back every tag. */
static void serve(Server *s)
{
    while (s->fetching) {
        ArrayRequest *r;

        while ((r = array_uring_reap(s->array))) {
            end(s, r);
        }
        array_uring_wait(s->array);
    }
}

/* ---- A whole run ------------------------------------------------------- */

/* Opens the ublk driver. A device that is to be recovered is checked. */
static bool open_driver(Server *s, const Options *o, const ArrayDrives *drives)
{
    char error[ARRAY_ERROR_BYTES];
    const char *what;
    int code = ublk_open(&s->ublk, &what);

    s->recovered = o->recover >= 0;
    s->number = array_device_number(&drives->label, drives->id);
    if (!code && s->recovered) {
        code = ublk_number(&s->ublk, o->recover, &s->number, &what);
    }
    if (code) {
        return complain(what, code);
    }
    if (s->recovered && !array_device_goes_on(s->number, &drives->label,
                                              drives->device, error)) {
        return complain(error, UBLK_REFUSED);
    }
    return true;
}

static bool open_array(Server *s, const Options *o, const char *const *paths,
                       uint32_t n)
{
    ArrayUringOptions how = {
        .keys = o->keys, .keep = o->keep, .recovers = o->recover >= 0,
        .threads = o->threads,
        .commands = UBLK_DEPTH + 1, /* one for each tag, and one for signals */
        .ended = look, .opaque = s,
    };
    char error[ARRAY_ERROR_BYTES];
    ArrayDrives drives;

    if (array_drives_open(&drives, paths, n, error)) {
        if (!open_driver(s, o, &drives)) {
            array_drives_close(&drives);
            return false;
        }
        how.device = s->number;
        s->array = array_uring_new(&drives, &how, error);
    }
    if (!s->array ||
        (o->record && !array_uring_record(s->array, o->record, error))) {
        fprintf(stderr, "array-ublk: %s\n", error);
        return false;
    }
    return true;
}

static bool open_device(Server *s, const Options *o)
{
    UblkSize size = {
        .bytes = array_uring_bytes(s->array), .page_bytes = 4096,
        .read_only = o->read_only, .number = s->number,
    };
    const char *what;
    int code;

    code = s->recovered ? ublk_recover(&s->ublk, o->recover, &size, &what) :
                          ublk_add(&s->ublk, o->id, &size, &what);
    if (code) {
        /*
         * The array has not served, so the kept cache of an earlier run is
         * unchanged.
         */
        array_uring_free(s->array);
        return complain(what, code);
    }
    s->ring = array_uring_ring(s->array);
    for (uint32_t tag = 0; tag < UBLK_DEPTH; tag++) {
        ublk_fetch(&s->ublk, s->ring, tag);
        s->fetching++;
    }
    listen_to_signals(s);
    stay_in_memory();
    array_ring_check(io_uring_submit(s->ring));
    code = pthread_create(&s->starter, NULL, starter, s);
    if (code && !s->recovered) {
        ublk_stop(&s->ublk);
        ublk_remove(&s->ublk);
    }
    return code ? complain("a thread", code) : true;
}

/*
 * Writes dirty pages to the drives and frees the array. False: some pages could
 * not be written.
 */
static bool close_array(Server *s, bool *recorded)
{
    int code = array_uring_flush(s->array);
    int unrecorded = array_uring_record_end(s->array);

    array_uring_free(s->array);
    *recorded = !unrecorded;
    if (unrecorded) {
        complain("the record is not whole", unrecorded);
    }
    return code ? complain("not all that was written is on the drives", code) :
                  true;
}

/*
 * Blocks the signals while there is no other thread, so that only the signalfd
 * gets them. SIGHUP is left out if it is ignored, as under nohup: a signalfd
 * gets even ignored signals.
 */
static int take_signals(void)
{
    struct sigaction hangup;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN) {
        sigaddset(&signals, SIGHUP);
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

static int usage(const char *argument)
{
    fprintf(stderr, "array-ublk: %s: allowed: --keys=KEY=VALUE,..., "
            "--keep=FILE, --record=FILE, --id=N, --read-only, --recover=N, "
            "--drive-threads=0|1|auto, then the drives; or --remove=N\n",
            argument);
    return 1;
}

static int abandon(int id)
{
    const char *what;
    Ublk ublk;
    int code = ublk_abandon(&ublk, id, &what);

    return code ? !complain(what, code) : 0;
}

static bool drive_threads(const char *text, ArrayUringThreads *value)
{
    *value = !strcmp(text, "0") ? ARRAY_URING_ALONE :
             !strcmp(text, "1") ? ARRAY_URING_THREADS : ARRAY_URING_AUTO;
    return *value != ARRAY_URING_AUTO || !strcmp(text, "auto");
}

static bool number(const char *text, int *value)
{
    char *end;
    long n = strtol(text, &end, 10);

    *value = n;
    return *text && !*end && n >= 0 && n < 1 << 20;
}

int main(int argc, char **argv)
{
    Options o = { .id = -1, .recover = -1, .remove = -1 };
    Server *s = calloc(1, sizeof(*s));
    bool written, recorded;
    int i = 1;

    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strncmp(argv[i], "--keys=", 7)) {
            o.keys = argv[i] + 7;
        } else if (!strncmp(argv[i], "--keep=", 7)) {
            o.keep = argv[i] + 7;
        } else if (!strncmp(argv[i], "--record=", 9)) {
            o.record = argv[i] + 9;
        } else if (!strcmp(argv[i], "--read-only")) {
            o.read_only = true;
        } else if (!(!strncmp(argv[i], "--id=", 5) &&
                     number(argv[i] + 5, &o.id)) &&
                   !(!strncmp(argv[i], "--drive-threads=", 16) &&
                     drive_threads(argv[i] + 16, &o.threads)) &&
                   !(!strncmp(argv[i], "--remove=", 9) &&
                     number(argv[i] + 9, &o.remove)) &&
                   !(!strncmp(argv[i], "--recover=", 10) &&
                     number(argv[i] + 10, &o.recover))) {
            return usage(argv[i]);
        }
    }
    if (o.remove >= 0) {
        return argc == 2 ? abandon(o.remove) : usage(argv[2]);
    }
    if (o.record && o.keep) {
        /*
         * dirty pages that a killed server left are written before a record can
         * begin
         */
        fprintf(stderr, "array-ublk: --record: excludes --keep\n");
        return 1;
    }
    /* called before there is any thread, so that all threads inherit it */
    never_wait_for_memory();
    s->signals = take_signals();
    if (!open_array(s, &o, (const char *const *)argv + i, argc - i) ||
        !open_device(s, &o)) {
        return 1;
    }
    serve(s);
    pthread_join(s->stopping ? s->stopper : s->starter, NULL);
    written = close_array(s, &recorded);
    /*
     * A stopped device is of no use to another server, even if the stop failed.
     */
    ublk_remove(&s->ublk);
    return written && recorded && !s->start_code ? 0 : 1;
}
