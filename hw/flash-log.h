/*
 * Scarp: command log, data log, GC log, log of changes, timeline and progress
 * file
 *
 * QEMU writes these files on the host. The guest sees nothing of them, and they
 * take no virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_LOG_H
#define SCARP_FLASH_LOG_H

#include "../ftl/scarp.h"

typedef struct FlashLog FlashLog;

/*
 * Opens the command log, the GC log and the progress file. A path of NULL
 * stands for no such file. `causes` is scarp_drive_causes() of the drive.
 * `behind` is passed to flash_rows_open(). Returns NULL, with *errp set, if a
 * file cannot be made.
 */
FlashLog *flash_log_open(const char *cmd_path, const char *gc_path,
                         const char *progress_path, unsigned causes,
                         bool behind, Error **errp);

/*
 * Adds a data log to the command log: the bytes of each write, in the order of
 * the command log. Returns false, with *errp set, if the file cannot be made.
 */
bool flash_log_data(FlashLog *log, const char *path, Error **errp);

/*
 * Adds a log of changes of the drive from outside: a line of text for each
 * change of scheme, each power cut and each Sanitize. Returns false, with *errp
 * set, if the file cannot be made.
 */
bool flash_log_changes(FlashLog *log, const char *path, Error **errp);

/*
 * Adds a timeline (ftl/timeline.h) of everything that begins at from_ns or
 * within for_ns after it. for_ns 0 stands for all time after from_ns. Must be
 * called before flash_log_observer(). Returns false, with *errp set, if the
 * file cannot be made.
 */
bool flash_log_trace(FlashLog *log, ScarpDrive *drive, const char *path,
                     int64_t from_ns, int64_t for_ns, Error **errp);

/* Returns the observer to give to the engine. */
ScarpObserver flash_log_observer(FlashLog *log);

/*
 * Add a line to the log of changes, for a change at now_ns. `commands` is the
 * number of commands that the engine was given before. `scheme` and `params`
 * are as given to scarp_drive_set_scheme(); `params` may be NULL.
 */
void flash_log_scheme(FlashLog *log, int64_t now_ns, uint64_t commands,
                      const char *scheme, const char *params);
void flash_log_power_cut(FlashLog *log, int64_t now_ns, uint64_t commands);
void flash_log_close_units(FlashLog *log, int64_t now_ns, uint64_t commands,
                           uint16_t stream);
void flash_log_sanitize(FlashLog *log, int64_t now_ns, uint64_t commands);

/*
 * Called when the guest has gone. From now on the GC log gets no rows, and the
 * rows of commands that end are marked as unseen. A replay needs these
 * commands, because other commands waited for them.
 */
void flash_log_stop(FlashLog *log);
/* Undoes flash_log_stop() for another guest. */
void flash_log_go_on(FlashLog *log);
/* Stores now_ns and counts of *stats in the progress file, if there is one. */
void flash_log_progress(FlashLog *log, int64_t now_ns, const ScarpStats *stats);

/*
 * Writes the buffered rows of every log to its file, even if one of the writes
 * fails. Returns false, with *errp set, if a log is incomplete.
 */
bool flash_log_flush(FlashLog *log, Error **errp);
void flash_log_close(FlashLog *log);

#endif /* SCARP_FLASH_LOG_H */
