/*
 * Command logs: written by a replay, read as a workload.
 *
 * The rows of a log are in the order of completion, but a workload needs the
 * order of submission. So all rows are read (48 bytes each) and sorted before
 * the first request is given out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cmdlog.h"

#include <errno.h>
#include <string.h>

G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN);
G_STATIC_ASSERT(sizeof(CmdLogHeader) == 32);
G_STATIC_ASSERT(sizeof(CmdLogRow) == 48);
G_STATIC_ASSERT(sizeof(GcLogRow) == 32);

#define MAX_CAUSES 256
#define MAX_ROW_BYTES 4096

typedef struct {
    int64_t submit_ns;
    int64_t complete_ns;
    int64_t deadline_ns;
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint32_t order;
    uint16_t stream;
    uint8_t op;
} Row;

typedef struct {
    Workload base;
    GArray *rows;
    guint at;
} CmdLog;

void cmdlog_write_header(FILE *file, unsigned causes)
{
    CmdLogHeader header = {
        .row_bytes = sizeof(CmdLogRow) + 8 * causes,
        .causes = causes, .version = CMDLOG_VERSION,
    };

    memcpy(header.magic, CMDLOG_MAGIC, sizeof(header.magic));
    fwrite(&header, sizeof(header), 1, file);
}

void cmdlog_write(FILE *file, const ScarpCmd *cmd, uint32_t order,
                  unsigned causes)
{
    int64_t cause_ns[SCARP_CAUSE__ALL];
    CmdLogRow row = {
        cmd->submit_ns, cmd->complete_ns, cmd->offset_bytes, cmd->length_bytes,
        cmd->op, cmd->status, cmd->stream, cmd->nsid,
        (order & CMDLOG_ORDER_MASK) | CMDLOG_EVENTS_FIRST |
            (cmd->fua ? CMDLOG_FUA : 0),
        /*
         * 0 means no deadline, so a deadline that had passed at the submission
         * is written as 1 ns.
         */
        cmd->deadline_ns == SCARP_TIME_NEVER
            ? 0 : MAX(cmd->deadline_ns - cmd->submit_ns, 1),
    };

    scarp_cmd_causes(cmd, cause_ns);
    fwrite(&row, sizeof(row), 1, file);
    fwrite(cause_ns, sizeof(*cause_ns), causes, file);
}

void gclog_write_header(FILE *file)
{
    CmdLogHeader header = {
        .row_bytes = sizeof(GcLogRow), .version = GCLOG_VERSION,
    };

    memcpy(header.magic, GCLOG_MAGIC, sizeof(header.magic));
    fwrite(&header, sizeof(header), 1, file);
}

void gclog_write(FILE *file, const ScarpGcRun *run)
{
    GcLogRow row = {
        run->begin_ns, run->end_ns, run->die, run->plane, run->victim_block,
        run->moved_units,
    };

    fwrite(&row, sizeof(row), 1, file);
}

static int by_submission(gconstpointer a, gconstpointer b)
{
    const Row *x = a, *y = b;
    uint32_t first = x->order & CMDLOG_ORDER_MASK;
    uint32_t second = y->order & CMDLOG_ORDER_MASK;

    if (x->submit_ns != y->submit_ns) {
        return x->submit_ns < y->submit_ns ? -1 : 1;
    }
    return (first > second) - (first < second);
}

static bool next(Workload *self, TraceRecord *record,
                 GError **error G_GNUC_UNUSED)
{
    CmdLog *log = (CmdLog *)self;
    const Row *row;

    if (log->at == log->rows->len) {
        return false;
    }
    row = &g_array_index(log->rows, Row, log->at);
    log->at++;
    self->permille_done = (uint64_t)log->at * 1000 / log->rows->len;
    *record = (TraceRecord) {
        .time_ns = row->submit_ns, .offset_bytes = row->offset_bytes,
        .length_bytes = row->length_bytes, .op = row->op,
        .stream = row->stream, .fua = row->order & CMDLOG_FUA,
        .deadline_ns = row->deadline_ns, .complete_ns = row->complete_ns,
    };
    return true;
}

static void log_free(Workload *self)
{
    g_array_free(((CmdLog *)self)->rows, true);
    g_free(self);
}

static bool damaged(const char *path, uint64_t row, const char *what,
                    GError **error)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "%s:%" G_GUINT64_FORMAT
                ": %s", path, row, what);
    return false;
}

static bool read_rows(FILE *file, const char *path, CmdLogEach each,
                      void *opaque, GError **error)
{
    char tail[MAX_ROW_BYTES];
    CmdLogHeader header;
    CmdLogRow in;

    if (fread(&header, sizeof(header), 1, file) != 1 ||
        memcmp(header.magic, CMDLOG_MAGIC, sizeof(header.magic))) {
        return damaged(path, 0, "no command log (" CMDLOG_MAGIC ")", error);
    }
    if (header.version != CMDLOG_VERSION) {
        return damaged(path, 0, "a command log of another version: record it "
                       "again", error);
    }
    if (header.causes > MAX_CAUSES || header.row_bytes > MAX_ROW_BYTES ||
        header.row_bytes < sizeof(in) + 8 * header.causes) {
        return damaged(path, 0, "no command log (" CMDLOG_MAGIC ")", error);
    }
    for (uint64_t number = 1;; number++) {
        size_t got = fread(&in, 1, sizeof(in), file), rest;

        if (!got && !ferror(file)) {
            return true;
        }
        rest = header.row_bytes - sizeof(in);
        if (got != sizeof(in) || fread(tail, 1, rest, file) != rest) {
            return damaged(path, number, "ends in the middle of a row", error);
        }
        if (in.op >= SCARP_OP__COUNT || in.submit_ns < 0 ||
            in.offset_bytes > G_MAXINT64 || in.deadline_ns < 0 ||
            in.deadline_ns > SCARP_TIME_LAST) {
            return damaged(path, number, "a row with an operation, time, "
                           "offset or deadline that no drive has", error);
        }
        each(opaque, &in);
    }
}

bool cmdlog_each(const char *path, CmdLogEach each, void *opaque,
                 GError **error)
{
    FILE *file = fopen(path, "rb");
    bool ok;

    if (!file) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "%s: %s", path,
                    g_strerror(errno));
        return false;
    }
    ok = read_rows(file, path, each, opaque, error);
    fclose(file);
    return ok;
}

bool cmdlog_ended(const char *path, const ScarpCmd *cmd, int64_t logged_ns,
                  GError **error)
{
    static const char *const names[SCARP_OP__COUNT] = {
        "read", "write", "write zeroes", "deallocation", "flush",
    };

    if (cmd->complete_ns == logged_ns) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                "%s: a %s that was submitted at %" G_GINT64_FORMAT
                " ns ends at %" G_GINT64_FORMAT " ns, in the log at %"
                G_GINT64_FORMAT " ns: the run was of another drive, image, "
                "scheme, seed or engine", path, names[cmd->op], cmd->submit_ns,
                cmd->complete_ns, logged_ns);
    return false;
}

static void keep_row(void *opaque, const CmdLogRow *in)
{
    g_array_append_vals(opaque, &(Row) {
        in->submit_ns, in->complete_ns, in->deadline_ns, in->offset_bytes,
        in->length_bytes,
        in->order, in->stream, in->op,
    }, 1);
}

Workload *cmdlog_open(const char *path, GError **error)
{
    CmdLog *log = g_new0(CmdLog, 1);

    log->base.next = next;
    log->base.free = log_free;
    log->base.format = "cmdlog";
    log->base.absolute = true;
    log->rows = g_array_new(false, false, sizeof(Row));
    if (!cmdlog_each(path, keep_row, log->rows, error)) {
        log_free(&log->base);
        return NULL;
    }
    /* g_array_sort() is stable, so rows without an order stay in place */
    g_array_sort(log->rows, by_submission);
    return &log->base;
}
