/*
 * Host-queue policies: which command each of them takes next, deadline's
 * choices beside those of Linux's mq-deadline, and how long a command may be
 * passed over.  hios-1 and hios-2 are in test-hios.c, but for that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#define ONE_SLOT "controller.slots=1"

enum { MAX_WAITING = 32, US = 1000 };

/* The order in which they left the host queue: order[0] is the first. */
static void expect_order(const ScarpCmd *cmds, unsigned n,
                         const unsigned *order)
{
    for (unsigned i = 1; i < n; i++) {
        const ScarpCmd *a = &cmds[order[i - 1]], *b = &cmds[order[i]];

        g_test_message("turn %u: command %u before %u", i, order[i - 1],
                       order[i]);
        g_assert_cmpint(a->submit_ns + a->cause_ns[SCARP_CAUSE_HOST_QUEUE], <=,
                        b->submit_ns + b->cause_ns[SCARP_CAUSE_HOST_QUEUE]);
        g_assert_cmpint(a->complete_ns, <=, b->complete_ns);
    }
}

static void submit_all(Rig *rig, ScarpCmd *cmds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        scarp_submit(rig->drive, &cmds[i], scarp_now_ns(rig->drive));
    }
    rig_drain(rig);
    for (unsigned i = 0; i < n; i++) {
        latency(&cmds[i]);
    }
}

/* ---- deadline, beside mq-deadline ------------------------------------------ */

/*
 * What block/mq-deadline.c does with requests of one priority that are there
 * from the start, told in this test's own words.  A batch goes on while there
 * is a request of its direction behind the last one, up to fifo_batch.  Else
 * reads are chosen, unless writes wait that were passed over writes_starved
 * times; and of that direction the oldest, if it has expired or none lies
 * behind the last one, else the next one behind it.
 */
typedef struct {
    unsigned batch, writes_starved;
    bool expired[2]; /* whatever waits of a direction */
    unsigned batching, starved;
    int direction;
    uint64_t position[2];
} Linux;

static int next_of(const Linux *model, const ScarpCmd *cmds, unsigned n,
                   const bool *gone, int direction)
{
    int best = -1;

    for (unsigned i = 0; i < n; i++) {
        if (!gone[i] && (int)cmds[i].op == direction &&
            cmds[i].offset_bytes >= model->position[direction] &&
            (best < 0 || cmds[i].offset_bytes < cmds[best].offset_bytes)) {
            best = i;
        }
    }
    return best;
}

static int oldest_of(const ScarpCmd *cmds, unsigned n, const bool *gone,
                     int direction)
{
    for (unsigned i = 0; i < n; i++) {
        if (!gone[i] && (int)cmds[i].op == direction) {
            return i;
        }
    }
    return -1;
}

static unsigned linux_next(Linux *model, const ScarpCmd *cmds, unsigned n,
                           bool *gone)
{
    int next = next_of(model, cmds, n, gone, model->direction);

    if (next < 0 || model->batching >= model->batch) {
        bool reads = oldest_of(cmds, n, gone, SCARP_OP_READ) >= 0;
        bool writes = oldest_of(cmds, n, gone, SCARP_OP_WRITE) >= 0;

        if (reads && !(writes && model->starved++ >= model->writes_starved)) {
            model->direction = SCARP_OP_READ;
        } else {
            model->starved = 0;
            model->direction = SCARP_OP_WRITE;
        }
        next = next_of(model, cmds, n, gone, model->direction);
        if (next < 0 || model->expired[model->direction]) {
            next = oldest_of(cmds, n, gone, model->direction);
        }
        model->batching = 0;
    }
    model->batching++;
    model->position[model->direction] = cmds[next].offset_bytes;
    gone[next] = true;
    return next;
}

/* By hand: batches of three, and writes are passed over once. */
static void test_deadline_by_hand(void)
{
    Rig *rig = rig_new("deadline", "fifo_batch=3,writes_starved=1", ONE_SLOT);
    ScarpCmd cmd[] = {
        read_page(50), /* has the slot at once */
        write_page(9), read_page(70), read_page(10), write_page(5),
        read_page(60), read_page(80), write_page(7), read_page(20),
    };

    submit_all(rig, cmd, 9);
    /*
     * 60, 70 end the batch of three; reads pass the writes once: 80 alone lies
     * behind 70, and the batch ends as there is none left; now the writes, from
     * the lowest address on; then the reads, the oldest first: 10 and 20.
     */
    expect_order(cmd, 9, (const unsigned[]) { 0, 5, 2, 6, 4, 7, 1, 3, 8 });
    rig_free(rig);
}

static void test_deadline_as_linux(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);

    for (unsigned round = 0; round < 100; round++) {
        Linux model = { .batch = g_rand_int_range(rand, 1, 6),
                        .writes_starved = g_rand_int_range(rand, 0, 4),
                        .expired = { g_rand_boolean(rand),
                                     g_rand_boolean(rand) } };
        g_autofree char *params = g_strdup_printf(
            "fifo_batch=%u,writes_starved=%u,read_deadline_us=%u,"
            "write_deadline_us=%u", model.batch, model.writes_starved,
            model.expired[0] ? 0 : 1000000000,
            model.expired[1] ? 0 : 1000000000);
        Rig *rig = rig_new("deadline", params, ONE_SLOT);
        unsigned n = g_rand_int_range(rand, 4, MAX_WAITING);
        unsigned order[MAX_WAITING];
        ScarpCmd cmd[MAX_WAITING];
        bool gone[MAX_WAITING] = { false };

        for (unsigned i = 0; i < n; i++) {
            uint64_t page = i * 7 % MAX_WAITING * 3; /* none twice */

            cmd[i] = g_rand_boolean(rand) ? read_page(page) : write_page(page);
        }
        /* The first is alone when it comes. */
        order[0] = linux_next(&model, cmd, 1, gone);
        for (unsigned i = 1; i < n; i++) {
            order[i] = linux_next(&model, cmd, n, gone);
        }
        submit_all(rig, cmd, n);
        expect_order(cmd, n, order);
        rig_free(rig);
    }
}

/* ---- anticipatory ---------------------------------------------------------- */

static void test_anticipatory_order(void)
{
    Rig *rig = rig_new("anticipatory", "antic_us=0", ONE_SLOT);
    ScarpCmd cmd[] = { read_page(50), read_page(40), write_page(45),
                       read_page(60), read_page(10),
                       cmd_of(SCARP_OP_FLUSH, 0, 0), write_page(3) };

    submit_all(rig, cmd, 7);
    /* The flush; up from 50; then the lowest; then the batch of writes. */
    expect_order(cmd, 7, (const unsigned[]) { 0, 5, 3, 4, 1, 6, 2 });
    rig_free(rig);
}

/*
 * A read of nothing ends at FW + LINK.  A write that comes 2 us later waits
 * for a near read: for antic_us, or until one comes, behind which it waits
 * again.
 */
static void test_anticipatory_waits(void)
{
    static const struct {
        const char *params;
        int64_t near_ns; /* after the first read's end; 0: none comes */
        uint64_t page;
        int64_t waits_ns;
    } rows[] = {
        { "antic_us=100", 0, 0, 100 * US - 2 * US },
        { "antic_us=0", 0, 0, 0 },
        /* It comes, and ends a link's time later: the wait begins anew. */
        { "antic_us=100", 50 * US, 51,
          50 * US + LINK + 100 * US - 2 * US },
        /* It is no near one: the wait goes on, and it is waited for, too. */
        { "antic_us=100,near_kib=4", 50 * US, 60,
          100 * US + LINK + 100 * US - 2 * US },
        /* A command that is late ends the wait when something happens. */
        { "antic_us=100,write_expire_us=0", 0, 0, 0 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new("anticipatory", rows[i].params, ONE_SLOT);
        ScarpCmd first = read_page(50), near = read_page(rows[i].page);
        ScarpCmd write = write_page(9);
        int64_t end_ns = FW + LINK;

        g_test_message("row %zu", i);
        scarp_submit(rig->drive, &first, 0);
        scarp_submit(rig->drive, &write, end_ns + 2 * US - FW);
        if (rows[i].near_ns) {
            scarp_submit(rig->drive, &near, end_ns + rows[i].near_ns - FW);
        }
        rig_drain(rig);
        latency(&write);
        g_assert_cmpint(write.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==,
                        rows[i].waits_ns);
        rig_free(rig);
    }
}

/* A host that thinks longer than that, or seeks about, is not waited for. */
static void test_anticipatory_learns(void)
{
    for (int far = 0; far < 2; far++) {
        Rig *rig = rig_new("anticipatory", "antic_us=100", NULL);
        int64_t think_ns = far ? 10 * US : 1000 * US, waited = 0;

        for (unsigned i = 0; i < 20; i++) {
            ScarpCmd read = read_page(far ? i * 997 % 3000 : i);
            ScarpCmd other = far ? read_page((i * 997 + 400) % 3000)
                                 : write_page(3000);

            rig_drain(rig);
            scarp_submit(rig->drive, &read,
                         scarp_now_ns(rig->drive) + think_ns);
            while (!scarp_reap(rig->drive)) {
                scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
            }
            scarp_submit(rig->drive, &other, scarp_now_ns(rig->drive));
            rig_drain(rig);
            waited = other.cause_ns[SCARP_CAUSE_HOST_QUEUE];
            if (!i && !far) {
                g_assert_cmpint(waited, ==, 100 * US - FW);
            }
        }
        g_assert_cmpint(waited, ==, 0);
        rig_free(rig);
    }
}

/*
 * What only the policy before held back goes at once when the scheme changes:
 * 8 us after it came to wait, when it would have waited for 98.  A range of
 * nothing has completed then, without another event.
 */
static void test_switch_asks(void)
{
    for (int ranges = 0; ranges < 2; ranges++) {
        Rig *rig = rig_new("anticipatory", "antic_us=100", ONE_SLOT);
        ScarpCmd first = read_page(50);
        ScarpCmd held = cmd_of(ranges ? SCARP_OP_DEALLOCATE : SCARP_OP_WRITE,
                               9 * PAGE, PAGE);
        int64_t end_ns = FW + LINK;
        g_autoptr(GError) error = NULL;

        scarp_submit(rig->drive, &first, 0);
        scarp_submit(rig->drive, &held, end_ns + 2 * US - FW);
        scarp_run(rig->drive, end_ns + 10 * US);
        g_assert_true(scarp_reap(rig->drive) == &first);
        g_assert_null(scarp_reap(rig->drive));
        scarp_drive_set_scheme(rig->drive, "baseline", NULL, &error);
        g_assert_no_error(error);
        if (ranges) {
            g_assert_true(scarp_reap(rig->drive) == &held);
        }
        rig_drain(rig);
        latency(&held);
        g_assert_cmpint(held.cause_ns[SCARP_CAUSE_HOST_QUEUE], ==, 8 * US);
        rig_free(rig);
    }
}

/* ---- flash-aware ------------------------------------------------------------ */

/* tiny.ini: four planes, 16 pages a block: a bundle is 64 pages. */
static void test_flash_aware_order(void)
{
    static const struct {
        const char *params;
        unsigned order[9];
    } rows[] = {
        /* Reads as they came; 0 to 63, by address; then 64 on. */
        { "reads_first=16", { 0, 3, 6, 4, 1, 7, 2, 5, 8 } },
        /* By arrival: a bundle stands where its oldest write does. */
        { "reads_first=0", { 0, 4, 1, 7, 2, 5, 8, 3, 6 } },
        /* One read, a bundle, one read, a bundle. */
        { "reads_first=1", { 0, 3, 4, 1, 7, 6, 2, 5, 8 } },
        /* A bundle has two: the second of each is the oldest. */
        { "bundle_max=2", { 0, 3, 6, 4, 1, 2, 5, 7, 8 } },
        /* The stretch is 8 pages: 40, 10, 61; 64, 70; 100. */
        { "bundle_pages=8", { 0, 3, 6, 1, 2, 5, 4, 7, 8 } },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new("flash-aware", rows[i].params, ONE_SLOT);
        ScarpCmd cmd[] = {
            read_page(200), /* has the slot at once */
            write_page(40), write_page(64), read_page(300), write_page(10),
            write_page(70), read_page(250), write_page(61), write_page(100),
        };

        g_test_message("row %zu", i);
        submit_all(rig, cmd, 9);
        expect_order(cmd, 9, rows[i].order);
        rig_free(rig);
    }
}

/* ---- Nothing starves --------------------------------------------------------- */

/* Commands that keep coming, eight at a time: of a page, up from first. */
typedef struct {
    ScarpOp op;
    uint64_t first, step, turn; /* after so many, from first again */
} Stream;

typedef struct {
    const char *scheme, *params;
    Stream stream[2];
    ScarpOp op; /* the one that is passed over */
    uint64_t page, pages;
    unsigned least, most;      /* times */
    int64_t bound_ns;          /* or 0: of its time in the host queue */
} Starve;

static const Starve starve[] = {
    { "noop", NULL, { { SCARP_OP_READ, 100, 1, 1000 } }, SCARP_OP_WRITE, 9, 1,
      8, 9, 0 },
    /* Two batches of reads at most, after the one that runs. */
    { "deadline", "fifo_batch=4,writes_starved=2",
      { { SCARP_OP_READ, 100, 1, 1000 } }, SCARP_OP_WRITE, 9, 1, 8, 12, 0 },
    /* Behind the others, and no batch ends at it: late, it begins the next. */
    { "deadline", "fifo_batch=4,read_deadline_us=50",
      { { SCARP_OP_READ, 100, 1, 1000 } }, SCARP_OP_READ, 9, 1, 30, 60, 0 },
    { "anticipatory", "read_expire_us=50,antic_us=10",
      { { SCARP_OP_READ, 100, 1, 1000 } }, SCARP_OP_READ, 9, 1, 30, 60,
      50 * US + 10 * US + LINK },
    { "anticipatory", "read_batch_us=50,antic_us=10",
      { { SCARP_OP_READ, 100, 1, 1000 } }, SCARP_OP_WRITE, 9, 1, 30, 60,
      50 * US + 10 * US + LINK },
    { "flash-aware", "reads_first=5", { { SCARP_OP_READ, 100, 1, 1000 } },
      SCARP_OP_WRITE, 9, 1, 5, 6, 0 },
    /* A bundle that never ends by itself. */
    { "flash-aware", "bundle_max=12", { { SCARP_OP_WRITE, 0, 1, 64 } },
      SCARP_OP_READ, 900, 1, 8, 12, 0 },
    { "flash-aware", "bundle_max=12", { { SCARP_OP_WRITE, 0, 1, 64 } },
      SCARP_OP_WRITE, 900, 1, 8, 24, 0 },
    /* The highest address of its own bundle. */
    { "flash-aware", "bundle_max=12", { { SCARP_OP_WRITE, 0, 1, 32 } },
      SCARP_OP_WRITE, 63, 1, 8, 24, 0 },
    { "hios-1", NULL, { { SCARP_OP_READ, 0, 1, 64 } }, SCARP_OP_WRITE, 900, 1,
      8, 9, 0 },
    /*
     * It goes to two dies, one of which always has another read: until the
     * last moment, and then until a slot is free.
     */
    { "hios-2", "deadline_us=5000",
      { { SCARP_OP_READ, 0, 4, 16 }, { SCARP_OP_READ, 1, 4, 16 } },
      SCARP_OP_READ, 4, 2, 10, 1000, 5000 * US - FW - LINK },
};

static void test_starves(gconstpointer data)
{
    const Starve *row = data;
    Rig *rig = rig_new(row->scheme, row->params,
                       g_str_equal(row->scheme, "hios-2") ? "controller.slots=2"
                                                          : ONE_SLOT);
    ScarpCmd cmd[2][8], victim = cmd_of(row->op, row->page * PAGE,
                                        row->pages * PAGE), *done;
    unsigned n[2] = { 0, 0 }, passed = 0;

    rig_fill(rig, 0, 64);
    for (unsigned i = 0; i < 16; i++) {
        const Stream *s = &row->stream[i % 2];

        if (s->turn) {
            cmd[i % 2][i / 2] =
                cmd_of(s->op, (s->first + n[i % 2]++ % s->turn * s->step) *
                                  PAGE, PAGE);
            cmd[i % 2][i / 2].opaque = (void *)s;
            scarp_submit(rig->drive, &cmd[i % 2][i / 2],
                         scarp_now_ns(rig->drive) + !i);
        }
    }
    scarp_submit(rig->drive, &victim, scarp_now_ns(rig->drive));
    for (bool ends = false; !ends;) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        while ((done = scarp_reap(rig->drive))) {
            const Stream *s = done->opaque;
            unsigned which = s == &row->stream[1];

            if (done == &victim) {
                ends = true;
                continue;
            }
            passed += !ends;
            g_assert_cmpuint(passed, <, 10000);
            if (!ends) {
                *done = cmd_of(s->op, (s->first + n[which]++ % s->turn *
                                                      s->step) * PAGE, PAGE);
                done->opaque = (void *)s;
                scarp_submit(rig->drive, done, scarp_now_ns(rig->drive));
            }
        }
    }
    rig_drain(rig);
    g_test_message("passed over %u times in %" G_GINT64_FORMAT " ns", passed,
                   victim.cause_ns[SCARP_CAUSE_HOST_QUEUE]);
    g_assert_cmpuint(passed, >=, row->least);
    g_assert_cmpuint(passed, <=, row->most);
    if (row->bound_ns) {
        g_assert_cmpint(victim.cause_ns[SCARP_CAUSE_HOST_QUEUE], <=,
                        row->bound_ns);
    }
    rig_free(rig);
}

/* The law of checked builds can be broken: what passes over is found. */
static void test_law(void)
{
    if (!scarp_mark_count()) {
        g_test_skip("only checked builds have it");
        return;
    }
    if (g_test_subprocess()) {
        Rig *rig = rig_new("noop", NULL, ONE_SLOT);
        ScarpCmd cmd[3] = { write_page(1), write_page(2), write_page(3) };

        for (int i = 0; i < 3; i++) {
            scarp_submit(rig->drive, &cmd[i], 1);
        }
        /* One has the slot, two wait. */
        scarp_run(rig->drive, 1 + FW);
        inside_pass_over(rig->drive);
        rig_drain(rig);
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*was passed over more often than noop may*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host-queue/deadline/by-hand", test_deadline_by_hand);
    g_test_add_func("/host-queue/deadline/as-linux", test_deadline_as_linux);
    g_test_add_func("/host-queue/anticipatory/order", test_anticipatory_order);
    g_test_add_func("/host-queue/anticipatory/waits", test_anticipatory_waits);
    g_test_add_func("/host-queue/anticipatory/learns",
                    test_anticipatory_learns);
    g_test_add_func("/host-queue/switch-asks", test_switch_asks);
    g_test_add_func("/host-queue/flash-aware/order", test_flash_aware_order);
    g_test_add_func("/host-queue/starves/law", test_law);
    for (size_t i = 0; i < G_N_ELEMENTS(starve); i++) {
        g_autofree char *path = g_strdup_printf("/host-queue/starves/%02zu-%s",
                                                i, starve[i].scheme);

        g_test_add_data_func(path, &starve[i], test_starves);
    }
    return g_test_run();
}
