/*
 * The line log: for each request, in the order of submission, the line of the
 * trace and the job that it came from. The file is text with a head and commas.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_LINELOG_H
#define REPLAY_LINELOG_H

#include <stdint.h>
#include <stdio.h>

void linelog_write_header(FILE *file);
/*
 * Writes a line. line 0: the request comes from no text. job NULL: there are no
 * jobs.
 */
void linelog_write(FILE *file, uint64_t line, const char *job);

#endif /* REPLAY_LINELOG_H */
