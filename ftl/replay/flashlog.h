/*
 * The log of where commands were served: one row per command, in the order of
 * the command log, naming the flash command that ended last for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASHLOG_H
#define SCARP_FLASHLOG_H

#include "../scarp.h"

#include <stdio.h>

/* A row, little endian; all ones when no flash command was needed. */
typedef struct {
    uint32_t die, plane, block, page; /* drive-wide, but for the page */
} FlashLogRow;

#define FLASHLOG_MAGIC "SCARPFL1"
#define FLASHLOG_VERSION 0

typedef struct FlashLog FlashLog;

FlashLog *flashlog_new(FILE *file);
void flashlog_free(FlashLog *log);
/* Begins a command that has its seq, before any flash command for it. */
void flashlog_begin(FlashLog *log, const ScarpCmd *cmd);
/* Takes a phase, as ScarpObserver's flash_phase does. */
void flashlog_phase(FlashLog *log, const ScarpFlashOp *op);
/* Writes the row of a completed command. */
void flashlog_end(FlashLog *log, const ScarpCmd *cmd);

#endif /* SCARP_FLASHLOG_H */
