/*
 * Jobs beside each other: depths, rates, and what is refused.
 *
 * Requests of an idle drive: tests/unit/helpers.h has their times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"
#include "jobs.h"
#include "../helpers.h"

#include <glib/gstdio.h>

#define DIES 4
/* A read that waits for nobody. */
#define READ (FW + READ_NS + LINK)

/* ---- Its text ----------------------------------------------------------- */

static void test_text(void)
{
    static const struct {
        const char *text, *workload;
        uint32_t depth;
        uint64_t rate;
    } rows[] = {
        { "1=a", "a", 1, 0 },
        { "65536=gen:uniform,size=512", "gen:uniform,size=512", 65536, 0 },
        { "8:1=a", "a", 8, 1 },
        { "8:9223372036854775807=a", "a", 8, INT64_MAX },
        { "2=a:3=b", "a:3=b", 2, 0 }, /* a colon of the workload's name */
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        const char *workload;
        uint32_t depth;
        uint64_t rate;

        g_assert_true(job_parse(rows[i].text, &depth, &rate, &workload,
                                &error));
        g_assert_no_error(error);
        g_assert_cmpstr(workload, ==, rows[i].workload);
        g_assert_cmpuint(depth, ==, rows[i].depth);
        g_assert_cmpuint(rate, ==, rows[i].rate);
    }
}

static void test_bad_text(void)
{
    static const char *const texts[] = {
        "", "2", "2=", "=a", "0=a", "65537=a", "-1=a", "+1=a", " 1=a", "x=a",
        "2:=a", "2:0=a", "2:-1=a", "2:9223372036854775808=a", ":1=a", "2:1",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *begin = g_strdup_printf("--job=%s: must be",
                                                 texts[i]);
        g_autoptr(GError) error = NULL;
        const char *workload;
        uint32_t depth;
        uint64_t rate;

        g_assert_false(job_parse(texts[i], &depth, &rate, &workload, &error));
        g_assert_error(error, SCARP_ERROR, SCARP_ERROR_VALUE);
        g_assert_true(g_str_has_prefix(error->message, begin));
    }
}

/* ---- What they do ------------------------------------------------------- */

/* Requests of a test: the first ones are its own, the rest like the last. */
typedef struct {
    Workload base;
    const TraceRecord *first;
    unsigned n_first, n, at;
    bool fails; /* at the end */
} Given;

static bool next(Workload *self, TraceRecord *record, GError **error)
{
    Given *given = (Given *)self;

    if (given->at == given->n) {
        if (given->fails) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "line 7 is bad");
        }
        return false;
    }
    *record = given->first[MIN(given->at, given->n_first - 1)];
    given->at++;
    return true;
}

static Given given(const TraceRecord *first, unsigned n_first, unsigned n)
{
    return (Given) { .base = { .next = next }, .first = first,
                     .n_first = n_first, .n = n };
}

/* Pages of all dies are written. */
static Rig *filled(const char *overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);

    for (unsigned page = 0; page < 2 * DIES; page++) {
        ScarpCmd cmd = write_page(page);

        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
        rig_drain(rig);
    }
    return rig;
}

static ReplayResult run(Rig *rig, Job *jobs, unsigned n, ReplayOptions options)
{
    g_autoptr(GError) error = NULL;
    ReplayResult result;
    bool ok = jobs_run(rig->drive, jobs, n, &options, &result, &error);

    g_assert_no_error(error);
    g_assert_true(ok);
    g_assert_cmpuint(result.measured, ==, result.requests);
    g_assert_cmpuint(rig_stats(rig)->cmds_completed, ==, result.requests);
    return result;
}

static const TraceRecord page_0 = { .op = SCARP_OP_READ,
                                    .length_bytes = PAGE };
static const TraceRecord page_1 = { .op = SCARP_OP_READ, .offset_bytes = PAGE,
                                    .length_bytes = PAGE };

/* One after the other, on a die of its own: a time that can be added up. */
static void test_depth(void)
{
    for (uint32_t depth = 1; depth <= 2; depth++) {
        Rig *rig = filled(NULL);
        Given reads = given(&page_0, 1, 10);
        Job job = { .workload = &reads.base, .depth = depth };
        ReplayResult result = run(rig, &job, 1, (ReplayOptions) { 0 });

        g_assert_cmpuint(result.requests, ==, 10);
        g_assert_cmpuint(result.reads, ==, 10);
        g_assert_cmpuint(result.read_bytes, ==, 10 * PAGE);
        g_assert_cmpuint(result.measured_bytes, ==, 10 * PAGE);
        g_assert_cmpuint(result.peak_in_flight, ==, depth);
        g_assert_cmpint(result.first_ns, ==, result.begin_ns);
        /* With two in flight the die, and nothing else, is what is shared. */
        g_assert_cmpint(result.end_ns - result.begin_ns, ==,
                        depth == 1 ? 10 * READ : READ + 9 * READ_NS);
        rig_free(rig);
    }
}

/* Each has its own depth: of two dies neither waits for the other's job. */
static void test_beside(void)
{
    Rig *rig = filled(NULL);
    Given a = given(&page_0, 1, 10), b = given(&page_1, 1, 4);
    Job jobs[] = { { .workload = &a.base, .depth = 1 },
                   { .workload = &b.base, .depth = 1 } };
    g_autofree char *path = NULL;
    g_autofree char *log = NULL;
    FILE *file = NULL;
    int fd = g_file_open_tmp("scarp-jobs-XXXXXX", &path, NULL);
    ReplayResult result;
    gsize n;
    unsigned of_b = 0;

    file = fdopen(fd, "wb");
    g_assert_nonnull(file);
    result = run(rig, jobs, 2, (ReplayOptions) { .rows = file });
    fclose(file);
    g_assert_cmpuint(result.requests, ==, 14);
    g_assert_cmpuint(result.peak_in_flight, ==, 2);
    g_assert_cmpint(result.end_ns - result.begin_ns, ==, 10 * READ);
    /* Rows in the order of completion: by turns, as long as there are both. */
    g_assert_true(g_file_get_contents(path, &log, &n, NULL));
    g_assert_cmpuint(n, ==, sizeof(CmdLogHeader) +
                            14 * (sizeof(CmdLogRow) + 8 * SCARP_CAUSE__COUNT));
    for (unsigned i = 0; i < 14; i++) {
        CmdLogRow row;

        memcpy(&row, log + sizeof(CmdLogHeader) +
                     i * (sizeof(CmdLogRow) + 8 * SCARP_CAUSE__COUNT),
               sizeof(row));
        of_b += row.offset_bytes == PAGE;
        g_assert_cmpuint(of_b, ==, MIN((i + 1) / 2, 4));
        /* The link is busy with the other job's page, once. */
        g_assert_cmpint(row.complete_ns - row.submit_ns, ==,
                        i == 1 ? READ + LINK : READ);
    }
    g_unlink(path);
    rig_free(rig);
}

/*
 * A page each millisecond; what was late for its rate is made up for, and no
 * more is submitted than that.
 */
static void test_rate(void)
{
    static const TraceRecord requests[] = {
        { .op = SCARP_OP_WRITE, .length_bytes = 4 * DIES * PAGE },
        { .op = SCARP_OP_READ, .offset_bytes = PAGE, .length_bytes = PAGE },
    };
    Rig *rig = filled(NULL);
    Given reads = given(requests + 1, 1, 10), late = given(requests, 2, 5);
    Job job = { .workload = &reads.base, .depth = 1, .rate = PAGE * 1000 };
    ReplayResult result = run(rig, &job, 1, (ReplayOptions) { 0 });

    g_assert_cmpint(result.end_ns - result.begin_ns, ==, 9 * 1000000 + READ);
    /* 16 pages are 16 ms, though written in less: the rest comes after. */
    job = (Job) { .workload = &late.base, .depth = 8, .rate = PAGE * 1000 };
    result = run(rig, &job, 1, (ReplayOptions) { 0 });
    g_assert_cmpuint(result.write_bytes, ==, 4 * DIES * PAGE);
    g_assert_cmpint(result.end_ns - result.begin_ns, ==, 19 * 1000000 + READ);
    /* At a page in 10 us each read is behind: as without a rate. */
    reads.at = 0;
    job = (Job) { .workload = &reads.base, .depth = 1, .rate = PAGE * 100000 };
    result = run(rig, &job, 1, (ReplayOptions) { 0 });
    g_assert_cmpint(result.end_ns - result.begin_ns, ==, 10 * READ);
    rig_free(rig);
}

/* What is due before the end is served; what is due at it is not. */
static void test_span(void)
{
    static const struct {
        uint64_t max_ns;
        unsigned requests;
    } rows[] = { { 1, 1 }, { 3 * READ, 3 }, { 3 * READ + 1, 4 }, { 0, 10 } };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = filled(NULL);
        Given reads = given(&page_0, 1, 10);
        Job job = { .workload = &reads.base, .depth = 1 };
        ReplayResult result = run(rig, &job, 1, (ReplayOptions) {
            .max_ns = rows[i].max_ns });

        g_assert_cmpuint(result.requests, ==, rows[i].requests);
        g_assert_cmpint(result.end_ns - result.begin_ns, ==,
                        rows[i].requests * READ);
        rig_free(rig);
    }
}

/* Flushes have no place, and count. */
static void test_flush(void)
{
    static const TraceRecord requests[] = {
        { .op = SCARP_OP_FLUSH, .offset_bytes = 7, .length_bytes = 9 },
        { .op = SCARP_OP_DEALLOCATE, .length_bytes = PAGE },
        { .op = SCARP_OP_WRITE, .stream = 1, .length_bytes = PAGE },
    };
    Rig *rig = filled("ftl.streams=2,ftl.over_provisioning_permille=500");
    Given all = given(requests, 3, 3);
    Job job = { .workload = &all.base, .depth = 1 };
    ReplayResult result = run(rig, &job, 1, (ReplayOptions) { 0 });

    g_assert_cmpuint(result.flushes, ==, 1);
    g_assert_cmpuint(result.deallocates, ==, 1);
    g_assert_cmpuint(result.writes, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->flushes, ==, 1);
    g_assert_cmpuint(job.bytes, ==, 2 * PAGE);
    rig_free(rig);
}

/* ---- What is refused ---------------------------------------------------- */

/* Commands are in flight that nobody has any more: the drive does not go on. */
static void leave(Rig *rig)
{
    scarp_drive_free(rig->drive);
    g_free(rig);
}

/* After so many good ones. */
static void refused(const TraceRecord *bad, unsigned after, const char *says)
{
    TraceRecord requests[4] = { page_0, page_0, page_0, page_0 };
    Rig *rig = filled(NULL);
    Given all = given(requests, after + 1, after + 1);
    Job job = { .workload = &all.base, .depth = 1 };
    g_autoptr(GError) error = NULL;
    ReplayResult result;

    requests[after] = *bad;
    g_assert_false(jobs_run(rig->drive, &job, 1, &(ReplayOptions) { 0 },
                            &result, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_VALUE);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_cmpuint(result.requests, ==, after);
    leave(rig);
}

static void test_refused(void)
{
    Rig *rig = filled(NULL);
    uint64_t end = scarp_drive_logical_bytes(rig->drive);
    const TraceRecord bad[] = {
        { .op = SCARP_OP_READ, .offset_bytes = 1, .length_bytes = PAGE },
        { .op = SCARP_OP_READ, .length_bytes = PAGE - 1 },
        { .op = SCARP_OP_WRITE },
        { .op = SCARP_OP_READ, .offset_bytes = end, .length_bytes = 512 },
        { .op = SCARP_OP_READ, .offset_bytes = end + 512,
          .length_bytes = 512 },
        { .op = SCARP_OP_READ, .offset_bytes = end - PAGE,
          .length_bytes = PAGE + 512 },
    };
    const TraceRecord last = { .op = SCARP_OP_READ, .length_bytes = PAGE,
                               .offset_bytes = end - PAGE };
    Given one = given(&last, 1, 1);
    Job job = { .workload = &one.base, .depth = 1 };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        refused(&bad[i], 0, "must be whole sectors of the drive");
        refused(&bad[i], 3, "must be whole sectors of the drive");
    }
    refused(&(TraceRecord) { .op = SCARP_OP_WRITE, .stream = 1,
                             .length_bytes = PAGE }, 2,
            "request 3: writes to stream 1; ftl.streams=1 allows 0 to 0");
    /* The last page is one of the drive. */
    g_assert_cmpuint(run(rig, &job, 1, (ReplayOptions) { 0 }).reads, ==, 1);
    rig_free(rig);
}

/* A workload that breaks off, and jobs without a request. */
static void test_broken_off(void)
{
    Rig *rig = filled(NULL);
    Given good = given(&page_0, 1, 3), bad = given(&page_0, 1, 1),
          none = given(&page_0, 1, 0);
    Job jobs[] = { { .workload = &good.base, .depth = 1 },
                   { .workload = &bad.base, .depth = 1 } };
    g_autoptr(GError) error = NULL;
    ReplayResult result;

    bad.fails = true;
    g_assert_false(jobs_run(rig->drive, jobs, 2, &(ReplayOptions) { 0 },
                            &result, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_cmpstr(error->message, ==, "line 7 is bad");
    g_clear_error(&error);
    leave(rig);
    /* At its beginning, too: nothing of the others is submitted. */
    rig = filled(NULL);
    bad.n = bad.at = good.at = 0;
    jobs[0].in_flight = jobs[1].in_flight = 0;
    g_assert_false(jobs_run(rig->drive, jobs, 2, &(ReplayOptions) { 0 },
                            &result, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_cmpuint(result.requests, ==, 0);
    g_clear_error(&error);
    jobs[0] = (Job) { .workload = &none.base, .depth = 1 };
    g_assert_false(jobs_run(rig->drive, jobs, 1, &(ReplayOptions) { 0 },
                            &result, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_cmpstr(error->message, ==, "the jobs have no requests");
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/jobs/text", test_text);
    g_test_add_func("/jobs/bad-text", test_bad_text);
    g_test_add_func("/jobs/depth", test_depth);
    g_test_add_func("/jobs/beside", test_beside);
    g_test_add_func("/jobs/rate", test_rate);
    g_test_add_func("/jobs/span", test_span);
    g_test_add_func("/jobs/flush", test_flush);
    g_test_add_func("/jobs/refused", test_refused);
    g_test_add_func("/jobs/broken-off", test_broken_off);
    return g_test_run();
}
