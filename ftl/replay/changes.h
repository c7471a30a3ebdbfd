/*
 * The log of changes: what changed a drive from outside during a run.
 *
 * The device writes it (change-log), or a hand does. docs/logs.md has its
 * columns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CHANGES_H
#define SCARP_CHANGES_H

#include "../scarp.h"

/* A change's next_command when all that were submitted by its time go first. */
#define CHANGE_AFTER_ALL UINT64_MAX

typedef struct {
    int64_t time_ns;
    uint64_t next_command; /* commands submitted before it */
    char *scheme;          /* NULL: the power was cut */
    char *params;          /* "key=value,...", or NULL */
} Change;

/* Reads a log, in the order of its times: an array of Change. */
GArray *changes_read(const char *path, GError **error);

/*
 * Makes the change: every event and command that comes before it has been. A
 * power cut cannot be made: false and *error set.
 */
bool change_make(const Change *change, ScarpDrive *drive, GError **error);

#endif /* SCARP_CHANGES_H */
