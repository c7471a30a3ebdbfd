/*
 * A scenario for the replayer: a description, and a command log of what the
 * host submitted and when.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_EXPORT_H
#define HUNT_EXPORT_H

#include "scenario.h"

#define MOST_LOGGED 8192
#define MOST_CHANGES 64

/* A row of a command log (docs/model.md), up to its causes. */
typedef struct {
    int64_t submit_ns, complete_ns;
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint8_t op, status;
    uint16_t stream;
    uint32_t nsid, order;
    int64_t deadline_ns;
} LogRow;

/* A row of a log of changes: the drive switched to a scheme. */
typedef struct {
    int64_t time_ns;
    uint32_t next_command;
    char scheme[160], params[400]; /* params: "key=value,…", or empty */
} LogChange;

/* In memory that outlives a crash. */
typedef struct {
    uint32_t n, n_changes;
    bool all; /* false: a step came that no log has */
    LogRow row[MOST_LOGGED];
    LogChange change[MOST_CHANGES];
} Log;

void export_row(Log *log, const ScarpCmd *cmd);
/* params may be NULL. */
void export_change(Log *log, int64_t time_ns, const char *scheme,
                   const char *params);
/*
 * Writes BASE.ini, BASE.bin and, if there are changes, BASE.csv. Returns the
 * arguments of `scarp replay` that open them; NULL and *error if that was not
 * possible.
 */
char *export_files(const Scenario *s, const Log *log, const char *base,
                   GError **error);

#endif /* HUNT_EXPORT_H */
