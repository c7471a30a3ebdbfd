/*
 * Random requests on drives that stall, fail, tear writes and lose power,
 * against a model of a disk: nothing lost, nothing stale, barriers hold.
 *
 * The array's space is looked at in grains of 16 bytes, each of which holds
 * its own address and the number of the write it is from; so no grain can be
 * right by accident, whatever is torn.  A request is of whole grains, and none
 * is submitted on grains of another one that is outstanding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define GRAIN 16u
#define SECTOR 512u

typedef struct {
    uint64_t address, write;
} Grain;

typedef struct {
    ArrayRequest request; /* first: the array's pointer to it is ours */
    Grain *grains;
    uint64_t first, n;    /* grains */
    uint64_t time;        /* of its submission */
    uint64_t *kept;       /* flush: what must be on the drives after it */
    uint64_t failures;    /* World.failures when it was submitted */
} Op;

/* Which writes may be there: more than one after a write that failed. */
typedef struct {
    uint64_t writes[8];
    uint32_t n;
    bool loose; /* discarded: these, zeroes, or anything older */
} State;

typedef struct {
    Rig rig;
    GRand *rand;
    uint64_t n_grains;
    State *states;    /* [n_grains] */
    uint64_t *kept;   /* at least this one survives a power cut */
    bool *busy;       /* an outstanding request is on it */
    uint64_t writes;  /* numbers given */
    GPtrArray *ops;   /* outstanding */
    unsigned error_permille; /* of I/O ends */
    bool *stalled;    /* [n_drives] */
    Grain **caches;   /* the drives' own: [n_drives], volatile contents */
    bool **in_cache;  /* [n_drives][sectors] */
    uint64_t failures; /* I/O that the dice made fail */
    bool **unwritten; /* [n_drives][pages], whose last write failed */
    uint64_t n_unwritten;
} World;

/* ---- Drives with a cache that a power cut empties ---------------------- */

static void sector_settle(World *w, uint32_t drive, uint64_t sector)
{
    memcpy(w->rig.disks[drive] + sector * SECTOR,
           (char *)w->caches[drive] + sector * SECTOR, SECTOR);
}

static void drive_write(World *w, const ArrayIo *io, uint32_t sectors)
{
    for (uint32_t i = 0; i < sectors; i++) {
        uint64_t sector = io->offset_bytes / SECTOR + i;

        memcpy((char *)w->caches[io->drive] + sector * SECTOR,
               (char *)io->data + i * SECTOR, SECTOR);
        w->in_cache[io->drive][sector] = true;
    }
}

static void drive_flush(World *w, uint32_t drive)
{
    for (uint64_t i = 0; i < w->rig.drive_bytes / SECTOR; i++) {
        if (w->in_cache[drive][i]) {
            sector_settle(w, drive, i);
            w->in_cache[drive][i] = false;
        }
    }
}

/* What fails to be written stays in the array, and in its way, till it is. */
static void note_write(World *w, const ArrayIo *io, bool fails)
{
    uint64_t first = io->offset_bytes / PAGE;
    uint64_t end = (io->offset_bytes + io->length_bytes + PAGE - 1) / PAGE;

    for (uint64_t i = first; i < end; i++) {
        bool *unwritten = &w->unwritten[io->drive][i];

        w->n_unwritten += (uint64_t)fails - *unwritten;
        *unwritten = fails;
    }
}

/* A drive heeds a discard, or does not; nothing says when. */
static void drive_discard(World *w, const ArrayIo *io)
{
    for (uint64_t i = 0; i < io->length_bytes / SECTOR; i++) {
        uint64_t sector = io->offset_bytes / SECTOR + i;

        if (g_rand_boolean(w->rand)) {
            memset((char *)w->caches[io->drive] + sector * SECTOR, 0, SECTOR);
            w->in_cache[io->drive][sector] = true;
        }
    }
}

/* End one of the I/O under way, which may go wrong. */
static void end_one(World *w, ArrayIo *io, bool may_fail)
{
    bool fails = may_fail &&
                 (unsigned)g_rand_int_range(w->rand, 0, 1000) <
                     w->error_permille;
    uint32_t sectors = io->length_bytes / SECTOR;

    g_assert_true(g_ptr_array_remove(w->rig.ios, io));
    switch (io->op) {
    case ARRAY_IO_WRITE:
        /* A torn one reaches the drive in part, with an error. */
        drive_write(w, io, fails ? g_rand_int_range(w->rand, 0, sectors + 1) :
                                   (int)sectors);
        break;
    case ARRAY_IO_READ:
        if (!fails) {
            memcpy(io->data, (char *)w->caches[io->drive] + io->offset_bytes,
                   io->length_bytes);
        }
        break;
    case ARRAY_IO_FLUSH:
        /* A failed flush of a drive is a test of its own. */
        fails = false;
        drive_flush(w, io->drive);
        break;
    case ARRAY_IO_DISCARD:
        drive_discard(w, io);
        break;
    }
    w->failures += fails;
    if (io->op == ARRAY_IO_WRITE || io->op == ARRAY_IO_DISCARD) {
        note_write(w, io, fails && io->op == ARRAY_IO_WRITE);
    }
    array_io_done(w->rig.array, io, fails ? EIO : 0);
    rig_check(&w->rig);
}

/* ---- The model --------------------------------------------------------- */

static void assert_grain(const World *w, const Grain *grain, uint64_t at)
{
    const State *state = &w->states[at];

    g_assert_cmpuint(grain->address, ==, grain->write ? at + 1 : 0);
    for (uint32_t i = 0; i < state->n; i++) {
        if (grain->write == state->writes[i] ||
            (state->loose && grain->write < state->writes[i])) {
            return;
        }
    }
    g_error("grain %" G_GUINT64_FORMAT ": write %" G_GUINT64_FORMAT
            ", not %" G_GUINT64_FORMAT, at, grain->write, state->writes[0]);
}

static void known(State *state, uint64_t write)
{
    state->writes[0] = write;
    state->n = 1;
    state->loose = false;
}

/* The oldest that may be there. */
static uint64_t least(const State *state)
{
    uint64_t write = state->writes[0];

    for (uint32_t i = 1; i < state->n; i++) {
        write = MIN(write, state->writes[i]);
    }
    return write;
}

static void op_free(Op *op)
{
    g_free(op->grains);
    g_free(op->kept);
    g_free(op);
}

static void op_ended(World *w, Op *op)
{
    const ArrayRequest *r = &op->request;

    /* No error that no drive had: now, or when a page was to be written. */
    if (r->error && w->failures == op->failures && !w->n_unwritten) {
        g_error("an error %d that no drive had", r->error);
    }

    for (uint64_t i = 0; i < op->n; i++) {
        uint64_t at = op->first + i;

        w->busy[at] = false;
        if (r->op == ARRAY_OP_READ && !r->error) {
            assert_grain(w, &op->grains[i], at);
            if (!w->states[at].loose) {
                known(&w->states[at], op->grains[i].write);
            }
        } else if (r->op == ARRAY_OP_WRITE && !r->error) {
            known(&w->states[at], op->grains[i].write);
        } else if (r->op == ARRAY_OP_WRITE) {
            State *state = &w->states[at];

            g_assert_cmpuint(state->n, <, G_N_ELEMENTS(state->writes));
            state->writes[state->n++] = op->grains[i].write;
        }
    }
    if (op->kept && !r->error) {
        for (uint64_t i = 0; i < w->n_grains; i++) {
            w->kept[i] = MAX(w->kept[i], op->kept[i]);
        }
        for (uint64_t i = 0; r->op == ARRAY_OP_WRITE && i < op->n; i++) {
            w->kept[op->first + i] = op->grains[i].write;
        }
    }
    g_ptr_array_remove(w->ops, op);
    op_free(op);
}

/* The model learns of ends in the order in which the array tells of them. */
static void take_done(World *w)
{
    while (w->rig.done->len) {
        Op *op = w->rig.done->pdata[0];

        g_ptr_array_remove_index(w->rig.done, 0);
        op_ended(w, op);
    }
}

/* From its submission on the pages may hold zeroes, as if never written. */
static void discarded(World *w, uint64_t first, uint64_t n)
{
    uint64_t page = PAGE / GRAIN, end = (first + n) / page * page;

    for (uint64_t i = (first + page - 1) / page * page; i < end; i++) {
        State *state = &w->states[i];

        g_assert_cmpuint(state->n, <, G_N_ELEMENTS(state->writes));
        if (least(state)) {
            state->writes[state->n++] = 0;
        }
        state->loose = true;
        w->kept[i] = 0;
        for (guint k = 0; k < w->ops->len; k++) {
            Op *op = w->ops->pdata[k];

            if (op->kept) {
                op->kept[i] = 0;
            }
        }
    }
}

static void submit(World *w, ArrayOp kind, uint64_t first, uint64_t n,
                   bool fua)
{
    Op *op = g_new0(Op, 1);

    for (uint64_t i = 0; i < n; i++) {
        if (w->busy[first + i]) {
            g_free(op);
            return;
        }
    }
    op->first = first;
    op->n = n;
    op->failures = w->failures;
    op->grains = g_new0(Grain, MAX(n, 1));
    if (kind == ARRAY_OP_WRITE) {
        w->writes++;
    }
    for (uint64_t i = 0; i < n; i++) {
        w->busy[first + i] = true;
        if (kind == ARRAY_OP_WRITE) {
            op->grains[i] = (Grain) { first + i + 1, w->writes };
        }
    }
    if (kind == ARRAY_OP_FLUSH || fua) {
        /*
         * What is acknowledged now.  Where a write failed, either may be
         * there; nothing is promised.
         */
        op->kept = g_new0(uint64_t, w->n_grains);
        for (uint64_t i = 0; i < w->n_grains; i++) {
            op->kept[i] = least(&w->states[i]);
        }
    }
    op->request = (ArrayRequest) {
        .op = kind, .fua = fua, .offset_bytes = first * GRAIN,
        .length_bytes = n * GRAIN, .data = op->grains,
    };
    if (kind == ARRAY_OP_DISCARD) {
        discarded(w, first, n);
    }
    g_ptr_array_add(w->ops, op);
    array_submit(w->rig.array, &op->request);
    rig_check(&w->rig);
    take_done(w);
}

static void random_request(World *w)
{
    uint64_t page = PAGE / GRAIN, first, n;
    int what = g_rand_int_range(w->rand, 0, 100);

    /* A page, a few grains, or some pages; half of them in a hot tenth. */
    switch (g_rand_int_range(w->rand, 0, 4)) {
    case 0:
    case 1:
        n = page;
        break;
    case 2:
        n = g_rand_int_range(w->rand, 1, 20);
        break;
    default:
        n = g_rand_int_range(w->rand, 1, 3 * page);
        break;
    }
    first = g_rand_int_range(w->rand, 0, w->n_grains - n);
    if (g_rand_boolean(w->rand)) {
        first /= 10;
    }
    if (n == page) {
        first = first / page * page;
    }
    if (what < 3) {
        submit(w, ARRAY_OP_FLUSH, 0, 0, false);
    } else if (what < 6) {
        submit(w, ARRAY_OP_DISCARD, first, n, false);
    } else if (what < 60) {
        submit(w, ARRAY_OP_WRITE, first, n, what < 8);
    } else {
        submit(w, ARRAY_OP_READ, first, n, false);
    }
}

static void random_end(World *w)
{
    ArrayIo *io;

    if (!w->rig.ios->len) {
        return;
    }
    io = w->rig.ios->pdata[g_rand_int_range(w->rand, 0, w->rig.ios->len)];
    if (!w->stalled[io->drive]) {
        end_one(w, io, true);
        take_done(w);
    }
}

static void end_all(World *w)
{
    while (w->rig.ios->len) {
        end_one(w, w->rig.ios->pdata[0], false);
        take_done(w);
    }
    g_assert_cmpuint(w->ops->len, ==, 0);
}

/* ---- Looking at the drives themselves ---------------------------------- */

static const Grain *on_disk(const World *w, uint64_t at)
{
    uint64_t offset;
    uint32_t drive = array_map(w->rig.array, at * GRAIN / PAGE, &offset);

    return (const Grain *)(w->rig.disks[drive] + offset +
                           at * GRAIN % PAGE);
}

/* After a last flush: everything, and the newest. */
static void assert_all_there(World *w)
{
    submit(w, ARRAY_OP_FLUSH, 0, 0, false);
    end_all(w);
    /* What failed while drives erred has been written by this one. */
    g_assert_cmpuint(array_dirty_pages(w->rig.array), ==, 0);
    rig_quiet(&w->rig);
    for (uint64_t i = 0; i < w->n_grains; i++) {
        assert_grain(w, on_disk(w, i), i);
    }
}

/*
 * The process is killed, the drives go on: what the marks say is written to
 * them, and then all that was acknowledged is there.
 */
static void assert_killed(World *w)
{
    const Rig *rig = &w->rig;

    for (guint i = 0; i < rig->ios->len; i++) {
        const ArrayIo *io = rig->ios->pdata[i];

        if (io->op == ARRAY_IO_WRITE && g_rand_boolean(w->rand)) {
            drive_write(w, io, io->length_bytes / SECTOR);
        }
    }
    for (uint32_t drive = 0; drive < rig->config.n_drives; drive++) {
        drive_flush(w, drive);
    }
    for (size_t i = 0; i < array_buffers(&rig->config); i++) {
        if (rig->marks[i]) {
            uint64_t offset;
            uint32_t drive = array_map(rig->array, rig->marks[i] - 1, &offset);

            memcpy(rig->disks[drive] + offset, (char *)rig->memory + i * PAGE,
                   PAGE);
        }
    }
    for (uint64_t i = 0; i < w->n_grains; i++) {
        /* A request that is outstanding on it will be sent again. */
        if (!w->busy[i]) {
            assert_grain(w, on_disk(w, i), i);
        }
    }
}

/*
 * Power is cut: of each sector in a drive's cache, and of each I/O under way,
 * what the dice say.  What a flush covered must be there, or newer.
 */
static void assert_power_cut(World *w)
{
    for (guint i = 0; i < w->rig.ios->len; i++) {
        const ArrayIo *io = w->rig.ios->pdata[i];

        if (io->op == ARRAY_IO_WRITE) {
            drive_write(w, io, g_rand_int_range(w->rand, 0, PAGE / SECTOR + 1));
        }
    }
    for (uint32_t drive = 0; drive < w->rig.config.n_drives; drive++) {
        for (uint64_t i = 0; i < w->rig.drive_bytes / SECTOR; i++) {
            if (w->in_cache[drive][i] && g_rand_boolean(w->rand)) {
                sector_settle(w, drive, i);
            }
        }
    }
    for (uint64_t i = 0; i < w->n_grains; i++) {
        const Grain *grain = on_disk(w, i);

        g_assert_cmpuint(grain->write, >=, w->kept[i]);
        g_assert_cmpuint(grain->write, <=, w->writes);
        g_assert_cmpuint(grain->address, ==, grain->write ? i + 1 : 0);
    }
}

/* ---- Runs -------------------------------------------------------------- */

typedef struct {
    const char *keys;
    uint32_t drives;
    uint64_t drive_pages;
    unsigned error_permille;
    bool stalls, power_cut, killed;
    unsigned runs, steps;
} Setting;

static void world_init(World *w, const Setting *s, guint32 seed)
{
    memset(w, 0, sizeof(*w));
    rig_init(&w->rig, s->drives, s->drive_pages, s->keys);
    w->rand = g_rand_new_with_seed(seed);
    w->n_grains = array_bytes(w->rig.array) / GRAIN;
    w->states = g_new0(State, w->n_grains);
    for (uint64_t i = 0; i < w->n_grains; i++) {
        w->states[i].n = 1;
    }
    w->kept = g_new0(uint64_t, w->n_grains);
    w->busy = g_new0(bool, w->n_grains);
    w->ops = g_ptr_array_new();
    w->error_permille = s->error_permille;
    w->stalled = g_new0(bool, s->drives);
    w->caches = g_new(Grain *, s->drives);
    w->in_cache = g_new(bool *, s->drives);
    w->unwritten = g_new(bool *, s->drives);
    for (uint32_t i = 0; i < s->drives; i++) {
        w->caches[i] = g_malloc0(w->rig.drive_bytes);
        w->in_cache[i] = g_new0(bool, w->rig.drive_bytes / SECTOR);
        w->unwritten[i] = g_new0(bool, w->rig.drive_bytes / PAGE + 1);
    }
}

static void world_clear(World *w)
{
    for (uint32_t i = 0; i < w->rig.config.n_drives; i++) {
        g_free(w->caches[i]);
        g_free(w->in_cache[i]);
        g_free(w->unwritten[i]);
    }
    /* After a power cut some are outstanding for ever. */
    while (w->ops->len) {
        op_free(w->ops->pdata[0]);
        g_ptr_array_remove_index(w->ops, 0);
    }
    g_free(w->caches);
    g_free(w->in_cache);
    g_free(w->unwritten);
    g_free(w->stalled);
    g_free(w->states);
    g_free(w->kept);
    g_free(w->busy);
    g_ptr_array_free(w->ops, TRUE);
    g_rand_free(w->rand);
    rig_clear(&w->rig);
}

static void run(const Setting *s, guint32 seed)
{
    World w;

    world_init(&w, s, seed);
    for (unsigned i = 0; i < s->steps; i++) {
        /* Sometimes the drives keep up, sometimes the application. */
        int pace = 1 + (i / 200) % 3;

        if (s->stalls && i % 50 == 0) {
            w.stalled[g_rand_int_range(w.rand, 0, s->drives)] =
                g_rand_boolean(w.rand);
        }
        if (w.ops->len < 60) {
            random_request(&w);
        }
        for (int k = 0; k < pace; k++) {
            random_end(&w);
        }
    }
    if (s->killed) {
        assert_killed(&w);
    } else if (s->power_cut) {
        assert_power_cut(&w);
    } else {
        end_all(&w);
        assert_all_there(&w);
    }
    world_clear(&w);
}

static void test_random(gconstpointer data)
{
    const Setting *s = data;
    unsigned runs = g_test_slow() ? s->runs * 20 : s->runs;

    for (unsigned seed = 1; seed <= runs; seed++) {
        g_test_message("seed %u", seed);
        run(s, seed);
    }
}

static const Setting settings[] = {
    { "cache_bytes=196608", 3, 64, 0, true, false, false, 10, 3000 },
    { "cache_bytes=196608", 3, 64, 0, true, true, false, 40, 800 },
    { "cache_bytes=196608", 3, 64, 60, true, false, false, 10, 3000 },
    { "cache_bytes=196608", 3, 64, 60, true, true, false, 40, 800 },
    { "cache_bytes=49152,slots=3,reserved_slots=1,max_flushes=2", 2, 64, 60,
      true, true, false, 40, 800 },
    { "cache_bytes=196608,flusher=0", 3, 64, 60, true, true, false, 20, 800 },
    { "cache_bytes=196608,clean_first=0", 3, 64, 60, true, true, false, 20, 800 },
    { "cache_bytes=4096,set_pages=1,dirty_pages=0,stale_score=0,"
      "flush_batch=1", 2, 32, 30, false, true, false, 20, 800 },
    { "cache_bytes=131072,set_pages=16,dirty_pages=3,stale_score=9,retries=0,"
      "stripe_bytes=16384", 5, 32, 200, true, true, false, 40, 800 },
    { "cache_bytes=4194304", 4, 128, 100, true, true, false, 5, 4000 },
    { "cache_bytes=196608", 3, 64, 0, true, false, true, 40, 800 },
    { "cache_bytes=49152,slots=3,reserved_slots=1,max_flushes=2", 2, 64, 60,
      true, false, true, 40, 800 },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
        g_autofree char *name = g_strdup_printf("/array/random/%zu", i);

        g_test_add_data_func(name, &settings[i], test_random);
    }
    return g_test_run();
}
