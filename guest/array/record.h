/*
 * The record of a core: its inputs and decisions, as text, a line each:
 *
 *   scarp-array-record-1 N DRIVE_BYTES DATA_OFFSET_BYTES KEY=VALUE,…
 *   S NS OP FUA OFFSET LENGTH         array_submit()
 *   D NS DRIVE SLOT ERROR             array_io_done()
 *   i OP LOW DRIVE SLOT OFFSET LENGTH ArrayOps.issue
 *   e OP OFFSET LENGTH ERROR          ArrayOps.done
 *
 * The core's decisions depend on its inputs alone. So S and D lines in the same
 * order give the same i and e lines on every host; sim/replay.c checks that.
 * The record is no part of the core: its adapters write it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_RECORD_H
#define ARRAY_RECORD_H

#include "array.h"

#include <stdio.h>

#define ARRAY_RECORD_MAGIC "scarp-array-record-1"
#define ARRAY_RECORD_LINE 512 /* room for any line and its end */
#define ARRAY_RECORD_OPS "rwfd" /* letters of ArrayOp, ArrayIoOp */

/* Functions that each write one line. If stream is NULL, they do nothing. */
void array_record_begin(FILE *stream, const ArrayConfig *config);
void array_record_submit(FILE *stream, int64_t now_ns, const ArrayRequest *r);
void array_record_io_done(FILE *stream, int64_t now_ns, const ArrayIo *io,
                          int error);
void array_record_issue(FILE *stream, const ArrayIo *io);
void array_record_done(FILE *stream, const ArrayRequest *r);
/*
 * Closes *stream and sets it to NULL. Returns 0, or an errno if a line could
 * not be written. If *stream is NULL, there is nothing to close.
 */
int array_record_end(FILE **stream);

/*
 * Write the lines of array_record_issue() and array_record_done() into line[],
 * without the end of the line.
 */
void array_record_issue_line(char *line, const ArrayIo *io);
void array_record_done_line(char *line, const ArrayRequest *r);

#endif /* ARRAY_RECORD_H */
