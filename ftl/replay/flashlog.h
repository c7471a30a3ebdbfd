/*
 * The log of the places where flash served commands: one row for each command,
 * in the order of the command log. The row names the flash command that ended
 * last for the command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASHLOG_H
#define SCARP_FLASHLOG_H

#include "../scarp.h"

#include <stdio.h>

/* A row, little endian. All bits are 1 if the command needed no flash. */
typedef struct {
    /* die, plane, block: drive-wide numbers; page: its offset in the block */
    uint32_t die, plane, block, page;
} FlashLogRow;

#define FLASHLOG_MAGIC "SCARPFL1"
#define FLASHLOG_VERSION 0

typedef struct FlashLog FlashLog;

FlashLog *flashlog_new(FILE *file);
void flashlog_free(FlashLog *log);
/*
 * Called when a command has been submitted and has its seq, before a flash
 * command begins for it.
 */
void flashlog_begin(FlashLog *log, const ScarpCmd *cmd);
/* Called, like ScarpObserver.flash_phase, for each phase of a flash command. */
void flashlog_phase(FlashLog *log, const ScarpFlashOp *op);
/* Writes the row of a completed command. */
void flashlog_end(FlashLog *log, const ScarpCmd *cmd);

#endif /* SCARP_FLASHLOG_H */
