/*
 * What a drive was asked in a recorded run: a command log, and the bytes that
 * were written (a data log, or made up where there is none).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_RECORD_H
#define SCARP_CUTS_RECORD_H

#include "cmdlog.h"

typedef struct {
    CmdLogRow cmd;
    uint64_t data_at; /* of a write: its bytes, from the first write's on */
} CutsRow;

typedef struct {
    const char *path;  /* of the command log */
    GArray *rows;      /* CutsRow, in the order of submission */
    GMappedFile *file; /* of the bytes; NULL: they are made up */
    const char *bytes; /* its, behind its header */
} CutsRecord;

/* data_path NULL: each sector tells by its bytes which write it is of. */
CutsRecord *cuts_record_open(const char *path, const char *data_path,
                             GError **error);
void cuts_record_free(CutsRecord *record);

static inline const CutsRow *cuts_row(const CutsRecord *record, guint row)
{
    return &g_array_index(record->rows, CutsRow, row);
}

/* Its commands are such as the drive can take; false and *error set: one not. */
bool cuts_record_fits(const CutsRecord *record, const ScarpDrive *drive,
                      GError **error);

/* What the row's write put into this sector of the drive: 512 bytes, to out. */
void cuts_record_sector(const CutsRecord *record, guint row, uint64_t sector,
                        void *out);

#endif /* SCARP_CUTS_RECORD_H */
