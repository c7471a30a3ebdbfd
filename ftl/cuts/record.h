/*
 * A recorded run of a drive: a command log, and the written bytes (a data log,
 * or made up where there is none).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_RECORD_H
#define SCARP_CUTS_RECORD_H

#include "replay/cmdlog.h"

typedef struct {
    CmdLogRow cmd;
    uint64_t data_at; /* a write's place in the data log */
} CutsRow;

typedef struct {
    const char *path;  /* of the command log */
    GArray *rows;      /* CutsRow, in the order of submission */
    GMappedFile *file; /* the data log; NULL: bytes are made up */
    const char *bytes; /* the data log's bytes behind its header */
} CutsRecord;

/*
 * Opens a run. data_path NULL: each sector's bytes tell which write they are
 * of.
 */
CutsRecord *cuts_record_open(const char *path, const char *data_path,
                             GError **error);
void cuts_record_free(CutsRecord *record);

static inline const CutsRow *cuts_row(const CutsRecord *record, guint row)
{
    return &g_array_index(record->rows, CutsRow, row);
}

/*
 * True when the drive can take the run's commands; false and *error set: one
 * that it cannot.
 */
bool cuts_record_fits(const CutsRecord *record, const ScarpDrive *drive,
                      GError **error);

/*
 * Copies the 512 bytes that the row's write put into this sector of the drive
 * to out.
 */
void cuts_record_sector(const CutsRecord *record, guint row, uint64_t sector,
                        void *out);

#endif /* SCARP_CUTS_RECORD_H */
