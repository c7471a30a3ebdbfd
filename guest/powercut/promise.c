/*
 * Writes down, outside of the drive, which data the drive has promised to keep.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "promise.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

static int promises = -1;

static void begin(void)
{
    const char *folder = getenv("SCARP_OUT");
    char path[4096];

    if (!folder) {
        fprintf(stderr, "scarp-promise: SCARP_OUT is not set\n");
        exit(1);
    }
    snprintf(path, sizeof(path), "%s/promises", folder);
    promises = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (promises < 0) {
        perror(path);
        exit(1);
    }
}

void promise(const char *format, ...)
{
    /*
     * On the virtual clock the time-stamp counter is the time of the machine
     * and of the drive, in ns.
     */
    uint64_t now_ns = __rdtsc();
    char line[4096];
    int n = snprintf(line, sizeof(line), "%llu ", (unsigned long long)now_ns);
    va_list list;

    if (promises < 0) {
        begin();
    }
    va_start(list, format);
    n += vsnprintf(line + n, sizeof(line) - n - 1, format, list);
    va_end(list);
    if (n > (int)sizeof(line) - 2) {
        fprintf(stderr, "scarp-promise: a line of more than 4,000 bytes\n");
        exit(1);
    }
    line[n++] = '\n';
    /* a single write() keeps the line apart from those of other processes */
    if (write(promises, line, n) != n) {
        perror("promises");
        exit(1);
    }
}
