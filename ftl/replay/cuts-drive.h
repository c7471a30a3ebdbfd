/*
 * A drive of a recorded run, which the run is told to again, and what NVMe's
 * contract then says that it must contain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_DRIVE_H
#define SCARP_CUTS_DRIVE_H

#include "contract.h"
#include "cuts-record.h"

typedef struct {
    ScarpDrive *drive;
    const CutsRecord *record;
    guint at;                /* the next row */
    GPtrArray *flying, *idle; /* commands */
    bool is_volatile;         /* what has completed need not be durable */
    /* What follows is only there where it is judged. */
    ScarpContract *contract;
    uint32_t *last; /* of each sector: the last write that completed; 0: none */
    char *before;   /* contents when the run began; NULL: zeroes */
    uint64_t sectors;
    bool left;       /* the host is gone: */
    int64_t left_ns; /* since then, and what was under way is among the */
    guint left_from, left_to; /* rows from this one to before that one */
} CutsDrive;

/* At the time at which the run began; judged: its contract is kept. */
bool cuts_drive_begin(CutsDrive *d, const CutsRecord *record,
                      const ScarpConfig *config, bool judged, GError **error);
void cuts_drive_end(CutsDrive *d);

/* When something happens next, or the next command comes; NEVER: nothing. */
int64_t cuts_drive_next_ns(const CutsDrive *d);
/*
 * All that happens up to now_ns.  False and *error set: a command ended at
 * another time than in the run.
 */
bool cuts_drive_run(CutsDrive *d, int64_t now_ns, GError **error);
/* No command is submitted any more: the host is gone. */
void cuts_drive_leave(CutsDrive *d);

/* The contract's id of a write that a row is, and of what was there before. */
static inline uint32_t cuts_id(guint row)
{
    return row + 1;
}
static inline uint32_t cuts_id_before(const CutsDrive *d)
{
    return d->record->rows->len + 1;
}

/* What a read of the sector gave while the run had not begun. */
void cuts_drive_before(const CutsDrive *d, uint64_t sector, void *out);

#endif /* SCARP_CUTS_DRIVE_H */
