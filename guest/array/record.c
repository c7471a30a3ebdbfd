/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char ops[] = ARRAY_RECORD_OPS;

void array_record_begin(FILE *stream, const ArrayConfig *config)
{
    if (!stream) {
        return;
    }
    fprintf(stream, "%s %" PRIu32 " %" PRIu64 " %" PRIu64 " ",
            ARRAY_RECORD_MAGIC, config->n_drives, config->drive_bytes[0],
            config->data_offset_bytes);
    for (size_t i = 0; i < array_key_count; i++) {
        const ArrayKey *key = &array_keys[i];
        const uint64_t *value =
            (const uint64_t *)((const char *)config + key->offset);

        fprintf(stream, "%s%s=%" PRIu64, i ? "," : "", key->name, *value);
    }
    fputc('\n', stream);
}

void array_record_submit(FILE *stream, int64_t now_ns, const ArrayRequest *r)
{
    if (stream) {
        fprintf(stream, "S %" PRId64 " %c %d %" PRIu64 " %" PRIu64 "\n",
                now_ns, ops[r->op], r->fua, r->offset_bytes, r->length_bytes);
    }
}

void array_record_io_done(FILE *stream, int64_t now_ns, const ArrayIo *io,
                          int error)
{
    if (stream) {
        fprintf(stream, "D %" PRId64 " %" PRIu32 " %" PRIu32 " %d\n", now_ns,
                io->drive, io->slot, error);
    }
}

void array_record_issue_line(char *line, const ArrayIo *io)
{
    snprintf(line, ARRAY_RECORD_LINE, "i %c %d %" PRIu32 " %" PRIu32 " %"
             PRIu64 " %" PRIu64, ops[io->op], io->low, io->drive, io->slot,
             io->offset_bytes, io->length_bytes);
}

void array_record_done_line(char *line, const ArrayRequest *r)
{
    snprintf(line, ARRAY_RECORD_LINE, "e %c %" PRIu64 " %" PRIu64 " %d",
             ops[r->op], r->offset_bytes, r->length_bytes, r->error);
}

void array_record_issue(FILE *stream, const ArrayIo *io)
{
    char line[ARRAY_RECORD_LINE];

    if (stream) {
        array_record_issue_line(line, io);
        fprintf(stream, "%s\n", line);
    }
}

void array_record_done(FILE *stream, const ArrayRequest *r)
{
    char line[ARRAY_RECORD_LINE];

    if (stream) {
        array_record_done_line(line, r);
        fprintf(stream, "%s\n", line);
    }
}

int array_record_end(FILE **stream)
{
    int code = 0;

    if (*stream) {
        /* ferror() tells that a line failed, but not why */
        code = ferror(*stream) ? EIO : 0;
        code = fclose(*stream) ? errno : code;
        *stream = NULL;
    }
    return code;
}
