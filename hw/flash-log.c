/*
 * Scarp: command log, data log, GC log, log of changes, timeline and progress
 * file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "flash-log.h"
#include "flash-rows.h"
#include "../ftl/timeline.h"

/* Fields of CmdRow.order. */
#define ORDER_SEQ_MASK ((1u << 30) - 1) /* number of the submission; may wrap */
/* always set: the drive had processed the events at submit_ns */
#define ORDER_EVENTS_FIRST (1u << 30)
#define ORDER_FUA (1u << 31)

/* Flag of CmdRow.status: the guest had gone before the command ended. */
#define STATUS_UNSEEN 0x80

typedef struct QEMU_PACKED {
    int64_t submit_ns;
    int64_t complete_ns;
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint8_t op;
    uint8_t status;
    uint16_t stream;
    uint32_t nsid;
    uint32_t order;
    int64_t deadline_ns; /* from submit_ns on; 0: no deadline */
    int64_t cause_ns[SCARP_CAUSE__ALL]; /* as many as the layout says */
} CmdRow;

typedef struct QEMU_PACKED {
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t die;
    uint32_t plane;
    uint32_t victim_block;
    uint32_t moved_units;
} GcRow;

#define CMD_LAYOUT(n) { \
    .option = "cmd-log", .magic = "SCARPCM1", .version = 3, \
    .row_bytes = offsetof(CmdRow, cause_ns) + (n) * sizeof(int64_t), \
    .cause_count = (n), \
}
static const FlashRowsLayout cmd_layout = CMD_LAYOUT(SCARP_CAUSE__COUNT);
/* Rows of a drive with an SLC cache or a temperature have all causes. */
static const FlashRowsLayout cmd_layout_all = CMD_LAYOUT(SCARP_CAUSE__ALL);
static const FlashRowsLayout gc_layout = {
    .option = "gc-log", .magic = "SCARPGC1", .row_bytes = sizeof(GcRow),
};

/*
 * Header of the data log. The bytes of each write follow, in the order of the
 * command log's rows.
 */
static const char data_header[16] = "SCARPDT1";

/* Header of the log of changes, which docs/logs.md explains. */
static const char change_header[] =
    "time_ns,next_command,change,scheme,params\n";

enum { PROGRESS_NOW_NS, PROGRESS_COMPLETED, PROGRESS_GC_RUNS, PROGRESS_COUNT };

struct FlashLog {
    /* each pointer below is NULL if its log was not asked for */
    FlashRows *cmd;
    FlashRows *gc;
    FILE *data;
    FILE *changes;
    FILE *trace;
    ScarpTimeline *timeline;
    ScarpObserver shown; /* the observer of `timeline`, if there is one */
    uint64_t *progress;
    bool stopped;
};

static uint64_t *map_progress(const char *path, Error **errp)
{
    size_t bytes = PROGRESS_COUNT * sizeof(uint64_t);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    void *map = MAP_FAILED;

    /*
     * Allocates the file's blocks now. If the disk were full later, a store to
     * the mapped file would raise SIGBUS.
     */
    if (fd >= 0) {
        errno = posix_fallocate(fd, 0, bytes);
        if (!errno) {
            map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        }
    }
    if (map == MAP_FAILED) {
        error_setg_errno(errp, errno, "progress: cannot create '%s'", path);
        map = NULL;
    }
    if (fd >= 0) {
        close(fd);
    }
    return map;
}

FlashLog *flash_log_open(const char *cmd_path, const char *gc_path,
                         const char *progress_path, unsigned causes,
                         bool behind, Error **errp)
{
    FlashLog *log = g_new0(FlashLog, 1);

    if (cmd_path) {
        log->cmd = flash_rows_open(cmd_path,
                                   causes == SCARP_CAUSE__ALL
                                       ? &cmd_layout_all : &cmd_layout,
                                   behind, errp);
        if (!log->cmd) {
            goto fail;
        }
    }
    if (gc_path) {
        log->gc = flash_rows_open(gc_path, &gc_layout, behind, errp);
        if (!log->gc) {
            goto fail;
        }
    }
    if (progress_path) {
        log->progress = map_progress(progress_path, errp);
        if (!log->progress) {
            goto fail;
        }
    }
    return log;

fail:
    flash_log_close(log);
    return NULL;
}

bool flash_log_data(FlashLog *log, const char *path, Error **errp)
{
    log->data = fopen(path, "wbe");
    if (!log->data) {
        error_setg_errno(errp, errno, "data-log: cannot create '%s'", path);
        return false;
    }
    fwrite(data_header, 1, sizeof(data_header), log->data);
    return true;
}

bool flash_log_changes(FlashLog *log, const char *path, Error **errp)
{
    log->changes = fopen(path, "we");
    if (!log->changes) {
        error_setg_errno(errp, errno, "change-log: cannot create '%s'", path);
        return false;
    }
    fputs(change_header, log->changes);
    return true;
}

static void trace_write(void *file, const void *bytes, size_t n)
{
    /* flash_log_flush() asks ferror() for failures */
    fwrite(bytes, 1, n, file);
}

bool flash_log_trace(FlashLog *log, ScarpDrive *drive, const char *path,
                     int64_t from_ns, int64_t for_ns, Error **errp)
{
    log->trace = fopen(path, "wbe");
    if (!log->trace) {
        error_setg_errno(errp, errno, "trace: cannot create '%s'", path);
        return false;
    }
    log->timeline = scarp_timeline_new(drive, from_ns,
                                       for_ns ? from_ns + for_ns
                                              : SCARP_TIME_NEVER,
                                       trace_write, log->trace);
    log->shown = scarp_timeline_observer(log->timeline);
    scarp_on_power_cut(drive, scarp_timeline_follow, log->timeline);
    return true;
}

/*
 * Returns the deadline for the row. 0 means no deadline, so a deadline that had
 * passed before the submission is recorded as 1 ns.
 */
static int64_t deadline_ns(const ScarpCmd *cmd)
{
    return cmd->deadline_ns == SCARP_TIME_NEVER
               ? 0 : MAX(cmd->deadline_ns - cmd->submit_ns, 1);
}

static void log_cmd_done(void *opaque, const ScarpCmd *cmd)
{
    FlashLog *log = opaque;
    uint32_t order = (cmd->seq & ORDER_SEQ_MASK) | ORDER_EVENTS_FIRST |
                     (cmd->fua ? ORDER_FUA : 0);
    CmdRow row = {
        .submit_ns = cpu_to_le64(cmd->submit_ns),
        .complete_ns = cpu_to_le64(cmd->complete_ns),
        .offset_bytes = cpu_to_le64(cmd->offset_bytes),
        .length_bytes = cpu_to_le32(cmd->length_bytes),
        .op = cmd->op,
        .status = cmd->status | (log->stopped ? STATUS_UNSEEN : 0),
        .stream = cpu_to_le16(cmd->stream),
        .nsid = cpu_to_le32(cmd->nsid),
        .order = cpu_to_le32(order),
        .deadline_ns = cpu_to_le64(deadline_ns(cmd)),
    };
    int64_t cause_ns[SCARP_CAUSE__ALL];

    if (log->shown.cmd_done) {
        log->shown.cmd_done(log->shown.opaque, cmd);
    }
    if (log->data && cmd->op == SCARP_OP_WRITE && cmd->data) {
        fwrite(cmd->data, 1, cmd->length_bytes, log->data);
    }
    if (!log->cmd) {
        return;
    }
    assert(cmd->length_bytes <= UINT32_MAX);
    scarp_cmd_causes(cmd, cause_ns);
    for (int i = 0; i < SCARP_CAUSE__ALL; i++) {
        row.cause_ns[i] = cpu_to_le64(cause_ns[i]);
    }
    flash_rows_add(log->cmd, &row);
}

static void log_gc_done(void *opaque, const ScarpGcRun *run)
{
    FlashLog *log = opaque;
    GcRow row = {
        .begin_ns = cpu_to_le64(run->begin_ns),
        .end_ns = cpu_to_le64(run->end_ns),
        .die = cpu_to_le32(run->die),
        .plane = cpu_to_le32(run->plane),
        .victim_block = cpu_to_le32(run->victim_block),
        .moved_units = cpu_to_le32(run->moved_units),
    };

    if (log->shown.gc_done) {
        log->shown.gc_done(log->shown.opaque, run);
    }
    if (log->gc && !log->stopped) {
        flash_rows_add(log->gc, &row);
    }
}

static void log_flash_phase(void *opaque, const ScarpFlashOp *op)
{
    FlashLog *log = opaque;

    log->shown.flash_phase(log->shown.opaque, op);
}

static void log_gc_granted(void *opaque, const ScarpGcGrant *grant)
{
    FlashLog *log = opaque;

    log->shown.gc_granted(log->shown.opaque, grant);
}

ScarpObserver flash_log_observer(FlashLog *log)
{
    return (ScarpObserver) {
        .cmd_done = log->cmd || log->timeline ? log_cmd_done : NULL,
        .gc_done = log->gc || log->timeline ? log_gc_done : NULL,
        .flash_phase = log->timeline ? log_flash_phase : NULL,
        .gc_granted = log->timeline ? log_gc_granted : NULL,
        .opaque = log,
    };
}

void flash_log_scheme(FlashLog *log, int64_t now_ns, uint64_t commands,
                      const char *scheme, const char *params)
{
    g_autofree char *text = g_strdelimit(g_strdup(params ?: ""), ",", ';');

    if (log->changes) {
        fprintf(log->changes, "%" PRId64 ",%" PRIu64 ",scheme,%s,%s\n", now_ns,
                commands, scheme, text);
    }
}

static void log_event(FlashLog *log, int64_t now_ns, uint64_t commands,
                      const char *change)
{
    if (log->changes) {
        fprintf(log->changes, "%" PRId64 ",%" PRIu64 ",%s,,\n", now_ns,
                commands, change);
    }
}

void flash_log_close_units(FlashLog *log, int64_t now_ns, uint64_t commands,
                           uint16_t stream)
{
    if (log->changes) {
        fprintf(log->changes, "%" PRId64 ",%" PRIu64 ",close_units,%" PRIu16
                ",\n", now_ns, commands, stream);
    }
}

void flash_log_power_cut(FlashLog *log, int64_t now_ns, uint64_t commands)
{
    log_event(log, now_ns, commands, "power_cut");
}

void flash_log_sanitize(FlashLog *log, int64_t now_ns, uint64_t commands)
{
    log_event(log, now_ns, commands, "sanitize");
}

void flash_log_stop(FlashLog *log)
{
    log->stopped = true;
}

void flash_log_go_on(FlashLog *log)
{
    log->stopped = false;
}

void flash_log_progress(FlashLog *log, int64_t now_ns, const ScarpStats *stats)
{
    if (log->progress) {
        log->progress[PROGRESS_NOW_NS] = cpu_to_le64(now_ns);
        log->progress[PROGRESS_COMPLETED] = cpu_to_le64(stats->cmds_completed);
        log->progress[PROGRESS_GC_RUNS] = cpu_to_le64(stats->gc_runs);
    }
}

/* Flushes `rows`. NULL: there is no such log. */
static void flush_rows(FlashRows *rows, Error **errp)
{
    Error *err = NULL;

    if (rows && !flash_rows_flush(rows, &err)) {
        error_propagate(errp, err);
    }
}

/* Flushes `file`. NULL: there is no such log. */
static void flush_file(FILE *file, const char *option, Error **errp)
{
    Error *err = NULL;

    if (file && (fflush(file) || ferror(file))) {
        error_setg(&err, "%s: could not be written completely", option);
        error_propagate(errp, err);
    }
}

bool flash_log_flush(FlashLog *log, Error **errp)
{
    /* the error of the first log that fails; later logs are flushed, too */
    Error *err = NULL;

    flush_rows(log->cmd, &err);
    flush_rows(log->gc, &err);
    flush_file(log->data, "data-log", &err);
    flush_file(log->changes, "change-log", &err);
    if (log->timeline) {
        scarp_timeline_flush(log->timeline);
    }
    flush_file(log->trace, "trace", &err);
    if (err) {
        error_propagate(errp, err);
        return false;
    }
    return true;
}

void flash_log_close(FlashLog *log)
{
    if (log->cmd) {
        flash_rows_close(log->cmd);
    }
    if (log->gc) {
        flash_rows_close(log->gc);
    }
    if (log->timeline) {
        scarp_timeline_free(log->timeline);
    }
    if (log->trace) {
        fclose(log->trace);
    }
    if (log->data) {
        fclose(log->data);
    }
    if (log->changes) {
        fclose(log->changes);
    }
    if (log->progress) {
        munmap(log->progress, PROGRESS_COUNT * sizeof(uint64_t));
    }
    g_free(log);
}
