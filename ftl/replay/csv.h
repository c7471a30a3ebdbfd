/*
 * Traces that are tables with the user's own columns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CSV_H
#define SCARP_CSV_H

#include "trace.h"

#define CSV_PREFIX "csv:"
#define CSV_HELP "columns of your own, from 1: csv:time=1,op=2,offset=3," \
                 "length=4; docs/replay.md has the other keys and the units"

typedef struct CsvFormat CsvFormat;

/*
 * Parses the description of a table, which is the text behind the prefix.
 * Returns NULL, with *error set, if the text describes no table.
 */
CsvFormat *csv_new(const char *text, GError **error);
void csv_free(CsvFormat *csv);
/* Returns the number of lines at the beginning that are not requests. */
uint64_t csv_header_lines(const CsvFormat *csv);
/*
 * Parses a line of the table, and modifies `text`. Returns false if the line is
 * wrong. *problem then names the column and its fault; the caller frees it with
 * g_free().
 */
bool csv_parse(const CsvFormat *csv, char *text, TraceRecord *record,
               char **problem);

#endif /* SCARP_CSV_H */
