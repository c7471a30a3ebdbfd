/*
 * The array as an engine of fio: --ioengine=external:…/array-fio.so
 * --drives=DRIVE:DRIVE… [--keys=KEY=VALUE,…] [--drive_threads=0|1|auto]. One
 * job at a time can use the array.
 *
 * The engine is built with the headers of the fio that loads it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fio.h"
#include "optgroup.h"

#include "uring.h"

typedef struct {
    void *pad; /* fio takes offset 0 for "no offset" */
    char *drives;
    char *keys;
    unsigned threads; /* ArrayUringThreads */
} Options;

typedef struct {
    ArrayUring *array;
    struct io_u **events;
    unsigned outstanding;
} Job;

static struct fio_option options[] = {
    {
        .name = "drives",
        .lname = "Drives of the array",
        .type = FIO_OPT_STR_STORE,
        .off1 = offsetof(Options, drives),
        .help = "Drives of the array, with colons between them",
        .category = FIO_OPT_C_ENGINE,
        .group = FIO_OPT_G_INVALID,
    },
    {
        .name = "keys",
        .lname = "Keys of the array",
        .type = FIO_OPT_STR_STORE,
        .off1 = offsetof(Options, keys),
        .help = "key=value,... of the array",
        .category = FIO_OPT_C_ENGINE,
        .group = FIO_OPT_G_INVALID,
    },
    {
        .name = "drive_threads",
        .lname = "A thread for each drive",
        .type = FIO_OPT_STR,
        .off1 = offsetof(Options, threads),
        .help = "Whether each drive has a thread of its own",
        .def = "auto",
        .posval = {
            { .ival = "auto", .oval = ARRAY_URING_AUTO,
              .help = "Unless there is but one processor" },
            { .ival = "0", .oval = ARRAY_URING_ALONE,
              .help = "All I/O is on one ring of the job's thread" },
            { .ival = "1", .oval = ARRAY_URING_THREADS,
              .help = "Each has one, and a ring" },
        },
        .category = FIO_OPT_C_ENGINE,
        .group = FIO_OPT_G_INVALID,
    },
    { .name = NULL },
};

/*
 * Opens the drives of the option "drives". fio keeps the option's text, so a
 * copy of it is cut into paths.
 */
static bool open_drives(struct thread_data *td, ArrayDrives *drives,
                        char *error)
{
    const Options *o = td->eo;
    char *text = strdup(o->drives ? o->drives : ""), *at = text, *path;
    const char *paths[ARRAY_MAX_DRIVES];
    uint32_t n = 0;
    bool good;

    while (n < ARRAY_MAX_DRIVES && (path = strsep(&at, ":"))) {
        if (*path) {
            paths[n++] = path;
        }
    }
    good = array_drives_open(drives, paths, n, error);
    free(text);
    return good;
}

/*
 * Tells fio the array's size. fio calls this in the process that reads the job.
 */
static int setup(struct thread_data *td)
{
    const Options *o = td->eo;
    char error[ARRAY_ERROR_BYTES];
    ArrayDrives drives;
    ArrayConfig config;
    bool good;

    if (!open_drives(td, &drives, error)) {
        log_err("array: %s\n", error);
        return 1;
    }
    good = array_drives_config(&drives, o->keys, &config, error);
    array_drives_close(&drives);
    if (!good) {
        log_err("array: %s\n", error);
        return 1;
    }
    if (!td->files_index) {
        add_file(td, "array", 0, 0);
        td->o.nr_files = td->o.nr_files ? td->o.nr_files : 1;
        td->o.open_files++;
    }
    td->files[0]->real_file_size =
        (config.drive_bytes[0] - config.data_offset_bytes) * config.n_drives;
    return 0;
}

static int init(struct thread_data *td)
{
    const Options *o = td->eo;
    ArrayUringOptions how = { .keys = o->keys, .threads = o->threads };
    char error[ARRAY_ERROR_BYTES];
    ArrayDrives drives;
    Job *job = calloc(1, sizeof(*job));

    job->events = calloc(td->o.iodepth, sizeof(*job->events));
    if (open_drives(td, &drives, error)) {
        job->array = array_uring_new(&drives, &how, error);
    }
    if (job->array && !array_uring_serve(job->array, error)) {
        array_uring_free(job->array);
        job->array = NULL;
    }
    if (!job->array) {
        log_err("array: %s\n", error);
        free(job->events);
        free(job);
        return 1;
    }
    td->io_ops_data = job;
    return 0;
}

static void cleanup(struct thread_data *td)
{
    Job *job = td->io_ops_data;
    int code;

    if (!job) {
        return;
    }
    code = array_uring_flush(job->array);
    if (code) {
        log_err("array: not all that was written is on the drives: %s\n",
                strerror(code));
        td_verror(td, code, "array");
    }
    array_uring_free(job->array);
    free(job->events);
    free(job);
    td->io_ops_data = NULL;
}

static int io_u_init(struct thread_data *td, struct io_u *io_u)
{
    ArrayRequest *request = calloc(1, sizeof(*request));

    request->opaque = io_u;
    io_u->engine_data = request;
    return 0;
}

static void io_u_free(struct thread_data *td, struct io_u *io_u)
{
    free(io_u->engine_data);
    io_u->engine_data = NULL;
}

static enum fio_q_status queue(struct thread_data *td, struct io_u *io_u)
{
    ArrayRequest *request = io_u->engine_data;
    Job *job = td->io_ops_data;

    fio_ro_check(td, io_u);
    switch (io_u->ddir) {
    case DDIR_READ:
        request->op = ARRAY_OP_READ;
        break;
    case DDIR_WRITE:
        request->op = ARRAY_OP_WRITE;
        break;
    case DDIR_SYNC:
    case DDIR_DATASYNC:
        request->op = ARRAY_OP_FLUSH;
        break;
    case DDIR_TRIM:
        request->op = ARRAY_OP_DISCARD;
        break;
    default:
        io_u->error = EOPNOTSUPP;
        return FIO_Q_COMPLETED;
    }
    request->fua = false;
    request->offset_bytes = io_u->offset;
    request->length_bytes = io_u->xfer_buflen;
    request->data = io_u->xfer_buf;
    array_uring_submit(job->array, request);
    job->outstanding++;
    return FIO_Q_QUEUED;
}

static int commit(struct thread_data *td)
{
    Job *job = td->io_ops_data;

    /*
     * When as many requests as iodepth are outstanding, fio waits next, and the
     * wait runs the ring. Running the ring here would cost a second call.
     */
    if (job->outstanding < td->o.iodepth) {
        array_uring_run(job->array);
    }
    return 0;
}

static int getevents(struct thread_data *td, unsigned int min,
                     unsigned int max, const struct timespec *t)
{
    Job *job = td->io_ops_data;
    bool waited = false;
    unsigned n = 0;

    for (;;) {
        ArrayRequest *request;

        while (n < max && (request = array_uring_reap(job->array))) {
            struct io_u *io_u = request->opaque;

            io_u->error = request->error;
            io_u->resid = request->error ? io_u->xfer_buflen : 0;
            job->events[n++] = io_u;
            job->outstanding--;
        }
        if (n >= min) {
            break;
        }
        array_uring_wait(job->array);
        waited = true;
    }
    if (!waited) {
        /*
         * The cache has served all requests, so fio did not wait for any I/O.
         * The ring is run here so that the drives do not idle.
         */
        array_uring_run(job->array);
    }
    return n;
}

static struct io_u *event(struct thread_data *td, int index)
{
    const Job *job = td->io_ops_data;

    return job->events[index];
}

static int open_file(struct thread_data *td, struct fio_file *f)
{
    return 0;
}

static int close_file(struct thread_data *td, struct fio_file *f)
{
    return 0;
}

struct ioengine_ops ioengine = {
    .name = "array",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL,
    .setup = setup,
    .init = init,
    .cleanup = cleanup,
    .io_u_init = io_u_init,
    .io_u_free = io_u_free,
    .queue = queue,
    .commit = commit,
    .getevents = getevents,
    .event = event,
    .open_file = open_file,
    .close_file = close_file,
    .options = options,
    .option_struct_size = sizeof(Options),
};
