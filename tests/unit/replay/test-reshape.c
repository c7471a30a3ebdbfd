/*
 * A workload that is repeated, that loses operations, and whose gaps are cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reshape.h"

#include <glib/gstdio.h>
#include <string.h>

static char *path;
static uint32_t warnings;

static void warn(const char *text)
{
    g_test_message("%s", text);
    warnings++;
}

static Workload *open_trace(void *opaque, GError **error)
{
    return trace_open(path, opaque, error);
}

typedef struct {
    const char *name;
    uint64_t repeat;
    int64_t max_gap_ns;
    const char *skip;
    const char *text;       /* alibaba's columns: operation, sector, us */
    int64_t times_us[10];   /* ended by -1 */
    const char *ops;        /* a letter for each request */
    uint64_t lines[10];
    uint64_t skipped, gaps;
    int64_t gaps_ns;
} Sample;

#define TEXT "0,R,0,512,100\n0,W,512,512,110\n0,R,1024,512,130\n"

static const Sample samples[] = {
    { "as-it-is", 1, 0, NULL, TEXT, { 0, 10, 30, -1 }, "RWR", { 1, 2, 3 },
      0, 0, 0 },
    /* The next run begins a mean gap of 15 us behind the last request. */
    { "repeat", 3, 0, NULL, TEXT, { 0, 10, 30, 45, 55, 75, 90, 100, 120, -1 },
      "RWRRWRRWR", { 1, 2, 3, 1, 2, 3, 1, 2, 3 }, 0, 0, 0 },
    { "repeat-one", 2, 0, NULL, "0,W,0,512,7\n", { 0, 0, -1 }, "WW", { 1, 1 },
      0, 0, 0 },
    { "skip", 1, 0, "reads", TEXT, { 10, -1 }, "W", { 2 }, 2, 0, 0 },
    { "skip-several", 1, 0, "writes,trims", TEXT, { 0, 30, -1 }, "RR", { 1, 3 },
      1, 0, 0 },
    /* A run takes as long as with all of its requests. */
    { "skip-and-repeat", 2, 0, "reads", TEXT, { 10, 55, -1 }, "WW", { 2, 2 },
      4, 0, 0 },
    { "max-gap", 1, 15000, NULL, TEXT, { 0, 10, 25, -1 }, "RWR", { 1, 2, 3 },
      0, 1, 5000 },
    { "max-gap-between-those-left", 1, 15000, "writes", TEXT, { 0, 15, -1 },
      "RR", { 1, 3 }, 1, 1, 15000 },
    { "max-gap-and-repeat", 2, 15000, NULL, TEXT, { 0, 10, 25, 37, 47, 62, -1 },
      "RWRRWR", { 1, 2, 3, 1, 2, 3 }, 0, 2, 10000 },
    /* An absolute time among relative ones: the jump back is no gap either. */
    { "max-gap-there-and-back", 1, 20000, NULL,
      "0,R,0,512,0\n0,W,0,512,1300000000000000\n0,R,0,512,5\n0,R,0,512,15\n",
      { 0, 20, 20, 30, -1 }, "RWRR", { 1, 2, 3, 4 }, 0, 2,
      1299999999999980000 + 1299999999999995000 },
    /* A small jump back stays as it is. */
    { "out-of-order", 1, 20000, NULL,
      "0,R,0,512,9\n0,W,0,512,19\n0,R,0,512,14\n",
      { 0, 10, 5, -1 }, "RWR", { 1, 2, 3 }, 0, 0, 0 },
};

static void test_sample(gconstpointer data)
{
    const Sample *s = data;
    Reshape how = { .repeat = s->repeat, .max_gap_ns = s->max_gap_ns };
    g_autoptr(GError) error = NULL;
    Workload *workload;
    TraceRecord record;
    size_t i = 0;

    g_assert_true(g_file_set_contents(path, s->text, -1, NULL));
    g_assert_true(!s->skip || reshape_parse_skip(&how, s->skip, NULL));
    workload = reshape_new(&how, open_trace, (void *)"alibaba", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(workload->format, ==, "alibaba");
    while (workload->next(workload, &record, &error)) {
        int64_t wanted_ns = s->times_us[i] * 1000;

        /* The mean gap of the run whose gaps are cut is 12.5 us. */
        g_assert_cmpint(record.time_ns / 1000, ==, wanted_ns / 1000);
        g_assert_cmpint(record.op, ==, s->ops[i] == 'R' ? SCARP_OP_READ
                                                        : SCARP_OP_WRITE);
        g_assert_cmpuint(record.line, ==, s->lines[i]);
        i++;
    }
    g_assert_no_error(error);
    g_assert_cmpint(s->times_us[i], ==, -1);
    g_assert_cmpuint(workload->skipped_requests, ==, s->skipped);
    g_assert_cmpuint(workload->gaps_cut, ==, s->gaps);
    g_assert_cmpint(workload->gaps_cut_ns, ==, s->gaps_ns);
    workload->free(workload);
}

/* Lines and warnings are the file's: repeating it does not multiply them. */
static void test_lines_count_once(void)
{
    Reshape how = { .repeat = 3 };
    Workload *workload;
    TraceRecord record;
    uint32_t n = 0;

    g_assert_true(g_file_set_contents(
        path, "device_id,opcode,offset,length,timestamp\n0,R,0,0,5\n"
              "0,R,0,512,9\n0,R,0,512,3\n", -1, NULL));
    workload = reshape_new(&how, open_trace, NULL, NULL);
    workload->warn = warn;
    while (workload->next(workload, &record, NULL)) {
        n++;
    }
    g_assert_cmpuint(n, ==, 6);
    g_assert_cmpuint(warnings, ==, 1);
    g_assert_cmpuint(workload->skipped_lines, ==, 1);
    g_assert_cmpuint(workload->empty_requests, ==, 1);
    g_assert_cmpuint(workload->times_back, ==, 1);
    workload->free(workload);
}

static void test_refused(void)
{
    static const char *const bad[] = { "", "read", "reads,", "reads;writes" };
    Reshape how = { .repeat = 2 };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_false(reshape_parse_skip(&how, bad[i], &error));
        g_assert_nonnull(strstr(error->message,
                                "allowed: reads, writes, trims, flushes"));
    }
    g_assert_null(reshape_new(&how, open_trace, (void *)"nonsense", NULL));
}

int main(int argc, char **argv)
{
    g_autofree char *folder = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("scarp-reshape-XXXXXX", NULL);
    path = g_build_filename(folder, "trace", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        g_autofree char *name = g_strconcat("/reshape/", samples[i].name, NULL);

        g_test_add_data_func(name, &samples[i], test_sample);
    }
    g_test_add_func("/reshape/lines-count-once", test_lines_count_once);
    g_test_add_func("/reshape/refused", test_refused);
    status = g_test_run();
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    return status;
}
