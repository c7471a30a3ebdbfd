/*
 * A drive on which a recorded run is repeated, from the run's commands and
 * changes alone. Programs fork while the run goes on: each child process keeps
 * the drive as it was at one instant.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_RERUN_RERUN_H
#define SCARP_RERUN_RERUN_H

#include "rerun/record.h"

/*
 * Callbacks, each of which may be NULL: a row's command was submitted, or has
 * ended.
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
    guint changed; /* changes of the record that were made */
    GPtrArray *flying, *idle; /* commands */
    bool stores;   /* writes have their bytes */
    /*
     * True: each command must end at its recorded time. False: the run no
     * longer follows the record (rerun_diverge()). Commands are still submitted
     * at their recorded times, but wait while most_in_flight are under way.
     */
    bool exact;
    uint32_t most_in_flight;
} Rerun;

/*
 * Makes the drive of config, at the time at which the run began. False and
 * *error set: there is no such drive, or it cannot take the run's commands.
 */
bool rerun_begin(Rerun *r, const RerunRecord *record,
                 const ScarpConfig *config, GError **error);
/*
 * Begins on a drive that is there already, at the time at which the run began;
 * it is freed with the run, also if the call fails. stores: its writes have
 * their bytes. False and *error set: it cannot take the run's commands.
 */
bool rerun_begin_on(Rerun *r, const RerunRecord *record, ScarpDrive *drive,
                    bool stores, GError **error);
void rerun_end(Rerun *r);

/* Sets the callbacks from now on. */
void rerun_listen(Rerun *r, RerunListener listener);
/*
 * Lets the run differ from the record from now on, for a drive that the caller
 * changes: ends of commands are no longer compared with the record, and at most
 * most_in_flight commands are under way.
 */
void rerun_diverge(Rerun *r, uint32_t most_in_flight);
/* Leaves out the changes of the record that were not made yet. */
void rerun_drop_changes(Rerun *r);
/* Cuts the power of the drive, which must be one whose power may fail. */
void rerun_cut_power(Rerun *r);

/*
 * Returns the time of the next event, command or change; SCARP_TIME_NEVER:
 * none is left.
 */
int64_t rerun_next_ns(const Rerun *r);
/*
 * Runs up to now_ns. False and *error set: a command ended at another time than
 * in the run, or a change cannot be made.
 */
bool rerun_run(Rerun *r, int64_t now_ns, GError **error);
/*
 * Takes the commands that have completed, after the drive was changed from
 * outside. False, with *error set: as for rerun_run().
 */
bool rerun_reap(Rerun *r, GError **error);
/* Forgets the commands that are under way, and all later ones of the record. */
void rerun_leave(Rerun *r);
/*
 * Returns the row of the oldest command under way. If none is, returns the next
 * row to submit.
 */
guint rerun_oldest(const Rerun *r);

#endif /* SCARP_RERUN_RERUN_H */
