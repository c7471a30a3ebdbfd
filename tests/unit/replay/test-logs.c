/*
 * Logs of a replay: where commands were served, command logs that are replayed
 * at their own addresses, and those that are none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"
#include "flashlog.h"
#include "replay.h"
#include "../helpers.h"

#include <glib/gstdio.h>
#include <unistd.h>

/* ---- Where commands were served ----------------------------------------- */

static const uint32_t none = UINT32_MAX;

/* Pages 0, 1, 2, 3 go to dies 0, 2, 1, 3: planes, as each has one. */
static const uint32_t die_of[] = { 0, 2, 1, 3 };

static FlashLogRow *replay_trace(const char *trace, const char *overrides,
                                 unsigned n)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    ReplayOptions o = { .mode = REPLAY_CLOSED, .depth = 1,
                        .speed_permille = 1000, .align_bytes = 512 };
    FlashLogRow *rows = g_new0(FlashLogRow, n);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    CmdLogHeader header;
    ReplayResult result;
    Workload *workload;
    int fd = g_file_open_tmp("scarp-logs-XXXXXX", &path, &error);

    g_assert_no_error(error);
    close(fd);
    g_assert_true(g_file_set_contents(path, trace, -1, NULL));
    workload = trace_open(path, "heimdall", &error);
    g_assert_no_error(error);
    o.flash_rows = tmpfile();
    g_assert_true(replay_run(rig->drive, workload, &o, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(result.requests, ==, n);
    workload->free(workload);
    g_unlink(path);

    rewind(o.flash_rows);
    g_assert_cmpuint(fread(&header, sizeof(header), 1, o.flash_rows), ==, 1);
    g_assert_cmpmem(header.magic, 8, FLASHLOG_MAGIC, 8);
    g_assert_cmpuint(header.row_bytes, ==, sizeof(*rows));
    g_assert_cmpuint(fread(rows, sizeof(*rows), n, o.flash_rows), ==, n);
    g_assert_cmpint(fgetc(o.flash_rows), ==, EOF);
    fclose(o.flash_rows);
    rig_free(rig);
    return rows;
}

static void at(const FlashLogRow *row, uint32_t die, uint32_t page)
{
    g_assert_cmpuint(row->die, ==, die);
    g_assert_cmpuint(row->plane, ==, die);
    g_assert_cmpuint(row->page, ==, page);
    if (die == none) {
        g_assert_cmpuint(row->block, ==, none);
    } else { /* 64 blocks a plane */
        g_assert_cmpuint(row->block / 64, ==, die);
    }
}

static void test_served(void)
{
    g_autofree FlashLogRow *rows = replay_trace(
        "0.000 0 0 4096 0\n"    /* the first page of its die's block */
        "0.001 0 4096 4096 0\n"
        "0.002 0 0 4096 0\n"    /* over it: the next page */
        "0.003 0 0 4096 1\n"    /* which is read */
        "0.004 0 4096 4096 1\n"
        "0.005 0 40960 4096 1\n" /* never written */
        "0.006 0 0 16384 1\n",   /* of its two pages there, the last to end */
        NULL, 7);

    at(&rows[0], die_of[0], 0);
    at(&rows[1], die_of[1], 0);
    at(&rows[2], die_of[0], 1);
    at(&rows[3], die_of[0], 1);
    g_assert_cmpuint(rows[3].block, ==, rows[0].block);
    at(&rows[4], die_of[1], 0);
    at(&rows[5], none, none);
    g_assert_true(rows[6].die == die_of[0] || rows[6].die == die_of[1]);
}

/* A buffered write has ended before its program begins; a read of it hits. */
static void test_served_by_buffer(void)
{
    g_autofree FlashLogRow *rows = replay_trace(
        "0.000 0 0 4096 0\n0.000 0 0 4096 1\n", "controller.buffer_bytes=65536",
        2);

    at(&rows[0], none, none);
    at(&rows[1], none, none);
}

/* ---- Command logs ------------------------------------------------------- */

static char *log_path(void)
{
    char *path = NULL;
    int fd = g_file_open_tmp("scarp-logs-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    return path;
}

/* One row, as cmdlog.c writes it. */
static void write_log(const char *path, const ScarpCmd *cmds, unsigned n)
{
    FILE *file = fopen(path, "wb");

    g_assert_nonnull(file);
    cmdlog_write_header(file, SCARP_CAUSE__COUNT);
    for (unsigned i = 0; i < n; i++) {
        cmdlog_write(file, &cmds[i], i, SCARP_CAUSE__COUNT);
    }
    fclose(file);
}

/*
 * Addresses of a recording are the drive's, and stay as they are; those of a
 * larger drive are folded onto it.
 */
static void test_absolute(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    uint64_t end = scarp_drive_logical_bytes(rig->drive);
    const struct {
        uint64_t at, length;
        bool folded;
    } rows[] = {
        { 512, 512, false }, { end - 512, 512, false }, { end, 512, true },
        { end - 512, 1024, true }, { end + 512, 512, true },
    };
    ScarpCmd cmd[G_N_ELEMENTS(rows)];
    ReplayOptions o = { .mode = REPLAY_OPEN, .speed_permille = 1000,
                        .align_bytes = PAGE };
    g_autofree char *path = log_path();
    g_autoptr(GError) error = NULL;
    unsigned folded = 0;
    Workload *workload;
    ReplayResult result;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        cmd[i] = cmd_of(SCARP_OP_READ, rows[i].at, rows[i].length);
        folded += rows[i].folded;
    }
    write_log(path, cmd, G_N_ELEMENTS(rows));
    workload = cmdlog_open(path, &error);
    g_assert_no_error(error);
    g_assert_true(replay_run(rig->drive, workload, &o, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(result.folded, ==, folded);
    /* Those that were not are of a sector; the others of pages, one of two. */
    g_assert_cmpuint(result.read_bytes, ==, 2 * 512 + 4 * PAGE);
    workload->free(workload);
    g_unlink(path);
    rig_free(rig);
}

static void test_no_log(void)
{
    static const struct {
        size_t at;
        uint32_t value;
        const char *says;
    } rows[] = {
        { 0, 0, "no command log" },  /* its first bytes */
        { 8, 4097, "no command log" }, /* bytes of a row: as they are, or … */
        { 8, 40, "no command log" },
        { 12, 1000, "no command log" }, /* causes */
        { 16, 99, "another version" },
        { 32 + 4, 0x80000000, "a row with an operation, time" },
        { 32 + 20, 0x80000000, "a row with an operation, time" }, /* offset */
        { 32 + 28, 5, "a row with an operation, time" },
        { 32 + 44, 0x80000000, "a row with an operation, time" }, /* deadline */
        { 32 + 44, 0x7fffffff, "a row with an operation, time" },
    };
    const ScarpCmd cmd = read_page(0);
    g_autofree char *path = log_path(), *good = NULL;
    g_autoptr(GError) error = NULL;
    Workload *workload;
    gsize n;

    write_log(path, &cmd, 1);
    g_assert_true(g_file_get_contents(path, &good, &n, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *bytes = g_memdup2(good, n);

        memcpy(bytes + rows[i].at, &rows[i].value, sizeof(rows[i].value));
        g_assert_true(g_file_set_contents(path, bytes, n, NULL));
        g_assert_null(cmdlog_open(path, &error));
        g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, rows[i].says));
        g_clear_error(&error);
    }
    /* Cut: in its head, in a row's head, and in its causes. */
    for (size_t cut = 0; cut < n; cut++) {
        g_assert_true(g_file_set_contents(path, good, cut, NULL));
        workload = cmdlog_open(path, &error);
        g_assert_true((workload != NULL) == (cut == 32));
        if (workload) {
            workload->free(workload);
            continue;
        }
        g_assert_nonnull(strstr(error->message, cut < 32
                                ? "no command log"
                                : ":1: ends in the middle of a row"));
        g_clear_error(&error);
    }
    g_assert_true(g_file_set_contents(path, good, n, NULL));
    workload = cmdlog_open(path, &error);
    g_assert_no_error(error);
    workload->free(workload);
    g_unlink(path);
    g_assert_null(cmdlog_open(path, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_true(g_str_has_prefix(error->message, path));
}

/* ---- What ends a replay ------------------------------------------------- */

static bool no_request(Workload *self, TraceRecord *record, GError **error)
{
    (void)self;
    (void)record;
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "line 7 is bad");
    return false;
}

/* Reads of one page, all at one time; the last one writes to a stream. */
typedef struct {
    Workload base;
    unsigned left;
    uint16_t stream;
} Burst;

static bool next_of_burst(Workload *self, TraceRecord *record,
                          GError **error G_GNUC_UNUSED)
{
    Burst *burst = (Burst *)self;

    if (!burst->left) {
        return false;
    }
    burst->left--;
    *record = (TraceRecord) { .op = SCARP_OP_READ, .length_bytes = PAGE };
    if (!burst->left && burst->stream) {
        record->op = SCARP_OP_WRITE;
        record->stream = burst->stream;
    }
    return true;
}

static void ends(Workload *workload, ReplayOptions o, const char *says)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    ScarpCmd cmd = write_page(0);
    g_autoptr(GError) error = NULL;
    ReplayResult result;
    bool ok;

    scarp_submit(rig->drive, &cmd, 0);
    rig_drain(rig);
    o.speed_permille = 1000;
    ok = replay_run(rig->drive, workload, &o, &result, &error);
    g_assert_true(ok == !says);
    if (says) {
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, says));
    }
    /* Commands that nobody has any more may be in flight. */
    scarp_drive_free(rig->drive);
    g_free(rig);
}

static void test_ends(void)
{
    Workload bad = { .next = no_request };
    Burst burst = { .base.next = next_of_burst, .left = 10 };

    ends(&bad, (ReplayOptions) { 0 }, "line 7 is bad");
    /* Ten at once are ten in flight: as many as are allowed, or too many. */
    ends(&burst.base, (ReplayOptions) { .max_in_flight = 10 }, NULL);
    burst.left = 11;
    ends(&burst.base, (ReplayOptions) { .max_in_flight = 10 },
         "--backlog=10: the drive does not keep up");
    /* In a closed loop there are never more than its depth. */
    burst.left = 11;
    ends(&burst.base, (ReplayOptions) { .mode = REPLAY_CLOSED, .depth = 4,
                                        .max_in_flight = 2 }, NULL);
    burst.left = 5;
    burst.stream = 1;
    ends(&burst.base, (ReplayOptions) { 0 },
         "request 5: writes to stream 1; ftl.streams=1 allows 0 to 0");
    /* The first one. */
    burst.left = 1;
    ends(&burst.base, (ReplayOptions) { 0 }, "request 1: writes to stream 1");
    /* All of them are warming up. */
    burst.left = 5;
    burst.stream = 0;
    ends(&burst.base, (ReplayOptions) { .warmup_requests = 5 },
         "--warmup=5: the run had only 5 requests");
    burst.left = 6;
    ends(&burst.base, (ReplayOptions) { .warmup_requests = 5 }, NULL);
    burst.left = 0;
    ends(&burst.base, (ReplayOptions) { 0 }, "has 0 requests");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/logs/served", test_served);
    g_test_add_func("/logs/served-by-buffer", test_served_by_buffer);
    g_test_add_func("/logs/absolute", test_absolute);
    g_test_add_func("/logs/none", test_no_log);
    g_test_add_func("/replay/ends", test_ends);
    return g_test_run();
}
