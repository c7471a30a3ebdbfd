/*
 * One scenario after another in processes of their own: a crash or a run
 * without an end is a failure with a number, and the hunt goes on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_CHILD_H
#define HUNT_CHILD_H

#include "run.h"

#define MESSAGE_BYTES 480
#define COMMAND_BUCKETS 1024
#define COMMAND_BUCKET 8

/* What came of a scenario that broke a law. */
typedef struct {
    uint64_t number;
    char mapping[16];
    char scheme[80];
    char message[MESSAGE_BYTES];
} Failure;

/* Of a child, in memory that its parent sees. */
typedef struct {
    uint64_t number;    /* the scenario that it is at */
    char mapping[16], scheme[80];
    char message[MESSAGE_BYTES]; /* why it ended, if it says so itself */
    uint64_t done, accepted, refused, commands, events, collecting, merging,
             phased, forks;
    uint64_t marks[MOST_MARKS], met[MOST_MARKS]; /* times; scenarios */
    uint64_t with_commands[COMMAND_BUCKETS]; /* scenarios, for the median */
    CutKind kinds[MOST_CUT_KINDS];
} Report;

/* Memory that children share with their parent. */
void *child_shared(size_t bytes);

/*
 * Calls work in a child, whose report is in shared memory.  True: it came
 * back.  False, and *failure set: it crashed, ran for too long, or ended with
 * report->message set.
 */
typedef void (*ChildWork)(Report *report, void *opaque);
bool child_run(ChildWork work, void *opaque, Report *report, Failure *failure);

/* In the child: the scenario begins, and may take so much processor time. */
void child_begin(Report *report, uint64_t number, unsigned seconds);
/* In the child: ends it, as failed. */
void child_fail(Report *report, const char *message) G_GNUC_NORETURN;

/* Two failures of one kind have the same one; g_free() it. */
char *child_signature(const Failure *failure);

#endif /* HUNT_CHILD_H */
