/*
 * The log of changes: everything that changed a drive from outside during a
 * run.
 *
 * The device writes this log (change-log), or a user by hand. docs/logs.md has
 * its columns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CHANGES_H
#define SCARP_CHANGES_H

#include "../scarp.h"

/*
 * Value of next_command: the change follows all commands submitted by its time.
 */
#define CHANGE_AFTER_ALL UINT64_MAX

typedef enum {
    CHANGE_SCHEME,
    CHANGE_CLOSE_UNITS, /* a stream's reclaim units were closed */
    /* kinds that no log goes beyond */
    CHANGE_POWER_CUT,
    CHANGE_SANITIZE,
    CHANGE__COUNT
} ChangeKind;

typedef struct {
    ChangeKind kind;
    int64_t time_ns;
    uint64_t next_command; /* commands submitted before the change */
    uint16_t stream;       /* of CHANGE_CLOSE_UNITS */
    char *scheme;          /* of CHANGE_SCHEME; otherwise NULL */
    char *params;          /* of CHANGE_SCHEME: "key=value,...", or NULL */
} Change;

/*
 * Reads a log of changes, and returns an array of Change with ascending times.
 * Returns NULL, with *error set, if the file is no such log.
 */
GArray *changes_read(const char *path, GError **error);

/*
 * True when the change comes before the next event, at event_ns, and the next
 * command, at next_ns. `sent` commands have been submitted. At equal times
 * events come first, then the commands that were submitted before the change. A
 * command of an earlier time comes first even if its number says otherwise:
 * change_fits() then refuses the log.
 */
bool change_is_due(const Change *change, uint64_t sent, int64_t event_ns,
                   int64_t next_ns);
/*
 * True when the run has come to the change as the log says: the drive's time is
 * not later than the change, and `sent`, the number of commands submitted so
 * far, is that of the log. Returns false, with *error set, if the log is of
 * another run.
 */
bool change_fits(const Change *change, uint64_t sent, const ScarpDrive *drive,
                 GError **error);
/*
 * Returns NULL for a change behind which the run goes on. For others it returns
 * their name in messages, such as "power was cut".
 */
const char *change_end(const Change *change);
/*
 * Makes the change. The caller must first process every event and command that
 * comes before the change. Returns false, with *error set, if the drive refuses
 * the scheme, or has no such reclaim units. Returns false, too, if the change is
 * a power cut or a Sanitize, because the log does not tell how the drive went on
 * after it.
 */
bool change_make(const Change *change, ScarpDrive *drive, GError **error);

#endif /* SCARP_CHANGES_H */
