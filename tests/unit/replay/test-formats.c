/*
 * Trace formats, compressed input, command logs.  All fixtures are made here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"

#include <glib/gstdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static char *folder;

static char *put(const char *name, const void *data, size_t size)
{
    char *path = g_build_filename(folder, name, NULL);

    g_assert_true(g_file_set_contents(path, data, size, NULL));
    return path;
}

/* Reads all of a trace; the number of records, or -1 and *error. */
static int64_t read_all(const char *path, const char *format,
                        TraceRecord *first, TraceRecord *last, GError **error)
{
    GError *problem = NULL;
    Workload *workload = trace_open(path, format, error);
    TraceRecord record;
    int64_t n = 0;

    if (!workload) {
        return -1;
    }
    while (workload->next(workload, &record, &problem)) {
        *(n++ ? last : first) = record;
    }
    workload->free(workload);
    if (problem) {
        g_propagate_error(error, problem);
        return -1;
    }
    return n;
}

typedef struct {
    const char *format; /* sniffed, except ssdsim */
    const char *text;   /* two requests */
    const char *bad;    /* a line that is none */
    TraceRecord first, second;
} Sample;

#define RD(ns, at, length, dev) \
    { .time_ns = ns, .offset_bytes = at, .length_bytes = length, \
      .device = dev, .op = SCARP_OP_READ }
#define WR(ns, at, length, dev) \
    { .time_ns = ns, .offset_bytes = at, .length_bytes = length, \
      .device = dev, .op = SCARP_OP_WRITE }

/* One more column than the traces have. */
static const Sample with_streams = {
    "msr", "128166385295514663,hm,0,Write,0,2048,2833,3\n"
           "128166385295514878,hm,0,Read,512,4096,,0\n",
    "128166385295514878,hm,0,Write,512,4096,2617,65536\n",
    { .length_bytes = 2048, .op = SCARP_OP_WRITE, .stream = 3 },
    RD(21500, 512, 4096, 0),
};

static const Sample with_deadlines = {
    "msr", "128166385295514663,hm,0,Write,0,2048,2833,3,1500\n"
           "128166385295514878,hm,0,Read,512,4096,,0,0\n",
    "128166385295514878,hm,0,Write,512,4096,2617,0,1000000001\n",
    { .length_bytes = 2048, .op = SCARP_OP_WRITE, .stream = 3,
      .deadline_ns = 1500000 },
    RD(21500, 512, 4096, 0),
};

static const Sample samples[] = {
    { "msr", "128166385295514663,hm,0,Write,9056014336,2048,2833\n"
             "128166385295514878,hm,1,Read,512,4096,2617\n",
      "128166385295514878,hm,0,Wrote,512,x,2617\n",
      WR(0, 9056014336, 2048, 0), RD(21500, 512, 4096, 1) },
    { "systor17", "Timestamp,Response,IOType,LUN,Offset,Size\n"
                  "1456095145.133076000,0.000806000,R,2,4096,131072\n"
                  "1456095145.133077001,,W,2,8192,512\n",
      "1456095145.1,0.1,R,0,18446744073709551616,512\n",
      RD(0, 4096, 131072, 2), WR(1001, 8192, 512, 2) },
    { "spc", "0,20,8192,W,0.551706\n1,21,512,r,0.651706,extra\n",
      "0,20,8192,Q,0.5\n", WR(0, 10240, 8192, 0),
      RD(100000000, 10752, 512, 1) },
    { "fiu", "garbage at its head\n"
             "100 4270 nfsd 16 8 W 6 0 d6c75b\n160 1 a 8 8 R 6 1 0\n",
      "100 4270 nfsd 16 8 X 6 0 d6c75b\n",
      WR(0, 8192, 4096, 6 << 20), RD(60, 4096, 4096, 6 << 20 | 1) },
    { "blkparse", "  8,16   3        4     0.000000001  3645  I   R 8 + 8 [a]\n"
                  "  8,16   3        5     0.000000010  3645  D   R 8 + 8 [a]\n"
                  "  8,16   3        6     0.000000030  3645  D   WS 16 + 1 [b]\n"
                  "CPU0 (8,16):\n Reads Queued:   0,        0KiB\n",
      "  8,16   3        5     0.0000x  3645  D   R 8 + 8 [a]\n",
      RD(0, 4096, 4096, 8 << 20 | 16), WR(20, 8192, 512, 8 << 20 | 16) },
    { "fio2", "fio version 2 iolog\n/dev/a add\n/dev/a open\n"
              "/dev/a read 4096 512\n/dev/a write 0 8192\n/dev/a close\n",
      "/dev/a scribble 0 8192\n", RD(0, 4096, 512, 0), WR(0, 0, 8192, 0) },
    { "fio3", "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n"
              "5 /dev/a read 4096 512\n7 /dev/a write 0 8192\n9 /dev/a close\n",
      "9 /dev/a read 4096\n", RD(0, 4096, 512, 0), WR(2000, 0, 8192, 0) },
    { "mqsim", "938513000 4 100 16 0\n938513007 3 8 1 1\n",
      "938513000 4 100 16 2\n", WR(0, 51200, 8192, 4), RD(7, 4096, 512, 3) },
    { "ssdsim", "0 0 303567 7 0\n26214000 1 8 6 1\n", "0 0 303567 7\n",
      WR(0, 155426304, 3584, 0), RD(26214000, 4096, 3072, 1) },
    { "heimdall", "0.000 0 8192 4096 1\n22.810 1 512 512 0\n",
      "0.000 0 -1 4096 1\n", RD(0, 8192, 4096, 0), WR(22810000, 512, 512, 1) },
    { "alibaba", "419,W,8192,4096,1577808144360767\n"
                 "7,R,512,1024,1577808144361000\n",
      "7,R,512,1024,15778x\n", WR(0, 8192, 4096, 419),
      RD(233000, 512, 1024, 7) },
    { "tencent", "1538323200,16,8,1,1063\n1538323201,8,2,0,7\n",
      "1538323201,8,2,2,7\n", WR(0, 8192, 4096, 1063),
      RD(1000000000, 4096, 1024, 7) },
    { "vscsi", "#Vscsi Cmd Trace. (Trace Format Version 1)\n"
               "#Serial Number,IO Data Length,…\n"
               "0,4096,1,write,16,1000\n1,512,1,INQUIRY,0,1001\n"
               "2,512,1,read,8,1009\n",
      "3,512,1,read,8\n", WR(0, 8192, 4096, 0), RD(9000, 4096, 512, 0) },
    { "msr-header", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,"
                    "ResponseTime\n132000000000000000,own,0,Write,0,4096,0\n"
                    "132000000000100000,own,2,Read,512,4096,0\n",
      "132000000000100000,own,2,Read,512\n", WR(0, 0, 4096, 0),
      RD(10000000, 512, 4096, 2) },
    { "etw", "BeginHeader\n  DiskRead,  TimeStamp,  Process Name ( PID),  "
             "ByteOffset,   IOSize,  DiskNum\n  DiskWrite,  TimeStamp,  "
             "IOSize,  ByteOffset,  DiskNum\nEndHeader\n"
             "  DiskWrite,  10,  0x00001000,  0x2000,  1\n"
             "  FileIoRead,  11,  Unknown ( 0)\n"
             "  DiskRead,  30,  Unknown ( 0),  0x1000,  0x200,  0\n",
      "  DiskRead,  soon,  Unknown ( 0),  0x1000,  0x200,  0\n",
      WR(0, 8192, 4096, 1), RD(20000, 4096, 512, 0) },
    { "disksim", "26.214000\t0\t16\t1\t0\n78.643000\t0\t8\t1\t1\n",
      "26.2.4\t0\t16\t1\t0\n", WR(0, 8192, 512, 0), RD(52429000, 4096, 512, 0) },
};

static void same(const TraceRecord *a, const TraceRecord *b)
{
    g_assert_cmpint(a->time_ns, ==, b->time_ns);
    g_assert_cmpuint(a->offset_bytes, ==, b->offset_bytes);
    g_assert_cmpuint(a->length_bytes, ==, b->length_bytes);
    g_assert_cmpuint(a->device, ==, b->device);
    g_assert_cmpint(a->op, ==, b->op);
    g_assert_cmpint(a->fua, ==, b->fua);
    g_assert_cmpuint(a->stream, ==, b->stream);
    g_assert_cmpint(a->deadline_ns, ==, b->deadline_ns);
}

static void check(const Sample *s, const char *path, const char *format)
{
    g_autoptr(GError) error = NULL;
    TraceRecord first, second;
    int64_t n = read_all(path, format, &first, &second, &error);

    g_assert_no_error(error);
    g_assert_cmpint(n, ==, 2);
    same(&first, &s->first);
    same(&second, &s->second);
}

static void test_good(gconstpointer data)
{
    const Sample *s = data;
    g_auto(GStrv) lines = g_strsplit(s->text, "\n", -1);
    g_autofree char *crlf = g_strjoinv("\r\n", lines);
    g_autofree char *path = put("good", s->text, strlen(s->text));
    g_autofree char *windows = put("crlf", crlf, strlen(crlf));
    g_autofree char *uncut = put("uncut", s->text, strlen(s->text) - 1);
    const char *sniffed = strcmp(s->format, "ssdsim") ? NULL : s->format;

    check(s, path, s->format);
    check(s, path, sniffed);
    check(s, windows, sniffed);
    check(s, uncut, sniffed);
}

static void test_bad(gconstpointer data)
{
    const Sample *s = data;
    g_autofree char *text = g_strconcat(s->text, s->bad, NULL);
    g_autofree char *path = put("bad", text, strlen(text));
    g_autofree char *where = NULL;
    g_autoptr(GError) error = NULL;
    TraceRecord first, second;
    int line = 0;

    for (const char *c = text; *c; c++) {
        line += *c == '\n';
    }
    g_assert_cmpint(read_all(path, s->format, &first, &second, &error), ==, -1);
    where = g_strdup_printf("%s:%d: ", path, line);
    g_assert_true(g_str_has_prefix(error->message, where));
    g_assert_nonnull(strstr(error->message, s->format));
    g_assert_null(strchr(error->message, '\n'));
}

static void fails(const char *path, const char *format, const char *says)
{
    g_autoptr(GError) error = NULL;
    TraceRecord first, second;

    g_assert_cmpint(read_all(path, format, &first, &second, &error), ==, -1);
    g_assert_nonnull(error);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
}

static void test_odd_files(void)
{
    static const char huge[] = "0 0 0 99999999999999999999 1\n";
    static const char lengthy[] = "0,0,4294967296,W,0.5\n";
    static const char zeroes[] = "1 1 1\0 1 0\n";
    g_autofree char *empty = put("empty", "", 0);
    g_autofree char *text = put("text", "once upon a time\n\n", 18);
    g_autofree char *number = put("huge", huge, strlen(huge));
    g_autofree char *length = put("lengthy", lengthy, strlen(lengthy));
    g_autofree char *zero = put("zeroes", zeroes, sizeof(zeroes) - 1);
    g_autofree char *long_line = g_strnfill(200000, '7');
    g_autofree char *endless = put("endless", long_line, 200000);

    fails("/nonexistent", NULL, "/nonexistent");
    fails(empty, NULL, "is empty");
    fails(text, NULL, "of no format");
    fails(endless, NULL, "of no format");
    fails(text, "nonsense", "allowed: fio2, fio3, vscsi");
    fails(number, "mqsim", "huge:1: ");
    fails(length, "spc", "at most 4294967295");
    fails(endless, "msr", "endless:1: ");
    /* A zero byte separates; it does not hide what follows. */
    g_assert_cmpint(read_all(zero, "mqsim", &(TraceRecord) { 0 },
                             &(TraceRecord) { 0 }, NULL), ==, 1);
}

/* Enough text for several buffers, so that cut files are cut in the middle. */
static GString *long_trace(void)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < 20000; i++) {
        g_string_append_printf(text, "%u 0 %u 8 %u\n", i * 1000,
                               i * 2654435761u % 1000000, i % 2);
    }
    return text;
}

static int64_t length_of(const char *path, GError **error)
{
    return read_all(path, NULL, &(TraceRecord) { 0 }, &(TraceRecord) { 0 },
                    error);
}

static void check_compressed(const char *name, const char *data, size_t size)
{
    g_autofree char *whole = put(name, data, size);
    g_autofree char *cut = put("cut", data, size / 2);
    g_autofree char *flipped = g_memdup2(data, size);
    g_autofree char *twice = g_malloc(2 * size);
    g_autofree char *both = NULL, *damaged = NULL;

    g_assert_cmpint(length_of(whole, NULL), ==, 20000);
    fails(cut, NULL, "cut: ");
    memcpy(twice, data, size);
    memcpy(twice + size, data, size);
    both = put("twice", twice, 2 * size);
    g_assert_cmpint(length_of(both, NULL), ==, 40000);
    memset(flipped + size / 2, 0x55, 64);
    damaged = put("damaged", flipped, size);
    fails(damaged, NULL, "damaged");
}

static void test_gzip(void)
{
    g_autofree char *path = g_build_filename(folder, "make.gz", NULL);
    GString *text = long_trace();
    gzFile file = gzopen(path, "wb");
    g_autofree char *data = NULL;
    size_t size;

    g_assert_cmpint(gzwrite(file, text->str, text->len), ==, text->len);
    g_assert_cmpint(gzclose(file), ==, Z_OK);
    g_assert_true(g_file_get_contents(path, &data, &size, NULL));
    check_compressed("t.gz", data, size);
    g_string_free(text, true);
}

static void test_zstd(void)
{
    GString *text = long_trace();
    size_t room = ZSTD_compressBound(text->len), size;
    g_autofree char *data = g_malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();

    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size = ZSTD_compress2(context, data, room, text->str, text->len);
    g_assert_false(ZSTD_isError(size));
    ZSTD_freeCCtx(context);
    check_compressed("t.zst", data, size);
    g_string_free(text, true);
}

static void test_cmdlog(void)
{
    g_autofree char *path = g_build_filename(folder, "cmd.bin", NULL);
    g_autofree char *data = NULL, *cut = NULL;
    ScarpCmd cmd = { .op = SCARP_OP_WRITE, .fua = true, .stream = 3,
                     .offset_bytes = 4096, .length_bytes = 512,
                     .submit_ns = 700, .complete_ns = 900,
                     .deadline_ns = 730 };
    FILE *file = fopen(path, "wb");
    TraceRecord first, last;
    size_t size;

    /* In the order of completion; of two at one time the order decides. */
    cmdlog_write_header(file, SCARP_CAUSE__COUNT);
    cmdlog_write(file, &cmd, 2, SCARP_CAUSE__COUNT);
    cmd.fua = false;
    cmd.op = SCARP_OP_READ;
    cmdlog_write(file, &cmd, 1, SCARP_CAUSE__COUNT);
    cmd.submit_ns = 50;
    cmd.offset_bytes = 0;
    cmd.deadline_ns = SCARP_TIME_NEVER;
    cmdlog_write(file, &cmd, 0, SCARP_CAUSE__COUNT);
    fclose(file);
    g_assert_cmpint(read_all(path, NULL, &first, &last, NULL), ==, 3);
    g_assert_cmpint(first.time_ns, ==, 50);
    g_assert_cmpint(last.time_ns, ==, 700);
    g_assert_cmpint(last.op, ==, SCARP_OP_WRITE);
    g_assert_true(last.fua && !first.fua);
    g_assert_cmpint(last.stream, ==, 3);
    g_assert_cmpint(first.deadline_ns, ==, 0);
    g_assert_cmpint(last.deadline_ns, ==, 30); /* after its submission */
    g_assert_true(g_file_get_contents(path, &data, &size, NULL));
    cut = put("cut.bin", data, size - 1);
    fails(cut, NULL, "cut.bin:3: ends in the middle");
    g_free(cut);
    data[32 + 28] = 99; /* op */
    cut = put("op.bin", data, size);
    fails(cut, NULL, "op.bin:1: ");
    g_free(cut);
    data[32 + 28] = 0;
    data[32 + 40 + 7] = (char)0x80; /* a deadline before the submission */
    cut = put("deadline.bin", data, size);
    fails(cut, NULL, "deadline.bin:1: ");
    g_free(cut);
    data[32 + 40 + 7] = 0;
    data[16] = 2; /* the version before this one: rows without deadlines */
    ((CmdLogHeader *)data)->row_bytes -= 8;
    cut = put("old.bin", data, size);
    fails(cut, NULL, "another version");
    g_free(cut);
    cut = put("foreign.bin", "SCARPCM1", 8);
    fails(cut, NULL, "no command log");
}

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("scarp-replay-XXXXXX", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        g_autofree char *good = g_strconcat("/formats/good/",
                                            samples[i].format, NULL);
        g_autofree char *bad = g_strconcat("/formats/bad/", samples[i].format,
                                           NULL);

        g_test_add_data_func(good, &samples[i], test_good);
        g_test_add_data_func(bad, &samples[i], test_bad);
    }
    g_test_add_data_func("/formats/good/msr-streams", &with_streams, test_good);
    g_test_add_data_func("/formats/bad/msr-streams", &with_streams, test_bad);
    g_test_add_data_func("/formats/good/msr-deadlines", &with_deadlines,
                         test_good);
    g_test_add_data_func("/formats/bad/msr-deadlines", &with_deadlines,
                         test_bad);
    g_test_add_func("/input/odd-files", test_odd_files);
    g_test_add_func("/input/gzip", test_gzip);
    g_test_add_func("/input/zstd", test_zstd);
    g_test_add_func("/input/cmdlog", test_cmdlog);
    status = g_test_run();
    {
        GDir *dir = g_dir_open(folder, 0, NULL);

        for (const char *n; (n = g_dir_read_name(dir));) {
            g_autofree char *path = g_build_filename(folder, n, NULL);

            g_unlink(path);
        }
        g_dir_close(dir);
        g_rmdir(folder);
    }
    return status;
}
