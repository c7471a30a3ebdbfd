/*
 * The line log. For each request, in the order of submission, it has the number
 * of the line of the trace, and the job, that the request came from. The file
 * is text: a line with the names of the columns, and then a line for each
 * request, with commas between the columns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_LINELOG_H
#define REPLAY_LINELOG_H

#include <stdint.h>
#include <stdio.h>

void linelog_write_header(FILE *file);
/*
 * Writes a line of the log. `line` is 0 if the request comes from no text, and
 * `job` is NULL if there are no jobs.
 */
void linelog_write(FILE *file, uint64_t line, const char *job);

#endif /* REPLAY_LINELOG_H */
