/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "linelog.h"

#include <glib.h>

void linelog_write_header(FILE *file)
{
    fputs("line,job\n", file);
}

void linelog_write(FILE *file, uint64_t line, const char *job)
{
    if (line) {
        fprintf(file, "%" G_GUINT64_FORMAT, line);
    }
    fputc(',', file);
    if (job) {
        fputc('"', file);
        for (; *job; job++) {
            if (*job == '"') {
                fputc('"', file);
            }
            fputc(*job, file);
        }
        fputc('"', file);
    }
    fputc('\n', file);
}
