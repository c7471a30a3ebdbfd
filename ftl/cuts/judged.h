/*
 * A drive of a recorded run whose power fails, and NVMe's contract for its
 * contents.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_JUDGED_H
#define SCARP_CUTS_JUDGED_H

#include "replay/contract.h"
#include "rerun/rerun.h"

typedef struct {
    Rerun run;
    bool is_volatile; /* completed writes may be lost */
    /* `contract`, `last` and `before` are set only if the drive is judged. */
    ScarpContract *contract;
    uint32_t *last; /* [sector]: id of the last completed write; 0: none */
    char *before;   /* contents when the run began; NULL: zeroes */
    uint64_t sectors;
    bool left;       /* cuts_drive_leave() was called */
    int64_t left_ns; /* time of cuts_drive_leave() */
    /* commands under way at left_ns: rows left_from to left_to - 1 */
    guint left_from, left_to;
} CutsDrive;

/*
 * Makes the drive, with its clock at the time at which the run began. With
 * `judged`, each command of the drive is reported to NVMe's contract
 * (replay/contract.h). The caller must then not move *d in memory, as the run
 * has a pointer to it.
 */
bool cuts_drive_begin(CutsDrive *d, const RerunRecord *record,
                      const ScarpConfig *config, bool judged, GError **error);
void cuts_drive_end(CutsDrive *d);

/*
 * Called when power fails: ends the host's submissions, and notes which
 * commands are under way, as the drive may have carried these out or not.
 */
void cuts_drive_leave(CutsDrive *d);

/*
 * Return the contract's id of the write of a row, and the id of the contents
 * before the run.
 */
static inline uint32_t cuts_id(guint row)
{
    return row + 1;
}
static inline uint32_t cuts_id_before(const CutsDrive *d)
{
    return d->run.record->rows->len + 1;
}

/* Copies the sector's contents before the run to out. */
void cuts_drive_before(const CutsDrive *d, uint64_t sector, void *out);

#endif /* SCARP_CUTS_JUDGED_H */
