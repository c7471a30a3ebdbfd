/*
 * Traces as they are found: what stands at their heads, what looks like another
 * format, what one line asks for.  All of them are made up here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace.h"

#include <glib/gstdio.h>
#include <string.h>

static char *folder;

typedef struct {
    int64_t time_ns;
    ScarpOp op;
    uint64_t offset_bytes, length_bytes;
    uint32_t device;
    bool fua;
    uint64_t line;
} Wanted;

typedef struct {
    const char *name;
    const char *format; /* NULL: sniffed */
    const char *text;
    const char *found;  /* the format's name */
    const char *also;   /* others that are named, or NULL */
    uint64_t head, empty, foreign;
    Wanted wanted[7];   /* up to the one without a line */
} Sample;

#define R SCARP_OP_READ
#define W SCARP_OP_WRITE
#define F SCARP_OP_FLUSH
#define T SCARP_OP_DEALLOCATE
#define NVME (259u << 20)

static const Sample samples[] = {
    /* blkparse: an F before the operation's letter, and one behind it. */
    { "blkparse/flush-and-fua", NULL,
      "259,7 0 1 0.000000000 55 D   W 2048 + 8 [a]\n"
      "259,7 0 2 0.002000000 55 D FWS [a]\n"
      "259,7 0 3 0.004000000 55 D WFS 6144 + 8 [a]\n"
      "259,7 0 4 0.006000000 55 D FWFS 8192 + 8 [a]\n"
      "259,7 0 5 0.008000000 55 D  FN [a]\n",
      "blkparse", NULL, 0, 0, 0,
      { { 0, W, 1048576, 4096, NVME | 7, false, 1 },
        { 2000000, F, 0, 0, NVME | 7, false, 2 },
        { 4000000, W, 3145728, 4096, NVME | 7, true, 3 },
        { 6000000, F, 0, 0, NVME | 7, false, 4 },
        { 6000000, W, 4194304, 4096, NVME | 7, true, 4 },
        { 8000000, F, 0, 0, NVME | 7, false, 5 } } },
    { "blkparse/flush-before-data", NULL,
      "8,0 0 1 0.1 55 Q FWSM 16 + 8 [a]\n8,0 0 2 0.2 55 Q FDS 16 + 8 [a]\n",
      "blkparse", NULL, 0, 0, 0,
      { { 0, F, 0, 0, 8 << 20, false, 1 },
        { 0, W, 8192, 4096, 8 << 20, false, 1 },
        { 100000000, F, 0, 0, 8 << 20, false, 2 },
        { 100000000, T, 8192, 4096, 8 << 20, false, 2 } } },
    { "blkparse/queue-only", NULL,
      "259,7 2 1 0.000010000 777 Q W 40960 + 16 [a]\n"
      "259,7 2 2 0.003000500 777 Q R 40960 + 16 [a]\n",
      "blkparse", NULL, 0, 0, 0,
      { { 0, W, 20971520, 8192, NVME | 7, false, 1 },
        { 2990500, R, 20971520, 8192, NVME | 7, false, 2 } } },
    { "blkparse/complete-only", NULL,
      "8,0 2 1 0.1 7 C W 40960 + 16 [0]\n8,0 2 2 0.2 7 C FWS 0 [0]\n"
      "8,0 2 3 0.3 7 C R 16 + 8 ( 5000) [0]\n",
      "blkparse", NULL, 0, 0, 0,
      { { 0, W, 20971520, 8192, 8 << 20, false, 1 },
        { 100000000, F, 0, 0, 8 << 20, false, 2 },
        { 200000000, R, 8192, 4096, 8 << 20, false, 3 } } },
    { "blkparse/named-action", "blkparse:C",
      "8,0 2 1 0.1 7 Q W 16 + 8 [a]\n8,0 2 2 0.2 7 D W 16 + 8 [a]\n"
      "8,0 2 3 0.3 7 C W 24 + 8 [0]\n",
      "blkparse", NULL, 0, 0, 0, { { 0, W, 12288, 4096, 8 << 20, false, 3 } } },
    { "blkparse/major-and-minor", NULL,
      "8,0 0 1 0.1 7 D R 8 + 8 [a]\n259,0 0 1 0.1 7 D R 8 + 8 [a]\n",
      "blkparse", NULL, 0, 0, 0,
      { { 0, R, 4096, 4096, 8 << 20, false, 1 },
        { 0, R, 4096, 4096, NVME, false, 2 } } },
    { "blkparse/zones", NULL,
      "8,0 0 1 0.1 7 D ZR 8 + 8 [a]\n8,0 0 1 0.1 7 D R 8 + 8 [a]\n",
      "blkparse", NULL, 0, 0, 1, { { 0, R, 4096, 4096, 8 << 20, false, 2 } } },
    /* fio: waits add up, each file is a device. */
    { "fio2/wait", NULL,
      "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a write 65536 8192\n"
      "/dev/a wait 2500 0\n/dev/a read 65536 8192\n/dev/a wait 500 0\n"
      "/dev/a sync 0 0\n/dev/a sync_file_range 0 4096\n/dev/a close\n",
      "fio2", NULL, 0, 0, 1,
      { { 0, W, 65536, 8192, 0, false, 4 },
        { 2500000, R, 65536, 8192, 0, false, 6 },
        { 3000000, F, 0, 0, 0, false, 8 } } },
    { "fio2/files", NULL,
      "fio version 2 iolog\n/dev/a add\n/dev/b add\n/dev/b trim 0 512\n"
      "/dev/a read 0 512\n/dev/c datasync\n",
      "fio2", NULL, 0, 0, 0,
      { { 0, T, 0, 512, 1, false, 4 }, { 0, R, 0, 512, 0, false, 5 },
        { 0, F, 0, 0, 2, false, 6 } } },
    { "fio3/files", NULL,
      "fio version 3 iolog\n0 a add\n0 b add\n5 b write 0 512\n9 a wait 100 0\n"
      "9 a read 0 512\n9 a sync_file_range 0 9\n9 b read 0 0\n",
      "fio3", NULL, 0, 1, 2,
      { { 0, W, 0, 512, 1, false, 4 }, { 4000, R, 0, 512, 0, false, 6 } } },
    /* What stands before the first request. */
    { "head/names", NULL, "time,resp,op,lun,at,n\n1.5,0.1,R,0,512,512\n",
      "systor17", NULL, 1, 0, 0, { { 0, R, 512, 512, 0, false, 2 } } },
    { "head/remarks", NULL,
      "# a\n// b\n; c\n\n132000000000000000,a,0,Write,0,4096,0\n"
      "132000000000100000,a,0,Read,0,4096,0\n# d\n",
      "msr", NULL, 0, 0, 0,
      { { 0, W, 0, 4096, 0, false, 5 },
        { 10000000, R, 0, 4096, 0, false, 6 } } },
    { "head/mark", NULL, "\xef\xbb\xbf" "0,8,512,R,0.5\n",
      "spc", NULL, 0, 0, 0, { { 0, R, 4096, 512, 0, false, 1 } } },
    { "head/mark-and-version", NULL,
      "\xef\xbb\xbf" "fio version 2 iolog\r\na read 0 512\r\n",
      "fio2", NULL, 0, 0, 0, { { 0, R, 0, 512, 0, false, 2 } } },
    { "head/named-format", "alibaba",
      "device_id,opcode,offset,length,timestamp\n3,R,512,1024,7\n",
      "alibaba", NULL, 1, 0, 0, { { 0, R, 512, 1024, 3, false, 2 } } },
    { "head/own-table", "csv:time=1:100ns,op=4,offset=5,length=6,device=3",
      "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
      "132000000000000000,a,0,Write,0,4096,0\n"
      "132000000000100000,a,0,Read,0,4096,0\n",
      "csv", NULL, 1, 0, 0,
      { { 0, W, 0, 4096, 0, false, 2 },
        { 10000000, R, 0, 4096, 0, false, 3 } } },
    { "empty-requests", NULL,
      "128166385295514663,a,0,Write,0,0,1\n"
      "128166385295514664,a,0,Read,0,512,1\n",
      "msr", NULL, 0, 1, 0, { { 0, R, 0, 512, 0, false, 2 } } },
    /* One text, several formats. */
    { "named/disksim", "disksim", "1 0 0 8 0\n2 0 8 8 1\n", "disksim", NULL,
      0, 0, 0,
      { { 0, W, 0, 4096, 0, false, 1 },
        { 1000000, R, 4096, 4096, 0, false, 2 } } },
    { "named/heimdall", "heimdall", "1 0 0 512 0\n", "heimdall", NULL, 0, 0, 0,
      { { 0, W, 0, 512, 0, false, 1 } } },
    { "sniffed/few", NULL, "1 0 0 8 0\n2 0 8 8 1\n", "mqsim", NULL, 0, 0, 0,
      { { 0, W, 0, 4096, 0, false, 1 }, { 1, R, 4096, 4096, 0, false, 2 } } },
};

static char *put(const void *text, size_t n)
{
    char *path = g_build_filename(folder, "trace", NULL);

    g_assert_true(g_file_set_contents(path, text, n, NULL));
    return path;
}

static void same(const TraceRecord *found, const Wanted *wanted)
{
    g_assert_cmpint(found->time_ns, ==, wanted->time_ns);
    g_assert_cmpint(found->op, ==, wanted->op);
    g_assert_cmpuint(found->offset_bytes, ==, wanted->offset_bytes);
    g_assert_cmpuint(found->length_bytes, ==, wanted->length_bytes);
    g_assert_cmpuint(found->device, ==, wanted->device);
    g_assert_cmpint(found->fua, ==, wanted->fua);
    g_assert_cmpuint(found->line, ==, wanted->line);
}

static void read_sample(const Sample *s, const void *text, size_t n)
{
    g_autofree char *path = put(text, n);
    g_autoptr(GError) error = NULL;
    Workload *workload = trace_open(path, s->format, &error);
    const Wanted *wanted = s->wanted;
    TraceRecord record;

    g_assert_no_error(error);
    while (workload->next(workload, &record, &error)) {
        same(&record, wanted++);
    }
    g_assert_no_error(error);
    g_assert_cmpuint(wanted->line, ==, 0);
    g_assert_cmpstr(workload->format, ==, s->found);
    g_assert_cmpstr(workload->also, ==, s->also);
    g_assert_cmpint(workload->sniffed > 0, ==, !s->format);
    g_assert_cmpuint(workload->skipped_lines, ==, s->head);
    g_assert_cmpuint(workload->empty_requests, ==, s->empty);
    g_assert_cmpuint(workload->foreign_lines, ==, s->foreign);
    workload->free(workload);
}

static void test_sample(gconstpointer data)
{
    const Sample *s = data;

    read_sample(s, s->text, strlen(s->text));
}

/* PowerShell's output: each letter has a zero byte beside it. */
static void test_wide(void)
{
    static const Sample s = {
        NULL, NULL, NULL, "spc", NULL, 0, 0, 0,
        { { 0, R, 4096, 512, 0, false, 1 },
          { 500000000, W, 512, 512, 1, false, 2 } },
    };
    static const char text[] = "0,8,512,R,0.5\r\n1,1,512,W,1\r\n";

    for (int big = 0; big < 2; big++) {
        g_autoptr(GString) wide = g_string_new(NULL);

        g_string_append(wide, big ? "\xfe\xff" : "\xff\xfe");
        for (const char *c = text; *c; c++) {
            g_string_append_len(wide, (char[]) { big ? 0 : *c, big ? *c : 0 },
                                2);
        }
        read_sample(&s, wide->str, wide->len);
    }
}

/* Five columns that are made by a rule: which format they are taken for. */
static void sniffs(const char *time, uint64_t step, uint64_t count,
                   const char *found, const char *also, uint32_t records)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    Workload *workload;

    for (uint64_t i = 0; i < records; i++) {
        g_string_append_printf(text, "%" G_GUINT64_FORMAT "%s 0 %"
                               G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %d\n",
                               i * step, time, i * count, count, (int)(i % 2));
    }
    path = put(text->str, text->len);
    workload = trace_open(path, NULL, &error);
    g_assert_no_error(error);
    g_test_message("%s %" G_GUINT64_FORMAT ": %s", time, count,
                   workload->format);
    g_assert_cmpstr(workload->format, ==, found);
    g_assert_cmpstr(workload->also, ==, also);
    g_assert_cmpuint(workload->sniffed, ==, records);
    workload->free(workload);
}

static void test_sizes(void)
{
    /* 256 KiB and 1 MiB in sectors are lengths that bytes could have, too. */
    sniffs(".000", 10, 512, "disksim", "heimdall", 40);
    sniffs(".000", 10, 2048, "disksim", "heimdall", 40);
    sniffs(".000", 10, 8, "disksim", NULL, 40);
    sniffs(".5", 10, 4096, "heimdall", "disksim", 40);
    sniffs(".5", 10, 65536, "heimdall", NULL, 40);
    /* Whole times: of ten requests a second, or of a hundred million. */
    sniffs("", 10, 512, "disksim", "heimdall, mqsim, ssdsim", 40);
    sniffs("", 10, 8, "disksim", "mqsim, ssdsim", 40);
    sniffs("", 10000, 8, "mqsim", "disksim", 40);
    sniffs("", 100000000, 8, "mqsim", NULL, 40);
}

/* The line that tells it from another format is far behind. */
static void test_enough_records(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *path = NULL;
    Workload *workload;

    for (int i = 0; i < 4000; i++) {
        g_string_append_printf(text, "%d.5 0 %d 4096 1\n", i, i * 4096);
    }
    g_string_append(text, "4000.5 0 8 3 1\n");
    path = put(text->str, text->len);
    workload = trace_open(path, NULL, NULL);
    g_assert_cmpstr(workload->format, ==, "disksim");
    g_assert_cmpuint(workload->sniffed, ==, 4001);
    g_assert_null(workload->also);
    workload->free(workload);
}

/* A trace with one line that is none: the line is named, not the format. */
static void test_damaged(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    TraceRecord record;
    Workload *workload;

    for (int i = 0; i < 20; i++) {
        g_string_append_printf(text, "%d,a,0,Read,0,512,0\n", 1000 + i);
    }
    g_string_append(text, "what is this 7\n");
    path = put(text->str, text->len);
    workload = trace_open(path, NULL, &error);
    g_assert_no_error(error);
    while (workload->next(workload, &record, &error)) {
        g_assert_cmpuint(record.length_bytes, ==, 512);
    }
    g_assert_nonnull(strstr(error->message, "trace:21: 'what is this 7' is "
                                            "not a line of msr"));
    workload->free(workload);
}

/* Such lines are left out while that is allowed; the next one is named. */
static void test_broken_allowed(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *path = NULL;

    for (int i = 0; i < 20; i++) {
        g_string_append_printf(text, "%d,a,0,Read,0,512,0\n", 1000 + i);
    }
    g_string_append(text, "what is this 7\n2000,a,0,Read,0,512,0\n8,b\n");
    path = put(text->str, text->len);
    for (uint64_t allowed = 0; allowed < 3; allowed++) {
        g_autoptr(GError) error = NULL;
        Workload *workload = trace_open(path, NULL, &error);
        TraceRecord record;
        int n = 0;

        g_assert_no_error(error);
        workload->broken_allowed = allowed;
        while (workload->next(workload, &record, &error)) {
            n++;
        }
        g_assert_cmpint(n, ==, allowed ? 21 : 20);
        g_assert_cmpuint(workload->broken_lines, ==, allowed);
        if (allowed < 2) {
            g_assert_nonnull(strstr(error->message,
                                    allowed ? "trace:23: '8,b' is not"
                                            : "trace:21: 'what is this 7'"));
        } else {
            g_assert_no_error(error);
        }
        workload->free(workload);
    }
}

static void test_bad_action(void)
{
    for (int i = 0; i < 3; i++) {
        static const char *const bad[] = { "blkparse:", "blkparse:X",
                                           "blkparse:QD" };
        g_autofree char *path = put("8,0 0 1 0.1 7 D R 8 + 8 [a]\n", 28);
        g_autoptr(GError) error = NULL;

        g_assert_null(trace_open(path, bad[i], &error));
        g_assert_nonnull(strstr(error->message, "allowed: the actions Q, D"));
    }
}

int main(int argc, char **argv)
{
    g_autofree char *file = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("scarp-found-XXXXXX", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        g_autofree char *name = g_strconcat("/found/", samples[i].name, NULL);

        g_test_add_data_func(name, &samples[i], test_sample);
    }
    g_test_add_func("/found/head/wide", test_wide);
    g_test_add_func("/found/sniffed/sizes", test_sizes);
    g_test_add_func("/found/sniffed/enough-records", test_enough_records);
    g_test_add_func("/found/sniffed/damaged", test_damaged);
    g_test_add_func("/found/sniffed/broken-allowed", test_broken_allowed);
    g_test_add_func("/found/named/bad-action", test_bad_action);
    status = g_test_run();
    file = g_build_filename(folder, "trace", NULL);
    g_unlink(file);
    g_rmdir(folder);
    g_free(folder);
    return status;
}
