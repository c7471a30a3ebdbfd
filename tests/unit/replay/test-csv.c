/*
 * Traces that are tables of the user's own, and times of traces that are odd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace.h"

#include <glib/gstdio.h>
#include <string.h>

static char *folder;
static GPtrArray *warnings;

static void warn(const char *text)
{
    g_ptr_array_add(warnings, g_strdup(text));
}

/* The records of a file with this text, in an array; NULL and *error. */
static GArray *records_of(const char *format, const char *text,
                          Workload *counts, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "t", NULL);
    GArray *records = g_array_new(false, false, sizeof(TraceRecord));
    GError *problem = NULL;
    Workload *workload;
    TraceRecord record;

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    workload = trace_open(path, format, &problem);
    g_assert_true(!workload == !!problem);
    if (workload) {
        workload->warn = warn;
    }
    while (workload && workload->next(workload, &record, &problem)) {
        g_array_append_val(records, record);
    }
    if (workload && counts) {
        *counts = *workload;
    }
    if (workload) {
        workload->free(workload);
    }
    if (problem) {
        g_array_unref(records);
        g_propagate_error(error, problem);
        return NULL;
    }
    return records;
}

typedef struct {
    const char *format, *text;
    int64_t time_ns;      /* of the second of two requests */
    ScarpOp op;
    uint64_t offset_bytes, length_bytes;
    uint32_t device;
    uint16_t stream;
} Sample;

static const Sample samples[] = {
    { "csv:time=1,op=3,offset=4,length=5", "10,x,R,0,512\n10.5,y,w,4096,8192\n",
      500000000, SCARP_OP_WRITE, 4096, 8192, 0, 0 },
    { "csv:offset=1:sectors,length=2:KiB,op=3,time=4:us,device=5,stream=6",
      "0,1,read,7,0,0\n8,4,Write,9.5,3,2,more\n",
      2500, SCARP_OP_WRITE, 4096, 4096, 3, 2 },
    { "csv:op=2,offset=3:4096,length=4:4096,time=1:100ns,header=2",
      "a,b,c,d\n-----\n\n# a remark\n5,discard,0,1\n15,trim,3,2\n",
      1000, SCARP_OP_DEALLOCATE, 12288, 8192, 0, 0 },
    { "csv:time=1:ms,op=2,offset=3,length=4,separator=semicolon,read=2,write=1",
      "1;1;0;512\n\"3\"; \"2\" ;512;512\n",
      2000000, SCARP_OP_READ, 512, 512, 0, 0 },
    { "csv:time=1:ns,op=2,offset=3,length=4,separator=space",
      "  1 R 0 512\n9    SYNC   -   -\n", 8, SCARP_OP_FLUSH, 0, 0, 0, 0 },
    { "csv:op=1,offset=2,length=3,separator=tab,flush=barrier,read=read",
      "read\t0\t512\nbarrier\t\t\n", 0, SCARP_OP_FLUSH, 0, 0, 0, 0 },
    { "csv:op=1,offset=2,length=3,separator=bar", "R|0|1\nR|1|2\n",
      0, SCARP_OP_READ, 1, 2, 0, 0 },
};

static void test_good(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        const Sample *s = &samples[i];
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) found = records_of(s->format, s->text, NULL, &error);
        const TraceRecord *r;

        g_assert_no_error(error);
        g_assert_cmpuint(found->len, ==, 2);
        r = &g_array_index(found, TraceRecord, 1);
        g_assert_cmpint(r->time_ns, ==, s->time_ns);
        g_assert_cmpint(r->op, ==, s->op);
        g_assert_cmpuint(r->offset_bytes, ==, s->offset_bytes);
        g_assert_cmpuint(r->length_bytes, ==, s->length_bytes);
        g_assert_cmpuint(r->device, ==, s->device);
        g_assert_cmpuint(r->stream, ==, s->stream);
    }
}

static void fails(const char *format, const char *text, const char *says)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(records_of(format, text, NULL, &error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
    g_assert_null(strchr(error->message, '\n'));
}

static void test_bad_descriptions(void)
{
    static const struct {
        const char *format, *says;
    } bad[] = {
        { "csv:", "'op' is missing" },
        { "csv:time", "KEY=VALUE" },
        { "csv:op=1,offset=2", "'length' is missing" },
        { "csv:offset=1,length=2", "'op' is missing" },
        { "csv:op=0,offset=2,length=3", "op=0: allowed: a column from 1 to 64" },
        { "csv:op=65,offset=2,length=3", "a column from 1 to 64" },
        { "csv:op=x,offset=2,length=3", "op=x" },
        { "csv:op=1:s,offset=2,length=3", "a column without a unit" },
        { "csv:op=1,offset=2:s,length=3", "bytes, sectors, KiB" },
        { "csv:op=1,offset=2:0,length=3", "offset=0" },
        { "csv:op=1,offset=2:1048577,length=3", "up to 1048576" },
        { "csv:time=4:KiB,op=1,offset=2,length=3", "s, ms, us, ns, 100ns" },
        { "csv:colour=1", "colour=1: allowed: the keys time, op" },
        { "csv:separator=x,op=1,offset=2,length=3", "comma, semicolon" },
        { "csv:header=-1,op=1,offset=2,length=3", "header=-1" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        fails(bad[i].format, "R,0,512\n", bad[i].says);
    }
}

static void test_bad_lines(void)
{
    const char *format = "csv:time=4,op=1,offset=2:sectors,length=3,stream=5";
    static const struct {
        const char *line, *says;
    } bad[] = {
        { "R,0,512,1", "t:2: 'R,0,512,1' is not a line of csv (4 columns, 5 "
                       "needed)" },
        { "X,0,512,1,0", "(column 1, op: 'X')" },
        { "R,-1,512,1,0", "(column 2, offset: '-1')" },
        { "R,99999999999999999,512,1,0", "column 2, offset" },
        { "R,0,1e3,1,0", "column 3, length" },
        { "R,0,4294967296,1,0", "at most 4294967295" },
        { "R,0,512,noon,0", "(column 4, time: 'noon')" },
        { "R,0,512,1,65536", "column 5, stream" },
        { "R,0,\x01\x02,1,0", "(column 3, length: '?" "?')" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *text = g_strdup_printf("R,0,512,0,0\n%s\n",
                                                bad[i].line);

        fails(format, text, bad[i].says);
    }
    /* With a word for an operation, no other is guessed. */
    fails("csv:op=1,offset=2,length=3,read=1", "1,0,512\nR,0,512\n",
          "t:2: ");
    fails(NULL, "some,thing,else\n", "msr, spc, alibaba");
    fails(NULL, "some,thing,else\n", "csv:time=1,op=2,offset=3,length=4");
}

/* An absolute time among relative ones was a pause of decades. */
static void test_odd_times(void)
{
    const char *format = "csv:time=1,op=2,offset=3,length=4";
    Workload counts;
    g_autoptr(GArray) found = records_of(
        format, "1,R,0,512\n86401,R,0,512\n172801.5,R,0,512\n"
                "172800.25,R,0,512\n1700000000,R,0,512\n5,R,0,512\n",
        &counts, NULL);

    g_assert_cmpuint(found->len, ==, 6);
    g_assert_cmpuint(counts.times_ahead, ==, 2);
    g_assert_cmpuint(counts.times_back, ==, 2);
    /* Each kind once: exactly a day is none. */
    g_assert_cmpuint(warnings->len, ==, 2);
    g_assert_nonnull(strstr(warnings->pdata[0], "t:3: time jumps ahead by 1 "));
    g_assert_nonnull(strstr(warnings->pdata[1],
                            "t:4: time goes back by 1.250000 s"));
    g_ptr_array_set_size(warnings, 0);
}

static void test_blkparse(void)
{
    g_autoptr(GArray) found = records_of(
        NULL, "8,16 3 5 0.000000010 3645 D R 8 + 8 [a]\n"
              "8,16 3 6 1284750000.5 3645 D R 16 + 8 [a]\n"
              "8,16 3 7 0.000000030 3645 D R 24 + 8 [a]\n", NULL, NULL);

    g_assert_cmpuint(found->len, ==, 3);
    g_assert_cmpuint(warnings->len, ==, 2);
    g_assert_nonnull(strstr(warnings->pdata[0],
                            "t:2: time jumps ahead by 14869 days"));
    g_assert_nonnull(strstr(warnings->pdata[1], "t:3: time goes back by "));
    g_ptr_array_set_size(warnings, 0);
}

int main(int argc, char **argv)
{
    g_autofree char *file = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("scarp-csv-XXXXXX", NULL);
    warnings = g_ptr_array_new_with_free_func(g_free);
    g_test_add_func("/csv/good", test_good);
    g_test_add_func("/csv/bad-descriptions", test_bad_descriptions);
    g_test_add_func("/csv/bad-lines", test_bad_lines);
    g_test_add_func("/trace-times/odd", test_odd_times);
    g_test_add_func("/trace-times/blkparse", test_blkparse);
    status = g_test_run();
    file = g_build_filename(folder, "t", NULL);
    g_unlink(file);
    g_rmdir(folder);
    g_free(folder);
    g_ptr_array_unref(warnings);
    return status;
}
