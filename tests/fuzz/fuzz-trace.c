/*
 * libFuzzer: any bytes as a trace of any format, or sniffed.
 *
 * The first byte chooses the format; the rest is the file.  It lies in memory:
 * trace_open() takes a path.  One choice is a table whose first line is its
 * description.  Built without clang, a driver of our own mutates the seeds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fuzz.h"
#include "trace.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const formats[] = {
    NULL, "msr", "systor17", "spc", "fiu", "blkparse", "fio2", "fio3", "mqsim",
    "heimdall", "disksim", "cmdlog",
    "csv:time=1:ms,op=3,offset=4:sectors,length=2:KiB,device=6,header=1", NULL,
    "alibaba", "tencent", "vscsi", "etw", "msr-header", "blkparse:C",
};
#define DESCRIBED 13 /* a table whose first line is its description */

/* The format that the first byte chooses, and that is after the last. */
static char *choose(const uint8_t *data, size_t size)
{
    size_t choice = (uint8_t)(*data - '0') % G_N_ELEMENTS(formats);
    const uint8_t *end = memchr(data, '\n', size);

    if (choice == DESCRIBED && end) {
        g_autofree char *text = g_strndup((const char *)data + 1,
                                          end - data - 1);

        return g_strconcat("csv:", text, NULL);
    }
    return g_strdup(formats[choice]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *path = NULL, *format = NULL;
    g_autoptr(GError) error = NULL;
    Workload *workload;
    TraceRecord record;
    int fd = memfd_create("trace", MFD_CLOEXEC);

    if (fd < 0 || !size ||
        write(fd, data + 1, size - 1) != (ssize_t)size - 1) {
        close(fd);
        return 0;
    }
    path = g_strdup_printf("/proc/self/fd/%d", fd);
    format = choose(data, size);
    workload = trace_open(path, format, &error);
    g_assert_true(!workload == !!error);
    while (workload && workload->next(workload, &record, &error)) {
        /* What a replay relies on */
        g_assert_cmpuint(record.op, <, SCARP_OP__COUNT);
        g_assert_cmpuint(record.length_bytes, <=, G_MAXUINT32);
        g_assert_cmpuint(record.offset_bytes, <=, G_MAXINT64);
    }
    g_assert_true(!error || !strchr(error->message, '\n'));
    if (workload) {
        workload->free(workload);
    }
    close(fd);
    return 0;
}
