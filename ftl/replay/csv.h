/*
 * Traces that are tables with columns of the user's own.
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

/* What follows the prefix; NULL and *error set when it is no description. */
CsvFormat *csv_new(const char *text, GError **error);
void csv_free(CsvFormat *csv);
/* Lines at the head that are no requests. */
uint64_t csv_header_lines(const CsvFormat *csv);
/* text is modified.  False, and *problem says which column is wrong how. */
bool csv_parse(const CsvFormat *csv, char *text, TraceRecord *record,
               char **problem);

#endif /* SCARP_CSV_H */
