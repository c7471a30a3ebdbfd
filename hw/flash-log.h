/*
 * Scarp: command log, data log, GC log, timeline and progress file
 *
 * Written on the host only; nothing here is visible to the guest or takes
 * virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_LOG_H
#define SCARP_FLASH_LOG_H

#include "../ftl/scarp.h"

typedef struct FlashLog FlashLog;

/* Any path may be NULL.  Behind: as flash_rows_open() has it. */
FlashLog *flash_log_open(const char *cmd_path, const char *gc_path,
                         const char *progress_path, bool behind,
                         Error **errp);

/*
 * With a command log, also write what the host wrote: its bytes, one write
 * after the other, in the order of that log.
 */
bool flash_log_data(FlashLog *log, const char *path, Error **errp);

/*
 * Also write a timeline (ftl/timeline.h) of what begins in for_ns (0: all) from
 * from_ns on.  Before flash_log_observer() is asked.
 */
bool flash_log_trace(FlashLog *log, ScarpDrive *drive, const char *path,
                     int64_t from_ns, int64_t for_ns, Error **errp);

/* The observer to give to the engine. */
ScarpObserver flash_log_observer(FlashLog *log);

/*
 * The guest is gone: no more rows of GC; commands that end from now on are
 * marked.  A replay needs them, for others waited for them.
 */
void flash_log_stop(FlashLog *log);
/* Another guest has come. */
void flash_log_go_on(FlashLog *log);
void flash_log_progress(FlashLog *log, int64_t now_ns, const ScarpStats *stats);

/*
 * Write out what is buffered, of every log that can be written; false and *errp
 * set if something was lost.
 */
bool flash_log_flush(FlashLog *log, Error **errp);
void flash_log_close(FlashLog *log);

#endif /* SCARP_FLASH_LOG_H */
