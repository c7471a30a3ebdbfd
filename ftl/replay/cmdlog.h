/*
 * Command logs: the device and the replayer write one row for each command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CMDLOG_H
#define SCARP_CMDLOG_H

#include "trace.h"

#include <stdio.h>

/*
 * The header of a log, little endian. Behind each CmdLogRow come `causes`
 * values of cause_ns. docs/logs.md has the layout.
 */
typedef struct {
    char magic[8];
    uint32_t row_bytes, causes;
    uint64_t version, reserved;
} CmdLogHeader;

typedef struct {
    int64_t submit_ns, complete_ns;
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint8_t op, status;
    uint16_t stream;
    uint32_t nsid, order;
    int64_t deadline_ns; /* from submit_ns on; 0: no deadline */
} CmdLogRow;

/* CmdLogRow.order: number of the submission (it may wrap), and two flags. */
#define CMDLOG_ORDER_MASK 0x3fffffffu
/* always set: the drive's events at submit_ns came before the command */
#define CMDLOG_EVENTS_FIRST (1u << 30)
#define CMDLOG_FUA (1u << 31)

#define CMDLOG_MAGIC "SCARPCM1"
#define CMDLOG_VERSION 3

/* A row of the log of collections (the device's gc-log). */
typedef struct {
    int64_t begin_ns, end_ns;
    uint32_t die, plane, victim_block, moved_units;
} GcLogRow;

#define GCLOG_MAGIC "SCARPGC1"
#define GCLOG_VERSION 0

/* `causes` is scarp_drive_causes() of the drive whose commands are written. */
void cmdlog_write_header(FILE *file, unsigned causes);
void cmdlog_write(FILE *file, const ScarpCmd *cmd, uint32_t order,
                  unsigned causes);

void gclog_write_header(FILE *file);
void gclog_write(FILE *file, const ScarpGcRun *run);

/*
 * Called for each row of a log, in the order of completion. The row has been
 * checked.
 */
typedef void (*CmdLogEach)(void *opaque, const CmdLogRow *row);
bool cmdlog_each(const char *path, CmdLogEach each, void *opaque,
                 GError **error);

/*
 * True when the command ended at logged_ns, its end according to the log at
 * `path`. Otherwise sets *error to a message with both times, and returns
 * false.
 */
bool cmdlog_ended(const char *path, const ScarpCmd *cmd, int64_t logged_ns,
                  GError **error);

/* Opens a log as a workload, in the order of submission. */
Workload *cmdlog_open(const char *path, GError **error);

#endif /* SCARP_CMDLOG_H */
