/*
 * A recorded run. Its command log is read and sorted; its data log is mapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rerun/record.h"

#include <string.h>

#define DATA_MAGIC "SCARPDT1"
#define DATA_HEADER_BYTES 16

static bool is_write(const CmdLogRow *row)
{
    return row->op == SCARP_OP_WRITE;
}

typedef struct {
    GArray *rows;
    uint64_t data_bytes;
} Reading;

static void keep_row(void *opaque, const CmdLogRow *in)
{
    Reading *reading = opaque;
    RerunRow row = { .cmd = *in, .data_at = reading->data_bytes,
                     .ended_as = reading->rows->len };

    g_array_append_val(reading->rows, row);
    reading->data_bytes += is_write(in) ? in->length_bytes : 0;
}

static int by_submission(gconstpointer a, gconstpointer b)
{
    const CmdLogRow *x = &((const RerunRow *)a)->cmd;
    const CmdLogRow *y = &((const RerunRow *)b)->cmd;
    uint32_t first = x->order & CMDLOG_ORDER_MASK;
    uint32_t second = y->order & CMDLOG_ORDER_MASK;

    if (x->submit_ns != y->submit_ns) {
        return x->submit_ns < y->submit_ns ? -1 : 1;
    }
    return (first > second) - (first < second);
}

static bool map_data(RerunRecord *record, const char *path, uint64_t bytes,
                     GError **error)
{
    uint64_t length;

    record->file = g_mapped_file_new(path, false, error);
    if (!record->file) {
        return false;
    }
    length = g_mapped_file_get_length(record->file);
    record->bytes = g_mapped_file_get_contents(record->file);
    if (length < DATA_HEADER_BYTES ||
        memcmp(record->bytes, DATA_MAGIC, strlen(DATA_MAGIC))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: no data log (" DATA_MAGIC ")", path);
        return false;
    }
    record->bytes += DATA_HEADER_BYTES;
    if (length - DATA_HEADER_BYTES != bytes) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: has %" G_GUINT64_FORMAT " bytes of writes, and the "
                    "command log %s speaks of %" G_GUINT64_FORMAT, path,
                    length - DATA_HEADER_BYTES, record->path, bytes);
        return false;
    }
    return true;
}

RerunRecord *rerun_record_open(const char *path, const char *data_path,
                               const char *changes_path, GError **error)
{
    RerunRecord *record = g_new0(RerunRecord, 1);
    Reading reading = { 0 };

    record->path = path;
    record->rows = g_array_new(false, false, sizeof(RerunRow));
    reading.rows = record->rows;
    record->changes = changes_path ? changes_read(changes_path, error) : NULL;
    if ((changes_path && !record->changes) ||
        !cmdlog_each(path, keep_row, &reading, error) ||
        (data_path &&
         !map_data(record, data_path, reading.data_bytes, error))) {
        rerun_record_free(record);
        return NULL;
    }
    if (!record->rows->len) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: no command was recorded", path);
        rerun_record_free(record);
        return NULL;
    }
    g_array_sort(record->rows, by_submission);
    return record;
}

void rerun_record_free(RerunRecord *record)
{
    g_array_unref(record->rows);
    g_clear_pointer(&record->changes, g_array_unref);
    g_clear_pointer(&record->file, g_mapped_file_unref);
    g_free(record);
}

bool rerun_record_fits(const RerunRecord *record, const ScarpDrive *drive,
                      GError **error)
{
    uint64_t drive_bytes = scarp_drive_logical_bytes(drive);
    uint32_t streams = scarp_drive_streams(drive);

    for (guint i = 0; i < record->rows->len; i++) {
        const CmdLogRow *cmd = &rerun_row(record, i)->cmd;

        if (cmd->offset_bytes % SCARP_SECTOR_BYTES ||
            cmd->length_bytes % SCARP_SECTOR_BYTES ||
            cmd->length_bytes > drive_bytes ||
            cmd->offset_bytes > drive_bytes - cmd->length_bytes ||
            (is_write(cmd) && cmd->stream >= streams)) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                        "%s: a command of %u bytes at %" G_GUINT64_FORMAT
                        ", stream %u: this drive has %" G_GUINT64_FORMAT
                        " bytes and %u streams", record->path,
                        cmd->length_bytes, cmd->offset_bytes, cmd->stream,
                        drive_bytes, streams);
            return false;
        }
    }
    return true;
}

void rerun_record_sector(const RerunRecord *record, guint number,
                         uint64_t sector, void *out)
{
    const RerunRow *row = rerun_row(record, number);
    uint64_t mark[2] = { number + 1, sector };

    if (record->file) {
        memcpy(out, record->bytes + row->data_at + sector * SCARP_SECTOR_BYTES -
                        row->cmd.offset_bytes, SCARP_SECTOR_BYTES);
        return;
    }
    for (uint32_t at = 0; at < SCARP_SECTOR_BYTES; at += sizeof(mark)) {
        memcpy((char *)out + at, mark, sizeof(mark));
    }
}
