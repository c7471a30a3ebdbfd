/*
 * A recorded run of a drive: its command log, and the written bytes, which come
 * from a data log or are made up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_RECORD_H
#define SCARP_CUTS_RECORD_H

#include "replay/cmdlog.h"

typedef struct {
    CmdLogRow cmd;
    uint64_t data_at; /* offset of a write's bytes in the data log */
} CutsRow;

typedef struct {
    const char *path;  /* of the command log */
    GArray *rows;      /* of CutsRow, in the order of submission */
    GMappedFile *file; /* the data log; NULL: bytes are made up */
    const char *bytes; /* first byte behind the data log's header */
} CutsRecord;

/*
 * Opens a run. data_path NULL: the bytes of each sector tell which write put
 * them there.
 */
CutsRecord *cuts_record_open(const char *path, const char *data_path,
                             GError **error);
void cuts_record_free(CutsRecord *record);

static inline const CutsRow *cuts_row(const CutsRecord *record, guint row)
{
    return &g_array_index(record->rows, CutsRow, row);
}

/*
 * True when the drive can take all commands of the run. False, with *error set:
 * the line names a command that it cannot take.
 */
bool cuts_record_fits(const CutsRecord *record, const ScarpDrive *drive,
                      GError **error);

/* Copies the bytes that the write of this row put into the sector to out. */
void cuts_record_sector(const CutsRecord *record, guint row, uint64_t sector,
                        void *out);

#endif /* SCARP_CUTS_RECORD_H */
