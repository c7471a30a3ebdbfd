/*
 * Simulated threads of an application, on the array or on drives without an
 * array.
 *
 * A thread has `depth` requests outstanding. It spends host_ns on each request,
 * one after the other. The clock goes from event to event: of drives, of turns,
 * and of threads that submit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

#include "../record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ArrayRequest request; /* must be first: the array gives it back */
    ScarpCmd cmd;         /* for a drive, if there is no array */
    GList link;           /* in the queue of its drive, or in Thread.idle */
    uint32_t thread, drive;
    int64_t begin_ns;
    bool measured;
} Client;

typedef struct {
    GQueue idle;     /* clients that may submit */
    int64_t busy_ns; /* the thread works until then */
    SimRandom random;
    uint64_t since;       /* requests since the thread's last flush */
    ArrayRequest barrier;
    bool waits;           /* the thread waits for its flush */
    int64_t barrier_ns;   /* when the flush was submitted */
} Thread;

typedef struct {
    const SimOptions *o;
    SimResult *result;
    SimDrives *drives;
    Array *array;
    SimTurns *turns; /* or NULL */
    FILE *record;    /* or NULL */
    ArrayConfig config;
    ScarpCmd *cmds;  /* [drives][slots], if there is an array */
    GQueue *queues;  /* [drives] of clients, if there is no array */
    uint32_t *on_drive;
    Thread *threads;
    Client *clients;
    uint32_t n_threads;
    int64_t *next_ns;  /* [n_threads]: time of the next submission */
    uint32_t first;    /* the first thread with the earliest next_ns */
    bool first_known;
    uint64_t pages;  /* of the array, or of each drive */
    uint64_t submitted, completed, warmup;
    ArrayRequest last; /* the flush at the end */
    bool last_out;
    uint64_t failed;  /* requests that ended with an error */
    int64_t now_ns, begin_ns;
    bool stopping;    /* the measured part has ended */
} Sim;

static void thread_at(Sim *sim, const Thread *thread, int64_t ns)
{
    sim->next_ns[thread - sim->threads] = ns;
    sim->first_known = false;
}

static void thread_soon(Sim *sim, const Thread *thread)
{
    thread_at(sim, thread, MAX(sim->now_ns, thread->busy_ns) +
                           sim->o->host_ns);
}

static void client_idle(Sim *sim, Client *client)
{
    Thread *thread = &sim->threads[client->thread];

    if (!thread->idle.length && !thread->waits) {
        thread_soon(sim, thread);
    }
    g_queue_push_tail_link(&thread->idle, &client->link);
}

static void snapshot(Sim *sim)
{
    SimResult *r = sim->result;

    r->ns = sim->now_ns - sim->begin_ns;
    if (sim->array) {
        r->array = *array_stats(sim->array);
    }
    for (uint32_t i = 0; i < sim->o->drives; i++) {
        const ScarpStats *s = scarp_stats(sim_drives_get(sim->drives, i));
        uint64_t host = s->host_page_programs;
        uint64_t all = host + s->gc_page_programs + s->parity_page_programs +
                       s->map_page_programs;

        r->drive[i].reads = s->reads;
        r->drive[i].writes = s->writes;
        r->drive[i].amplification_milli = host ? all * 1000 / host : 0;
        r->drive[i].gc_runs = s->gc_runs;
        r->drive[i].gc_busy_ns = s->gc_busy_ns;
    }
}

static void measure_from_here(Sim *sim)
{
    sim->begin_ns = sim->now_ns;
    if (sim->array) {
        array_stats_reset(sim->array);
    }
    for (uint32_t i = 0; i < sim->o->drives; i++) {
        scarp_stats_reset(sim_drives_get(sim->drives, i));
    }
}

static void client_done(Sim *sim, Client *client, bool failed)
{
    int64_t latency = sim->now_ns - client->begin_ns;
    bool read = client->request.op == ARRAY_OP_READ;

    sim->completed++;
    sim->failed += failed;
    if (sim->completed > sim->warmup && !sim->stopping) {
        sim->result->completed++;
        if (client->measured) {
            g_array_append_val(read ? sim->result->read_ns :
                                      sim->result->write_ns, latency);
        }
    }
    if (sim->completed == sim->warmup) {
        measure_from_here(sim);
    }
    if (sim->completed == sim->warmup + sim->o->requests) {
        snapshot(sim);
        sim->stopping = true;
    }
    client_idle(sim, client);
}

/* ---- With an array ----------------------------------------------------- */

static void issue(void *opaque, ArrayIo *io)
{
    Sim *sim = opaque;
    ScarpCmd *cmd = &sim->cmds[io->drive * sim->config.slots + io->slot];

    array_record_issue(sim->record, io);
    sim_drives_issue(sim->drives, io, cmd, sim->now_ns);
}

static void submit(Sim *sim, ArrayRequest *request)
{
    array_record_submit(sim->record, sim->now_ns, request);
    array_submit(sim->array, request);
}

static void thread_goes_on(Sim *sim, Thread *thread)
{
    int64_t latency = sim->now_ns - thread->barrier_ns;

    thread->waits = false;
    if (thread->idle.length) {
        thread_soon(sim, thread);
    }
    if (thread->barrier_ns >= sim->begin_ns && sim->completed >= sim->warmup &&
        !sim->stopping) {
        g_array_append_val(sim->result->barrier_ns, latency);
    }
}

static void done(void *opaque, ArrayRequest *request)
{
    Sim *sim = opaque;

    array_record_done(sim->record, request);
    if (request->op != ARRAY_OP_FLUSH) {
        client_done(sim, (Client *)request, request->error != 0);
        return;
    }
    sim->failed += request->error != 0;
    if (request == &sim->last) {
        sim->last_out = false;
    } else {
        thread_goes_on(sim, request->opaque);
    }
}

static void last_barrier(Sim *sim)
{
    sim->last = (ArrayRequest) { .op = ARRAY_OP_FLUSH };
    sim->last_out = true;
    submit(sim, &sim->last);
}

/*
 * Submits a flush of the array. The thread submits nothing until the flush has
 * ended, as a caller of fsync() waits.
 */
static void thread_barrier(Sim *sim, Thread *thread)
{
    thread->since = 0;
    thread->waits = true;
    thread_at(sim, thread, SCARP_TIME_NEVER);
    thread->barrier_ns = sim->now_ns;
    thread->barrier = (ArrayRequest) {
        .op = ARRAY_OP_FLUSH, .opaque = thread,
    };
    submit(sim, &thread->barrier);
}

/* ---- Without an array -------------------------------------------------- */

static void drive_fill(Sim *sim, uint32_t drive)
{
    while (sim->on_drive[drive] < sim->o->drive_slots &&
           sim->queues[drive].length) {
        Client *client = g_queue_pop_head_link(&sim->queues[drive])->data;

        sim->on_drive[drive]++;
        sim_drives_submit(sim->drives, drive, &client->cmd, sim->now_ns);
    }
}

static void direct_submit(Sim *sim, Client *client, uint64_t number)
{
    uint64_t unit_pages = sim->config.stripe_bytes / sim->config.page_bytes;
    uint64_t unit = number / unit_pages;
    uint32_t n = sim->o->drives;

    if (sim->o->mode == SIM_STRIPED) {
        client->drive = unit % n;
        number = unit / n * unit_pages + number % unit_pages;
    } else {
        client->drive = client->thread % n;
    }
    client->cmd = (ScarpCmd) {
        .op = client->request.op == ARRAY_OP_READ ? SCARP_OP_READ :
                                                    SCARP_OP_WRITE,
        .offset_bytes = number * sim->config.page_bytes +
                        client->request.offset_bytes % sim->config.page_bytes,
        .length_bytes = sim->o->request_bytes,
        .deadline_ns = SCARP_TIME_NEVER, .opaque = client,
    };
    g_queue_push_tail_link(&sim->queues[client->drive], &client->link);
    drive_fill(sim, client->drive);
}

static void command_done(void *opaque, ScarpCmd *cmd)
{
    Sim *sim = opaque;
    bool failed = cmd->status != SCARP_STATUS_OK;

    if (sim->array) {
        array_record_io_done(sim->record, sim->now_ns, cmd->opaque,
                             failed ? EIO : 0);
        array_io_done(sim->array, cmd->opaque, failed ? EIO : 0);
    } else {
        Client *client = cmd->opaque;

        sim->on_drive[client->drive]--;
        client_done(sim, client, failed);
        drive_fill(sim, client->drive);
    }
}

/* ---- Threads ----------------------------------------------------------- */

static void thread_submit(Sim *sim, Thread *thread)
{
    const SimOptions *o = sim->o;
    Client *client = g_queue_pop_head_link(&thread->idle)->data;
    uint64_t page = o->zipf ?
        sim_scatter(sim_zipf(&thread->random, sim->pages), sim->pages) :
        sim_below(&thread->random, sim->pages);
    uint64_t places = sim->config.page_bytes / o->request_bytes;
    bool read = sim_below(&thread->random, 1000) < o->read_permille;

    thread->busy_ns = sim->now_ns;
    thread_at(sim, thread, thread->idle.length ? sim->now_ns + o->host_ns :
                                                 SCARP_TIME_NEVER);
    client->begin_ns = sim->now_ns;
    client->measured = sim->completed >= sim->warmup;
    client->request = (ArrayRequest) {
        .op = read ? ARRAY_OP_READ : ARRAY_OP_WRITE,
        .offset_bytes = page * sim->config.page_bytes +
                        sim_below(&thread->random, places) * o->request_bytes,
        .length_bytes = o->request_bytes,
    };
    sim->submitted++;
    if (!sim->array) {
        direct_submit(sim, client, page);
        return;
    }
    submit(sim, &client->request);
    if (o->barrier_every && ++thread->since == o->barrier_every) {
        thread_barrier(sim, thread);
    }
}

/*
 * Returns the time of the next submission of any thread. The minimum is
 * computed only after a change: drives have far more events than threads.
 */
static int64_t threads_next_ns(Sim *sim)
{
    if (sim->stopping) {
        return SCARP_TIME_NEVER;
    }
    if (!sim->first_known) {
        sim->first = 0;
        for (uint32_t i = 1; i < sim->n_threads; i++) {
            if (sim->next_ns[i] < sim->next_ns[sim->first]) {
                sim->first = i;
            }
        }
        sim->first_known = true;
    }
    return sim->next_ns[sim->first];
}

static int64_t turns_next_ns(const Sim *sim)
{
    return sim->turns ? sim_turns_next_ns(sim->turns) : SCARP_TIME_NEVER;
}

static void take_turns(Sim *sim)
{
    if (sim->stopping) {
        sim_turns_end(sim->turns, sim->now_ns);
    } else {
        sim_turns_run(sim->turns, sim->now_ns);
    }
    sim_drives_reap(sim->drives);
}

static void step(Sim *sim, int64_t drives_ns, int64_t turns_ns,
                 int64_t threads_ns)
{
    sim->now_ns = MIN(MIN(drives_ns, turns_ns), threads_ns);
    if (drives_ns == sim->now_ns) {
        sim_drives_run(sim->drives, sim->now_ns);
    } else if (turns_ns == sim->now_ns) {
        take_turns(sim);
    } else {
        thread_submit(sim, &sim->threads[sim->first]);
        sim_drives_reap(sim->drives);
    }
}

/* ---- A whole run ------------------------------------------------------- */

static bool setup(Sim *sim, GError **error)
{
    static const ArrayOps ops = { issue, done };
    const SimOptions *o = sim->o;
    bool flusher = o->mode >= SIM_FLUSHER;
    uint64_t sizes[ARRAY_MAX_DRIVES], bytes;
    char why[ARRAY_ERROR_BYTES];

    array_config_init(&sim->config);
    sim->config.flusher = flusher;
    if (!array_config_parse(&sim->config, o->keys, why)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY, "--keys: %s", why);
        return false;
    }
    if (sim->config.flusher != flusher) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "--keys: flusher: "
                    "%d with --mode=%s", flusher, sim_mode_names[o->mode]);
        return false;
    }
    sim->drives = sim_drives_new(o, command_done, sim, error);
    if (!sim->drives) {
        return false;
    }
    /* a part of a striping unit at the end of a drive is not used */
    bytes = sim_drives_bytes(sim->drives) / sim->config.stripe_bytes *
            sim->config.stripe_bytes;
    for (uint32_t i = 0; i < o->drives; i++) {
        sizes[i] = bytes;
    }
    sim->config.n_drives = o->drives;
    sim->config.drive_bytes = sizes;
    if (!array_config_check(&sim->config, why)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "--keys: %s", why);
        return false;
    }
    if (sim->config.page_bytes % o->request_bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--request-bytes=%u: must divide page_bytes, %"
                    G_GUINT64_FORMAT, o->request_bytes, sim->config.page_bytes);
        return false;
    }
    sim->pages = bytes / sim->config.page_bytes * o->fill_permille / 1000;
    if (o->mode == SIM_COORDINATED) {
        sim->turns = sim_turns_new(o, sim->drives);
    }
    if (o->mode >= SIM_CACHED) {
        sim->array = array_new(&sim->config, &ops, sim, why);
        if (!sim->array) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "%s", why);
            return false;
        }
        sim->cmds = g_new0(ScarpCmd, o->drives * sim->config.slots);
        array_record_begin(sim->record, &sim->config);
    }
    if (o->mode != SIM_INDEPENDENT) {
        /* whole striping units: the same number on each drive */
        uint64_t unit = sim->config.stripe_bytes / sim->config.page_bytes;

        sim->pages = sim->pages / unit * unit * o->drives;
    }
    if (!sim->pages) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--fill-permille=%u: leaves nothing to address",
                    o->fill_permille);
        return false;
    }
    return true;
}

static void start(Sim *sim)
{
    const SimOptions *o = sim->o;
    uint64_t cached = array_cached_pages(&sim->config);

    sim->n_threads = o->threads ? o->threads : o->drives;
    sim->threads = g_new0(Thread, sim->n_threads);
    sim->next_ns = g_new0(int64_t, sim->n_threads);
    sim->clients = g_new0(Client, (size_t)sim->n_threads * o->depth);
    sim->queues = g_new0(GQueue, o->drives);
    sim->on_drive = g_new0(uint32_t, o->drives);
    sim->warmup = o->warmup != UINT64_MAX ? o->warmup : 4 * cached;
    sim->result->read_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    sim->result->write_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    sim->result->barrier_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    if (!sim->warmup) {
        measure_from_here(sim);
    }
    for (uint32_t i = 0; i < sim->n_threads; i++) {
        sim->threads[i].random.state = (o->seed << 20) + i;
        for (uint32_t k = 0; k < o->depth; k++) {
            Client *client = &sim->clients[(size_t)i * o->depth + k];

            client->link.data = client;
            client->thread = i;
            client_idle(sim, client);
        }
    }
}

static bool end(Sim *sim, GError **error)
{
    char why[ARRAY_ERROR_BYTES] = "";

    if (sim->completed != sim->submitted || sim->failed) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "%"
                    G_GUINT64_FORMAT " requests submitted, %" G_GUINT64_FORMAT
                    " completed, %" G_GUINT64_FORMAT " failed", sim->submitted,
                    sim->completed, sim->failed);
        return false;
    }
    if (sim->array && (sim->last_out || array_dirty_pages(sim->array) ||
                       !array_quiet(sim->array, why) ||
                       !array_check(sim->array, why))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "the array is not at rest: %s", why);
        return false;
    }
    return sim_drives_end(sim->drives, error);
}

static gint by_value(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void clear(Sim *sim)
{
    array_free(sim->array);
    sim_turns_free(sim->turns);
    if (sim->drives) {
        sim_drives_free(sim->drives);
    }
    g_free(sim->cmds);
    g_free(sim->threads);
    g_free(sim->next_ns);
    g_free(sim->clients);
    g_free(sim->queues);
    g_free(sim->on_drive);
}

/* Runs until nobody has an event any more. */
static void drain(Sim *sim)
{
    for (;;) {
        int64_t drives_ns = sim_drives_next_ns(sim->drives);
        int64_t turns_ns = turns_next_ns(sim);
        int64_t threads_ns = threads_next_ns(sim);

        if (MIN(MIN(drives_ns, turns_ns), threads_ns) == SCARP_TIME_NEVER) {
            return;
        }
        step(sim, drives_ns, turns_ns, threads_ns);
    }
}

static bool record_error(const char *path, int code, GError **error)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "--record: %s: %s", path,
                g_strerror(code));
    return false;
}

static bool record_open(Sim *sim, GError **error)
{
    const char *path = sim->o->record;

    sim->record = path ? fopen(path, "w") : NULL;
    return sim->record || !path ? true : record_error(path, errno, error);
}

static bool record_close(Sim *sim, GError **error)
{
    int code = array_record_end(&sim->record);

    return code ? record_error(sim->o->record, code, error) : true;
}

bool sim_run(const SimOptions *options, SimResult *result, GError **error)
{
    Sim sim = { .o = options, .result = result };
    bool good;

    memset(result, 0, sizeof(*result));
    if (!record_open(&sim, error) || !setup(&sim, error)) {
        record_close(&sim, NULL);
        clear(&sim);
        return false;
    }
    start(&sim);
    drain(&sim);
    if (sim.array) {
        last_barrier(&sim);
        sim_drives_reap(sim.drives);
        drain(&sim);
    }
    good = end(&sim, error);
    good = record_close(&sim, good ? error : NULL) && good;
    result->end_ns = sim.now_ns;
    g_array_sort(result->read_ns, by_value);
    g_array_sort(result->write_ns, by_value);
    g_array_sort(result->barrier_ns, by_value);
    clear(&sim);
    return good;
}

void sim_result_clear(SimResult *result)
{
    g_clear_pointer(&result->read_ns, g_array_unref);
    g_clear_pointer(&result->write_ns, g_array_unref);
    g_clear_pointer(&result->barrier_ns, g_array_unref);
}
