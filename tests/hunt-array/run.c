/*
 * A scenario: servers of one array, one after the other, what they are asked,
 * and how each of them ends.
 *
 * The laws: a read returns what the model permits; an error comes from a fault;
 * a server starts, or says in a line why not, and then has harmed nothing; what
 * is outstanding ends; at the end nothing is open, and the cache's laws hold.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "run.h"
#include "uring.h"
#include "world.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MOST_REQUESTS 64u
#define MEMORIES 2u /* earlier states of drives */
#define OLDER 4u /* block devices that are remembered */

typedef struct {
    ArrayRequest request; /* first: the array's pointer to it is ours */
    ModelRequest model;
    uint64_t failures;    /* World.failures that the server had heard of */
    bool excused; /* then something had failed that it may hear of */
} Op;

typedef struct {
    World world;
    const ArrayScenario *s;
    ArrayRunResult *result;
    char *keys;
    char *server_keys; /* without those that a label says */
    ArrayModel *model;
    uint64_t sectors;
    uint64_t page_sectors;
    ArrayUring *server;
    GPtrArray *ops;     /* Op */
    uint64_t heard;     /* failures of the world that the server knows */

    unsigned keep;      /* where the server keeps its cache; 0: nowhere */
    /*
     * Where the last server left what it acknowledged and had not written;
     * whether another server that was asked nothing may have made that old.
     */
    unsigned holder;
    bool outdated;
    /* The server has begun, and was asked nothing yet: nothing is old by it. */
    bool waiting;
    uint64_t device;      /* the server's block device */
    uint64_t last_device; /* on which the array was served last */
    uint64_t told_device; /* or that: a server ended while drives were told */
    uint64_t older[OLDER]; /* others that were served on */
    unsigned n_older;
    Disk memory[MEMORIES][4]; /* [][drives] */
    unsigned memories;
} Run;

typedef struct {
    unsigned keep;
    bool recovers;
    uint64_t device; /* that is recovered */
    const char *paths[MOST_DISKS];
    unsigned n;
} Start;

/* ---- Requests ---------------------------------------------------------- */

static void op_free(gpointer data)
{
    Op *op = data;

    g_free(op->model.data);
    g_free(op);
}

static bool may_fail(const Run *run, const Op *op)
{
    const World *w = &run->world;

    return w->failures != op->failures || w->flush_failed ||
           op->excused || w->unwritten;
}

static void op_ended(Run *run, Op *op)
{
    int error = op->request.error;
    g_autofree char *why = NULL;

    if (error && (error != EIO || !may_fail(run, op))) {
        wrong("an error %d that no drive had", error);
    }
    why = array_model_done(run->model, &op->model, error);
    if (why) {
        wrong("%s", why);
    }
    g_ptr_array_remove(run->ops, op);
}

static void take_ended(Run *run)
{
    ArrayRequest *r;

    while ((r = array_uring_reap(run->server))) {
        op_ended(run, (Op *)r);
    }
}

static void check_laws(Run *run)
{
    char why[ARRAY_ERROR_BYTES] = "";

    if (!array_check(run->world.array, why)) {
        wrong("the cache: %s", why);
    }
}

/* The kernel has I/O, or will be given some. */
static bool has_io(const Run *run)
{
    struct io_uring *ring = array_uring_ring(run->server);

    return run->world.in_ring || io_uring_sq_ready(ring) ||
           io_uring_cq_ready(ring);
}

/* One turn of the server, if there is anything to do. */
static bool turn(Run *run, bool wait)
{
    if (!run->ops->len && !has_io(run)) {
        return false;
    }
    if (wait) {
        array_uring_wait(run->server);
    } else {
        array_uring_run(run->server);
    }
    take_ended(run);
    if (run->world.unwritten && !array_dirty_pages(run->world.array)) {
        world_all_written(&run->world);
    }
#ifdef SCARP_CHECKED
    check_laws(run);
#endif
    return true;
}

static void finish_all(Run *run)
{
    memset(run->world.stalled, 0, sizeof(run->world.stalled));
    while (run->ops->len) {
        turn(run, true);
    }
    while (has_io(run)) {
        turn(run, true);
    }
}

static void serves_on(Run *run)
{
    if (run->last_device != run->device && run->last_device) {
        run->older[run->n_older++ % OLDER] = run->last_device;
    }
    run->last_device = run->device;
    run->told_device = 0;
}

/*
 * Before its first request: what another one had kept is in it, or given up.
 * False: not all drives have taken that.
 */
static bool serve(Run *run)
{
    World *w = &run->world;
    uint64_t writes = w->writes, failures = w->failures;
    char error[ARRAY_ERROR_BYTES] = "";

    if (!run->waiting) {
        return true;
    }
    if (!array_uring_serve(run->server, error)) {
        if (!*error || strchr(error, '\n')) {
            wrong("does not serve by '%s', which is no line", error);
        }
        if (!w->dead && w->failures == failures) {
            wrong("does not serve: %s", error);
        }
        if (w->writes != writes) {
            run->outdated |= run->holder != run->keep;
            run->told_device = run->device;
        }
        return false;
    }
    if (run->holder && (run->holder != run->keep || run->outdated)) {
        array_model_lost(run->model);
    }
    run->holder = 0;
    run->outdated = false;
    run->waiting = false;
    serves_on(run);
    return true;
}

static void submit(Run *run, ArrayOp kind, uint64_t first, uint64_t n,
                   bool fua)
{
    Op *op;

    if (!serve(run)) {
        return;
    }
    op = g_new0(Op, 1);
    while (run->ops->len >= MOST_REQUESTS) {
        turn(run, true);
    }
    first %= run->sectors;
    n = MIN(n, run->sectors - first);
    if (kind == ARRAY_OP_FLUSH) {
        first = n = 0;
    }
    if (!io_uring_cq_ready(array_uring_ring(run->server))) {
        run->heard = run->world.failures;
    }
    op->failures = run->heard;
    op->excused = run->world.unwritten;
    op->model = (ModelRequest) {
        .op = kind, .fua = fua && kind == ARRAY_OP_WRITE, .first = first,
        .n = n, .data = g_malloc(MAX(n, 1) * SECTOR_BYTES),
    };
    op->request = (ArrayRequest) {
        .op = kind, .fua = op->model.fua, .offset_bytes = first * SECTOR_BYTES,
        .length_bytes = n * SECTOR_BYTES, .data = op->model.data,
    };
    g_ptr_array_add(run->ops, op);
    array_model_submit(run->model, &op->model);
    run->result->requests++;
    array_uring_submit(run->server, &op->request);
    take_ended(run);
}

static void read_all(Run *run)
{
    finish_all(run);
    for (uint64_t at = 0; at < run->sectors; at += 64) {
        submit(run, ARRAY_OP_READ, at, 64, false);
    }
    finish_all(run);
}

/* ---- How a server begins ----------------------------------------------- */

static Start usual(const Run *run, unsigned keep)
{
    Start start = { .keep = keep, .n = run->s->drives };

    for (unsigned i = 0; i < start.n; i++) {
        /* In whatever order they are named. */
        start.paths[i] = world_path((i + 1) % start.n);
    }
    return start;
}

static void check_refusal(const char *error)
{
    if (!*error || strchr(error, '\n')) {
        wrong("refused by '%s', which is no line", error);
    }
}

static void check_closed(const Run *run)
{
    const World *w = &run->world;

    for (unsigned i = 0; i < w->n_disks; i++) {
        if (w->disks[i].fd >= 0) {
            wrong("drive %u is open, and no server is there", i);
        }
    }
    if (w->rings || w->array) {
        wrong("a ring or an array is left, and no server is there");
    }
}

/* NULL: it may serve; else why not, g_free() it. */
static char *try_start(Run *run, const Start *start)
{
    World *w = &run->world;
    ArrayUringOptions how = {
        .keys = run->server_keys, .threads = ARRAY_URING_ALONE,
        .keep = start->keep ? w->keep[start->keep - 1] : NULL,
        .recovers = start->recovers, .device = start->device,
    };
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;

    world_forget_failures(w);
    w->old_kernel = draw_chance(&w->draw, 30);
    if (array_drives_open(&drives, start->paths, start->n, error)) {
        if (!start->recovers) {
            how.device = array_device_number(&drives.label, drives.id);
            run->server = array_uring_new(&drives, &how, error);
        } else if (array_device_goes_on(how.device, &drives.label,
                                        drives.device, error)) {
            run->server = array_uring_new(&drives, &how, error);
        } else {
            array_drives_close(&drives);
        }
    }
    if (!run->server) {
        check_refusal(error);
        check_closed(run);
        return g_strdup(error);
    }
    if (array_uring_bytes(run->server) != run->sectors * SECTOR_BYTES) {
        wrong("the array has %" G_GUINT64_FORMAT " bytes, and had %"
              G_GUINT64_FORMAT, array_uring_bytes(run->server),
              run->sectors * SECTOR_BYTES);
    }
    run->keep = start->keep;
    run->device = how.device;
    run->waiting = true;
    run->result->lives++;
    return NULL;
}

static bool has_file(const Run *run, unsigned keep)
{
    return keep && g_file_test(run->world.keep[keep - 1],
                               G_FILE_TEST_EXISTS);
}

static void forget_keep(Run *run, unsigned keep)
{
    if (keep) {
        unlink(run->world.keep[keep - 1]);
    }
    if (run->holder == keep && run->holder) {
        array_model_lost(run->model);
        run->holder = 0;
    }
}

/* No fault: it starts, or has a cache that is not of the last run. */
static void start_cleanly(Run *run, unsigned keep)
{
    Start start = usual(run, keep);
    g_autofree char *why = NULL;

    memset(run->world.err, 0, sizeof(run->world.err));
    why = try_start(run, &start);
    if (why) {
        bool old = has_file(run, keep) &&
                   (keep != run->holder || run->outdated);

        if (!old) {
            wrong("does not start: %s", why);
        }
        run->result->refused++;
        forget_keep(run, keep);
        g_clear_pointer(&why, g_free);
        why = try_start(run, &start);
        if (why) {
            wrong("does not start without the cache, either: %s", why);
        }
    }
}

static void need_server(Run *run)
{
    if (!run->server) {
        start_cleanly(run, run->s->keep);
    }
}

/* ---- How a server ends -------------------------------------------------- */

/* Drives as they are, for a time when they are old. */
static void remember(Run *run)
{
    unsigned at = run->memories++ % MEMORIES;

    for (unsigned i = 0; i < run->s->drives; i++) {
        disk_restore(&run->world, &run->memory[at][i], &run->world.disks[i]);
    }
}

static void gone(Run *run)
{
    run->server = NULL;
    check_closed(run);
}

static void dropped(Run *run, bool cut)
{
    World *w = &run->world;

    g_ptr_array_set_size(run->ops, 0);
    world_live(w);
    if (cut) {
        world_cut_power(w);
        array_model_lost(run->model);
        run->holder = 0;
        run->outdated = false;
    }
    remember(run);
}

/* The server, or with cut the machine, is gone from one moment to the next. */
static void kill_server(Run *run, bool cut)
{
    World *w = &run->world;

    if (!run->server) {
        if (cut) {
            world_die(w);
            dropped(run, true);
        }
        return;
    }
    world_die(w);
    array_uring_free(run->server);
    gone(run);
    array_model_killed(run->model);
    if (!run->waiting) {
        run->holder = run->keep;
        if (!run->keep && !cut) {
            array_model_lost(run->model);
        }
    }
    run->waiting = false;
    dropped(run, cut);
    run->result->died++;
}

static void stop_server(Run *run)
{
    World *w = &run->world;
    uint64_t failures = w->failures;
    bool unwritten, dirty, kept;
    char why[ARRAY_ERROR_BYTES] = "";
    int code;

    if (!run->server) {
        return;
    }
    finish_all(run);
    unwritten = w->unwritten || w->flush_failed;
    code = array_uring_flush(run->server);
    if (code && failures == w->failures && !unwritten) {
        wrong("the last flush fails with %d, and no drive did", code);
    }
    while (has_io(run)) {
        turn(run, true);
    }
    if (!array_quiet(w->array, why)) {
        wrong("at its end: %s", why);
    }
    check_laws(run);
    dirty = array_dirty_pages(w->array);
    if (!code && dirty) {
        wrong("a flush of all has left something dirty");
    }
    array_uring_free(run->server);
    gone(run);
    if (run->waiting) {
        run->waiting = false;
        if (run->holder && !has_file(run, run->holder)) {
            wrong("a server that served nothing has taken a kept cache away");
        }
        remember(run);
        return;
    }
    kept = has_file(run, run->keep);
    if (!code) {
        array_model_flushed(run->model);
    } else if (!run->keep) {
        array_model_lost(run->model);
    } else if (kept) {
        run->holder = run->keep;
    }
    if (run->keep && dirty != kept) {
        wrong("the kept cache is %s, and pages are %s", kept ? "there" : "gone",
              dirty ? "dirty" : "on the drives");
    }
    remember(run);
}

/* ---- Starts that may fail ---------------------------------------------- */

static void start_and_die(Run *run, unsigned keep, uint64_t at, bool cut)
{
    World *w = &run->world;
    Start start = usual(run, keep);
    g_autofree char *why = NULL;

    if (run->server) {
        return;
    }
    if (!at) {
        start_cleanly(run, keep);
        return;
    }
    memset(w->err, 0, sizeof(w->err));
    w->dies_at = w->ios + at;
    why = try_start(run, &start);
    if (!why && serve(run)) {
        w->dies_at = 0;
        return;
    }
    w->dies_at = 0;
    if (run->server) {
        array_uring_free(run->server);
        gone(run);
        run->waiting = false;
    }
    if (w->dead) {
        run->result->died++;
        run->result->refused++;
        dropped(run, cut);
    } else if (!has_file(run, keep) ||
               (keep == run->holder && !run->outdated)) {
        wrong("does not start: %s", why);
    } else {
        run->result->refused++;
        forget_keep(run, keep);
    }
}

static void start_badly(Run *run, unsigned keep, unsigned err, bool no_room)
{
    World *w = &run->world;
    Start start = usual(run, keep);
    uint64_t failures = w->failures;
    g_autofree char *why = NULL;

    if (run->server) {
        return;
    }
    for (unsigned i = 0; i < run->s->drives; i++) {
        w->err[i] = err;
    }
    w->no_room = no_room;
    why = try_start(run, &start);
    if (!why) {
        serve(run); /* if it cannot, it tries again with the next request */
    }
    w->no_room = false;
    memset(w->err, 0, sizeof(w->err));
    if (!why) {
        return;
    }
    run->result->refused++;
    if (w->failures == failures) {
        if (!has_file(run, keep) || (keep == run->holder && !run->outdated)) {
            wrong("does not start: %s", why);
        }
        forget_keep(run, keep);
    }
}

/*
 * The array is well, and what it is for is not: there is no driver, or it has
 * no such device.  The server ends, in order or by force.
 */
static void start_in_vain(Run *run, unsigned keep, bool killed)
{
    if (run->server) {
        return;
    }
    start_cleanly(run, keep);
    if (killed) {
        kill_server(run, false);
    } else {
        stop_server(run);
    }
}

/* A block device that was left behind before the last one that served. */
static void recover_older(Run *run, unsigned keep, uint64_t which)
{
    World *w = &run->world;
    Start start = usual(run, keep);
    uint64_t writes = w->writes;
    g_autofree char *why = NULL;

    if (run->server || !run->n_older) {
        return;
    }
    memset(w->err, 0, sizeof(w->err));
    start.recovers = true;
    start.device = run->older[which % MIN(run->n_older, OLDER)];
    why = try_start(run, &start);
    if (!why) {
        wrong("a block device is recovered, and another one served last");
    }
    run->result->refused++;
    if (w->writes != writes) {
        wrong("refused, and has written before: %s", why);
    }
}

/*
 * Somebody goes on with what the last server acknowledged: with the cache that
 * it left, or not at all.
 */
static void recover(Run *run, unsigned keep)
{
    World *w = &run->world;
    Start start = usual(run, keep);
    uint64_t writes = w->writes;
    bool left = keep && keep == run->holder;
    g_autofree char *why = NULL;

    if (run->server || !keep) {
        return;
    }
    memset(w->err, 0, sizeof(w->err));
    start.recovers = true;
    start.device = run->last_device;
    why = try_start(run, &start);
    if (why) {
        run->result->refused++;
        if (left && !run->outdated && !run->told_device) {
            wrong("does not recover: %s", why);
        }
        if (w->writes != writes) {
            wrong("refused, and has written before: %s", why);
        }
        return;
    }
    if (!left) {
        wrong("recovers with a cache that the last server did not leave");
    }
}

/* ---- What is not as it was ---------------------------------------------- */

static void flip(World *w, unsigned disk, uint64_t at, unsigned bits)
{
    w->disks[disk].now[at] ^= bits;
    w->disks[disk].durable[at] ^= bits;
}

static void forge(Run *run, unsigned which)
{
    World *w = &run->world;

    for (unsigned i = 0; i < run->s->drives; i++) {
        char error[ARRAY_ERROR_BYTES];
        ArrayLabel label;

        if (array_label_decode(w->disks[i].now, &label, error) !=
            ARRAY_LABEL_GOOD) {
            continue;
        }
        switch (which % 6) {
        case 0:
            label.page_bytes = 0;
            break;
        case 1:
            label.stripe_bytes = 0;
            break;
        case 2:
            label.data_offset_bytes = 0;
            break;
        case 3:
            label.n_drives = 0;
            break;
        case 4:
            label.data_offset_bytes = ARRAY_LABEL_BYTES;
            break;
        default:
            label.drive_bytes = 0;
            break;
        }
        array_label_encode(&label, w->disks[i].now);
        memcpy(w->disks[i].durable, w->disks[i].now, ARRAY_LABEL_BYTES);
    }
}

static void swap_disks(World *w, unsigned a, unsigned b)
{
    Disk disk = w->disks[a];

    w->disks[a] = w->disks[b];
    w->disks[b] = disk;
}

static void change_keep(Run *run, unsigned keep, Tamper what, uint64_t where)
{
    const char *path = run->world.keep[keep - 1];
    g_autofree char *bytes = NULL;
    gsize length;

    if (!g_file_get_contents(path, &bytes, &length, NULL) || !length) {
        return;
    }
    if (what == TAMPER_KEEP_CUT) {
        /* At any byte; half of the cuts are in its head and first marks. */
        length = where / 2 % (where % 2 ? length : MIN(length, 8192));
    } else {
        bytes[8] ^= 1; /* the array's number */
    }
    /* Written over it would keep its length. */
    unlink(path);
    g_file_set_contents_full(path, bytes, length, G_FILE_SET_CONTENTS_NONE,
                             0600, NULL);
}

/* The last run that a drive has heard of, or, then, that served on it. */
static uint64_t run_heard(const Disk *disk, bool served)
{
    uint64_t heard = 0;

    for (uint32_t i = 0; i < ARRAY_RUN_BLOCKS; i++) {
        ArrayRun run;

        if (array_run_decode(disk->now + array_run_offset(i), &run) ==
            ARRAY_LABEL_GOOD) {
            heard = MAX(heard, served ? array_run_served(&run) :
                                        run.state / 2);
        }
    }
    return heard;
}

/* The run that a kept cache has something of; 0: it has nothing. */
static uint64_t run_kept(const Run *run, unsigned keep)
{
    g_autofree char *bytes = NULL;
    uint64_t head[6], mark = 0; /* magic, array (two), buffers, page, run */
    gsize length;

    if (!g_file_get_contents(run->world.keep[keep - 1], &bytes, &length,
                             NULL) || length < 4096) {
        return 0;
    }
    memcpy(head, bytes, sizeof(head));
    for (uint64_t i = 0; i < head[3] && !mark; i++) {
        memcpy(&mark, bytes + 4096 + i * sizeof(mark), sizeof(mark));
    }
    return mark ? head[5] : 0;
}

/*
 * All drives together, as they were before a run.  Without a cache of that run,
 * or one that stayed, they are an array, of contents that the model forgot.
 */
static bool put_all_back(Run *run, uint64_t before)
{
    unsigned at = run->memories < MEMORIES ? 0 : run->memories % MEMORIES;
    uint64_t heard = 0;
    bool same = true;

    for (unsigned i = 0; i < run->s->drives; i++) {
        const Disk *then = &run->memory[at][i];

        heard = MAX(heard, run_heard(then, false));
        /* Power may have been cut while they were made another array. */
        same = same && !memcmp(then->now, run->world.disks[i].now,
                               ARRAY_LABEL_BYTES);
    }
    if (!run->memories || !same || before <= heard) {
        return false;
    }
    for (unsigned i = 0; i < run->s->drives; i++) {
        disk_restore(&run->world, &run->world.disks[i], &run->memory[at][i]);
    }
    return true;
}

/*
 * Another history: runs that write nothing, and serve or do not, until there
 * was one of a number.
 */
static void run_again(Run *run, uint64_t number, bool all_serve)
{
    Start start = usual(run, 0);
    char error[ARRAY_ERROR_BYTES];

    while (run_heard(&run->world.disks[0], false) < number) {
        g_autofree char *why = try_start(run, &start);

        if (why) {
            wrong("drives that were put back together are refused: %s", why);
            return;
        }
        if ((all_serve || draw_chance(&run->world.draw, 50)) &&
            !array_uring_serve(run->server, error)) {
            wrong("drives that were put back do not serve: %s", error);
        }
        run->waiting = false;
        array_uring_free(run->server);
        gone(run);
    }
}

static bool put_back_and_run(Run *run, unsigned keep, uint64_t where)
{
    uint64_t kept = run_kept(run, keep);

    if (!put_all_back(run, kept)) {
        return false;
    }
    /* By runs that come to nothing, what was taken over is not older. */
    run_again(run, kept + where % 2, true);
    return true;
}

static bool all_but_one(Run *run, unsigned disk, uint64_t where)
{
    World *w = &run->world;
    uint64_t last = run_heard(&w->disks[disk], true);
    Disk other = disk_copy(w, &w->disks[disk]);
    bool changed = run->s->drives > 1 && put_all_back(run, last);

    if (changed) {
        run_again(run, last - where % 2, false);
        disk_restore(w, &w->disks[disk], &other);
    }
    disk_free(&other);
    return changed;
}

/* False: there is nothing of the kind here. */
static bool tamper_drives(Run *run, Start *start, Tamper what, uint64_t where)
{
    World *w = &run->world;
    unsigned n = run->s->drives, disk = where % n;

    switch (what) {
    case TAMPER_OLD:
        if (!run->memories || n == 1) {
            return false; /* no other drive could tell */
        }
        disk_restore(w, &w->disks[disk],
                     &run->memory[where / n % MIN(run->memories, MEMORIES)]
                                 [disk]);
        return true;
    case TAMPER_OTHER:
        if (n == 1) {
            return false; /* it would be that array */
        }
        swap_disks(w, disk, n + disk);
        return true;
    case TAMPER_ORDER:
        start->paths[0] = world_path(where % n);
        for (unsigned i = 1; i < n; i++) {
            start->paths[i] = world_path((where + i) % n);
        }
        return true;
    case TAMPER_TWICE:
        start->paths[disk] = start->paths[(disk + 1) % n];
        return n > 1;
    case TAMPER_MISSING:
        start->n--;
        return true;
    case TAMPER_SIZE:
        w->disks[disk].bytes += where / n % 2 ? 4096 : -4096;
        return true;
    case TAMPER_LABEL:
        flip(w, disk, where % ARRAY_LABEL_BYTES,
             1 + where / ARRAY_LABEL_BYTES % 255);
        return true;
    case TAMPER_RUN:
        flip(w, disk, ARRAY_LABEL_BYTES + where %
             (ARRAY_RUNS_END - ARRAY_LABEL_BYTES),
             1 + where / ARRAY_RUNS_END % 255);
        return true;
    case TAMPER_FORGED:
        forge(run, where);
        return true;
    case TAMPER_HISTORY:
        return all_but_one(run, disk, where / n);
    default:
        return false;
    }
}

/* Must it say no, or may it say yes and be right? */
static bool must_refuse(Tamper what)
{
    switch (what) {
    case TAMPER_OTHER:
    case TAMPER_TWICE:
    case TAMPER_MISSING:
    case TAMPER_SIZE:
    case TAMPER_LABEL:
    case TAMPER_FORGED:
    case TAMPER_KEEP_CUT:
    case TAMPER_KEEP_OTHER:
    case TAMPER_KEEP_LATER:
    case TAMPER_KEEP_HISTORY:
    case TAMPER_HISTORY:
        return true;
    default:
        return false;
    }
}

/*
 * A start with something that is not as it was: refused, and then nothing was
 * written, or right.
 */
static void tamper(Run *run, unsigned keep, Tamper what, uint64_t where)
{
    World *w = &run->world;
    Start start = usual(run, keep);
    bool of_keep = what >= TAMPER_KEEP_CUT && what <= TAMPER_KEEP_HISTORY;
    bool changed = true;
    uint64_t writes;
    g_autofree char *why = NULL;
    Disk before[MOST_DISKS];

    if (run->server || (of_keep && !has_file(run, keep)) ||
        what >= TAMPER__COUNT) {
        return;
    }
    memset(w->err, 0, sizeof(w->err));
    for (unsigned i = 0; i < w->n_disks; i++) {
        before[i] = disk_copy(w, &w->disks[i]);
    }
    world_die(w); /* its files as they are now */
    w->dead = false;
    if (what == TAMPER_KEEP_LATER) {
        changed = put_all_back(run, run_kept(run, keep));
    } else if (what == TAMPER_KEEP_HISTORY) {
        changed = put_back_and_run(run, keep, where);
    } else if (of_keep) {
        change_keep(run, keep, what, where);
    } else {
        changed = tamper_drives(run, &start, what, where);
    }
    writes = w->writes;
    why = changed ? try_start(run, &start) : NULL;
    if (why) {
        run->result->refused++;
        if (w->writes != writes) {
            wrong("refused, and has written before: %s", why);
        }
    } else if (changed && must_refuse(what)) {
        wrong("a start with tamper %d is not refused", what);
    }
    if (what == TAMPER_OTHER && changed) {
        swap_disks(w, where % run->s->drives,
                   run->s->drives + where % run->s->drives);
    }
    if (!run->server) {
        for (unsigned i = 0; i < w->n_disks; i++) {
            disk_restore(w, &w->disks[i], &before[i]);
        }
        world_live(w);
    }
    for (unsigned i = 0; i < w->n_disks; i++) {
        disk_free(&before[i]);
    }
    if (run->server) {
        read_all(run);
    }
}

/* ---- Making an array ---------------------------------------------------- */

static bool format_disks(Run *run, unsigned first, bool force, char *error)
{
    const char *paths[MOST_DISKS];

    for (unsigned i = 0; i < run->s->drives; i++) {
        paths[i] = world_path(first + i);
    }
    return array_drives_format(paths, run->s->drives, run->keys, force, error);
}

/* Of the same drives another array, of which nobody knows what it holds. */
static void format_anew(Run *run, uint64_t at)
{
    char error[ARRAY_ERROR_BYTES] = "";
    World *w = &run->world;

    if (run->server) {
        return;
    }
    memset(w->err, 0, sizeof(w->err));
    if (format_disks(run, 0, false, error) || !strstr(error, "--force")) {
        wrong("an array is made anew without --force: %s", error);
    }
    w->dies_at = at ? w->ios + at : 0;
    if (!format_disks(run, 0, true, error) && !w->dead) {
        wrong("an array cannot be made anew: %s", error);
    }
    w->dies_at = 0;
    if (w->dead) {
        g_autofree char *why = NULL;
        Start start = usual(run, 0);

        dropped(run, true);
        /* Half of an array is none, or it is the one that was there. */
        why = try_start(run, &start);
        if (!why) {
            array_model_forget(run->model);
            stop_server(run);
        }
        if (!format_disks(run, 0, true, error)) {
            wrong("an array cannot be made anew: %s", error);
        }
    }
    check_closed(run);
    array_model_forget(run->model);
    run->holder = 0;
    run->outdated = false;
    if (run->last_device) {
        run->device = 0;
        serves_on(run);
    }
}

/* ---- All of it ---------------------------------------------------------- */

static void step(Run *run, const ArrayStep *step)
{
    static const ArrayOp ops[] = {
        [STEP_WRITE] = ARRAY_OP_WRITE, [STEP_READ] = ARRAY_OP_READ,
        [STEP_FLUSH] = ARRAY_OP_FLUSH, [STEP_DISCARD] = ARRAY_OP_DISCARD,
    };
    World *w = &run->world;
    uint64_t a = step->value[0], b = step->value[1], c = step->value[2];

    switch (step->op) {
    case STEP_WRITE:
    case STEP_READ:
    case STEP_FLUSH:
    case STEP_DISCARD:
        need_server(run);
        submit(run, ops[step->op], a, b, c);
        break;
    case STEP_END:
        for (uint64_t i = 0; i < a && run->server; i++) {
            if (!turn(run, draw_chance(&w->draw, 50))) {
                break;
            }
        }
        break;
    case STEP_ERR:
        w->err[a % run->s->drives] = run->server ? b : 0;
        break;
    case STEP_STALL:
        w->stalled[a % run->s->drives] = b;
        break;
    case STEP_CHECK:
        need_server(run);
        read_all(run);
        break;
    case STEP_STOP:
        stop_server(run);
        break;
    case STEP_KILL:
    case STEP_CUT:
        kill_server(run, step->op == STEP_CUT);
        break;
    case STEP_START:
        start_and_die(run, a % (KEEPS + 1), b, c);
        break;
    case STEP_RECOVER:
        recover(run, a % (KEEPS + 1));
        break;
    case STEP_VAIN:
        start_in_vain(run, a % (KEEPS + 1), b);
        break;
    case STEP_OLDER:
        recover_older(run, a % (KEEPS + 1), b);
        break;
    case STEP_BAD:
        start_badly(run, a % (KEEPS + 1), b, c);
        break;
    case STEP_TAMPER:
        tamper(run, a % (KEEPS + 1), b, c);
        break;
    case STEP_FORMAT:
        format_anew(run, a);
        break;
    case STEP_KINDS:
        g_assert_not_reached();
    }
}

static void last_check(Run *run)
{
    if (run->server) {
        memset(run->world.err, 0, sizeof(run->world.err));
        stop_server(run);
    }
    need_server(run);
    read_all(run);
    stop_server(run);
    if (run->holder) {
        wrong("drives that are well again do not take what is dirty");
    }
}

static bool make_array(Run *run, char **why)
{
    char error[ARRAY_ERROR_BYTES] = "";

    if (!format_disks(run, 0, false, error) ||
        !format_disks(run, run->s->drives, false, error)) {
        *why = g_strdup(error);
        return false;
    }
    return true;
}

bool array_run(const ArrayScenario *s, ArrayRunResult *result, char **why)
{
    uint64_t stripe = array_scenario_key(s, "stripe_bytes");
    Run *run = g_new0(Run, 1);
    bool good;

    run->s = s;
    run->result = result;
    run->keys = array_scenario_keys(s, true);
    run->server_keys = array_scenario_keys(s, false);
    run->sectors = s->drives * s->stripes * stripe / SECTOR_BYTES;
    run->page_sectors = array_scenario_key(s, "page_bytes") / SECTOR_BYTES;
    run->ops = g_ptr_array_new_with_free_func(op_free);
    world_init(&run->world, s->seed, 2 * s->drives,
               ARRAY_DATA_OFFSET + s->stripes * stripe);
    run->world.retries = array_scenario_key(s, "retries");
    run->model = array_model_new(run->sectors, MAX(run->page_sectors, 1));
    for (unsigned i = 0; i < MEMORIES * s->drives; i++) {
        run->memory[i / s->drives][i % s->drives] =
            disk_copy(&run->world, &run->world.disks[0]);
    }
    good = make_array(run, why);
    for (guint i = 0; good && i < s->steps->len; i++) {
        step(run, &g_array_index(s->steps, ArrayStep, i));
    }
    if (good) {
        last_check(run);
    }
    result->ios += run->world.ios;
    for (unsigned i = 0; i < MEMORIES * s->drives; i++) {
        disk_free(&run->memory[i / s->drives][i % s->drives]);
    }
    array_model_free(run->model);
    world_clear(&run->world);
    g_ptr_array_free(run->ops, true);
    g_free(run->keys);
    g_free(run->server_keys);
    g_free(run);
    return good;
}
