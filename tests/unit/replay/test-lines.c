/*
 * Lines of traces that are nearly right: each field that is wrong is found.
 * What the replayer says of itself: its formats, generators and options.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "formats.h"
#include "options.h"

#include <string.h>

/* A good line of each format; the others have one field that is wrong. */
static const struct {
    const char *format;
    const char *lines[16];
} rows[] = {
    { "msr", {
        "128166372003061629,hm,0,Read,383496192,32768,1331",
        "x,hm,0,Read,383496192,32768,1331",
        "18446744073709551615,hm,0,Read,383496192,32768,1331",
        "128166372003061629,hm,4294967296,Read,383496192,32768,1331",
        "128166372003061629,hm,0,Get,383496192,32768,1331",
        "128166372003061629,hm,0,Read,-1,32768,1331",
        "128166372003061629,hm,0,Read,383496192,,1331",
        "128166372003061629,hm,0,Read,383496192",
        "128166372003061629,hm,0,Read,383496192,32768,1331,65536",
        "128166372003061629,hm,0,Read,383496192,32768,1331,1,1000000001",
    } },
    { "systor17", {
        "1456095145.13,0.8,R,0,512,512", "1456095145.x,0.8,R,0,512,512",
        "1456095145.13,0.8,Q,0,512,512", "1456095145.13,0.8,R,x,512,512",
        "1456095145.13,0.8,R,0,x,512", "1456095145.13,0.8,R,0,512,x",
        "1456095145.13,0.8,R,0,512",
    } },
    { "spc", {
        "0,20941264,8192,W,0.551706", "x,20941264,8192,W,0.551706",
        "0,x,8192,W,0.551706", "0,20941264,x,W,0.551706",
        "0,20941264,8192,X,0.551706", "0,20941264,8192,Write,0.551706",
        "0,20941264,8192,W,x", "0,20941264,8192,W",
    } },
    { "alibaba", {
        "419,W,8192,4096,1577808144360767", "x,W,8192,4096,1577808144360767",
        "419,X,8192,4096,1577808144360767",
        "419,Write,8192,4096,1577808144360767",
        "419,W,x,4096,1577808144360767", "419,W,8192,x,1577808144360767",
        "419,W,8192,4096,x", "419,W,8192,4096", "419,W,8192,4096,1577,0",
    } },
    { "tencent", {
        "1538323200,16,8,1,1063", "x,16,8,1,1063", "1538323200,x,8,1,1063",
        "1538323200,16,x,1,1063", "1538323200,16,8,2,1063",
        "1538323200,16,8,W,1063", "1538323200,16,8,1,x", "1538323200,16,8,1",
    } },
    { "vscsi", {
        "0,4096,1,write,16,1000", "x,4096,1,write,16,1000",
        "0,x,1,write,16,1000", "0,4096,1,inquiry,16,1000",
        "0,4096,1,write,x,1000", "0,4096,1,write,16,x", "0,4096,1,write,16",
    } },
    { "fiu", {
        "489966522969723 4270 nfsd 18579576 8 W 6 0 d6",
        "x 4270 nfsd 18579576 8 W 6 0 d6",
        "489966522969723 4270 nfsd x 8 W 6 0 d6",
        "489966522969723 4270 nfsd 18579576 x W 6 0 d6",
        "489966522969723 4270 nfsd 18579576 8 X 6 0 d6",
        "489966522969723 4270 nfsd 18579576 8 WR 6 0 d6",
        "489966522969723 4270 nfsd 18579576 8 W x 0 d6",
        "489966522969723 4270 nfsd 18579576 8 W 6 x d6",
        "489966522969723 4270 nfsd 18579576 8 W 4096 0 d6",
        "489966522969723 4270 nfsd 18579576 8 W 6 1048576 d6",
        "489966522969723 4270 nfsd 18579576 8 W 6",
    } },
    { "blkparse", {
        "8,16 3 5 0.000026421 3645 D R 4938888 + 256 [java]",
        "8,x 3 5 0.000026421 3645 D R 4938888 + 256 [java]",
        "4096,1 3 5 0.000026421 3645 D R 4938888 + 256 [java]",
        "8,1048576 3 5 0.000026421 3645 D R 4938888 + 256 [java]",
        "8,16 3 5 0.000026421 3645 D R x + 256 [java]",
        "8,16 3 5 0.000026421 3645 D R 4938888 + x [java]",
        "8,16 3 5 0.000026421 3645 D R 4938888 - 256 [java]",
        "8,16 3 5 0.000026421 3645 C R 4938888 + 256 [java]",
        "8,16 3 5 0.000026421 3645 DD R 4938888 + 256 [java]",
        "8,16 3 5 0.000026421 3645 D N 4938888 + 256 [java]",
        "8,16 3 5 0.000026421 3645 D R", "CPU0 (8,16):", "Total",
    } },
    { "mqsim", {
        "8938513000 4 264719034 16 0", "x 4 264719034 16 0",
        "8938513000 x 264719034 16 0", "8938513000 4 x 16 0",
        "8938513000 4 264719034 x 0", "8938513000 4 264719034 16 2",
        "8938513000 4 264719034 16 01", "8938513000 4 264719034 16",
    } },
    { "disksim", {
        "26.214000\t0\t303574\t1\t0", "x\t0\t303574\t1\t0",
        "26.214000\tx\t303574\t1\t0", "26.214000\t0\tx\t1\t0",
        "26.214000\t0\t303574\tx\t0", "26.214000\t0\t303574\t1\tx",
        "26.214000\t0\t303574\t1",
    } },
    { "heimdall", {
        "0.000 0 11562803200 4096 1", "x 0 11562803200 4096 1",
        "0.000 x 11562803200 4096 1", "0.000 0 x 4096 1",
        "0.000 0 11562803200 x 1", "0.000 0 11562803200 4095 1",
        "0.000 0 11562803200 4096 x", "0.000 0 11562803200 4096",
    } },
    { "fio2", {
        "/dev/a write 0 4096", "/dev/a write x 4096", "/dev/a write 0 x",
        "/dev/a write 0", "/dev/a wrote 0 4096", "/dev/a",
    } },
    { "fio3", {
        "1 /dev/a trim 0 4096", "x /dev/a trim 0 4096", "1 /dev/a",
        "1 /dev/a trim 0", "1 /dev/a trim x 4096", "1 /dev/a cut 0 4096",
    } },
};

static TraceVerdict parse(const TraceFormat *format, const char *line)
{
    g_autofree char *text = g_strdup(line);
    TraceRecord record = { 0 };
    TraceState state = { .action = 'D' };
    TraceVerdict verdict = format->parse(&state, text, &record);

    trace_state_clear(&state);
    return verdict;
}

static void test_lines(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        const TraceFormat *format = trace_format_find(rows[i].format, &error);

        g_assert_no_error(error);
        g_assert_cmpint(parse(format, rows[i].lines[0]), ==, TRACE_RECORD);
        for (size_t k = 1; k < G_N_ELEMENTS(rows[i].lines); k++) {
            if (rows[i].lines[k]) {
                g_test_message("%s: %s", rows[i].format, rows[i].lines[k]);
                g_assert_cmpint(parse(format, rows[i].lines[k]), !=,
                                TRACE_RECORD);
            }
        }
    }
}

static void test_texts(void)
{
    g_autofree char *formats = trace_formats_text();
    g_autofree char *generators = gen_text();

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_nonnull(strstr(formats, rows[i].format));
    }
    g_assert_nonnull(strstr(generators, "uniform"));
    g_assert_nonnull(strstr(generators, "theta"));
}

static void test_options(void)
{
    static const char *const names[] = { "open", "closed", "think" };
    int64_t depth = 16, speed = 0;
    const OptionRange ranges[] = {
        { "depth", &depth, 1, 16 }, { "speed", &speed, 0, 10 },
    };
    g_autoptr(GError) error = NULL;
    uint32_t index;

    g_assert_true(options_in_range(ranges, 2, &error));
    speed = 11;
    g_assert_false(options_in_range(ranges, 2, &error));
    g_assert_cmpstr(error->message, ==, "--speed=11: must be from 0 to 10");
    g_clear_error(&error);
    depth = 0;
    g_assert_false(options_in_range(ranges, 2, &error));
    g_assert_cmpstr(error->message, ==, "--depth=0: must be from 1 to 16");
    g_clear_error(&error);

    g_assert_true(option_one_of("mode", "think", names, 3, &index, &error));
    g_assert_cmpuint(index, ==, 2);
    g_assert_false(option_one_of("mode", "shut", names, 3, &index, &error));
    g_assert_cmpstr(error->message, ==,
                    "--mode=shut: allowed: open, closed, think");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lines/each-field", test_lines);
    g_test_add_func("/lines/texts", test_texts);
    g_test_add_func("/lines/options", test_options);
    return g_test_run();
}
