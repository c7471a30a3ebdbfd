/*
 * A drive on which a recorded run is repeated, from the run's commands and
 * changes alone. Programs fork while the run goes on: each child process keeps
 * the drive in its state of one instant.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RERUN_RERUN_H
#define SCARP_RERUN_RERUN_H

#include "rerun/record.h"

/*
 * Callbacks, each of which may be NULL. They are called when a row's command
 * was submitted, and when it has ended.
 */
typedef struct {
    void (*submitted)(void *opaque, const ScarpCmd *cmd, guint row);
    void (*ended)(void *opaque, const ScarpCmd *cmd, guint row);
    void *opaque;
} RerunListener;

typedef struct {
    ScarpDrive *drive;
    const RerunRecord *record;
    RerunListener listener;
    guint at;      /* the next row to submit */
    guint changed; /* how many changes of the record were made or left out */
    bool keeps_scheme; /* later changes of the scheme are left out */
    GPtrArray *flying, *idle; /* records of commands */
    bool stores;   /* writes carry their bytes */
    /*
     * True: each command must end at its recorded time. False: the run no
     * longer follows the record (rerun_diverge()). Commands are still submitted
     * at their recorded times, but wait while most_in_flight commands are under
     * way.
     */
    bool exact;
    uint32_t most_in_flight;
} Rerun;

/*
 * Makes the drive of `config`, at the time at which the run began. Returns
 * false, with *error set, if there can be no such drive, or if it cannot take
 * the run's commands.
 */
bool rerun_begin(Rerun *r, const RerunRecord *record,
                 const ScarpConfig *config, GError **error);
/*
 * Begins on a drive that exists already, at the time at which the run began.
 * The drive is freed with the run, even if the call fails. With `stores`,
 * writes carry their bytes. Returns false, with *error set, if the drive cannot
 * take the run's commands.
 */
bool rerun_begin_on(Rerun *r, const RerunRecord *record, ScarpDrive *drive,
                    bool stores, GError **error);
void rerun_end(Rerun *r);

/* Replaces the callbacks from now on. */
void rerun_listen(Rerun *r, RerunListener listener);
/*
 * Lets the run differ from the record from now on, for a drive that the caller
 * changes. Ends of commands are no longer compared with the record, and at most
 * most_in_flight commands are under way.
 */
void rerun_diverge(Rerun *r, uint32_t most_in_flight);
/*
 * Leaves out all later changes of the scheme. Other changes of the record, such
 * as the closing of reclaim units, are still made.
 */
void rerun_keep_scheme(Rerun *r);
/* Cuts the power of the drive, whose power must be able to fail. */
void rerun_cut_power(Rerun *r);

/*
 * Returns the time of the next event, command or change. SCARP_TIME_NEVER: none
 * is left.
 */
int64_t rerun_next_ns(Rerun *r);
/*
 * Runs up to now_ns. Returns false, with *error set, if a command ended at
 * another time than recorded, or if a change cannot be made.
 */
bool rerun_run(Rerun *r, int64_t now_ns, GError **error);
/*
 * Takes the commands that have completed, after the caller has changed the
 * drive. Returns false, with *error set, in the cases of rerun_run().
 */
bool rerun_reap(Rerun *r, GError **error);
/* Forgets the commands under way, and all later commands of the record. */
void rerun_leave(Rerun *r);
/*
 * Returns the row of the oldest command under way. If no command is under way,
 * returns the next row to submit.
 */
guint rerun_oldest(const Rerun *r);

#endif /* SCARP_RERUN_RERUN_H */
