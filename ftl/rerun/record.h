/*
 * A recorded run of a drive: a command log, the changes of the drive during the
 * run, and the written bytes (from a data log, or made up without one).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RERUN_RECORD_H
#define SCARP_RERUN_RECORD_H

#include "replay/changes.h"
#include "replay/cmdlog.h"

typedef struct {
    CmdLogRow cmd;
    uint64_t data_at; /* offset of a write's bytes in the data log */
    guint ended_as;   /* place in the order of completion, from 0 on */
} RerunRow;

typedef struct {
    const char *path;  /* path of the command log */
    GArray *rows;      /* of RerunRow, in the order of submission */
    GArray *changes;   /* of Change; NULL: nothing changed */
    GMappedFile *file; /* the data log; NULL: bytes are made up */
    const char *bytes; /* first byte behind the data log's header */
} RerunRecord;

/*
 * Opens a run. If data_path is NULL, the bytes of each sector are made up, and
 * tell which write put them there. If changes_path is NULL, nothing changed
 * during the run.
 */
RerunRecord *rerun_record_open(const char *path, const char *data_path,
                               const char *changes_path, GError **error);
void rerun_record_free(RerunRecord *record);

static inline const RerunRow *rerun_row(const RerunRecord *record, guint row)
{
    return &g_array_index(record->rows, RerunRow, row);
}

/*
 * True when the drive can take all commands of the run. Otherwise *error names
 * a command that the drive cannot take.
 */
bool rerun_record_fits(const RerunRecord *record, const ScarpDrive *drive,
                      GError **error);

/* Copies the bytes that the row's write put into the sector to `out`. */
void rerun_record_sector(const RerunRecord *record, guint row, uint64_t sector,
                        void *out);

#endif /* SCARP_RERUN_RECORD_H */
