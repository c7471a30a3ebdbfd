/*
 * The host of a scenario: commands to its drive, and what must hold of each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_HOST_H
#define HUNT_HOST_H

#include "bound.h"
#include "laws.h"
#include "model.h"
#include "replay/contract.h"
#include "run.h"

/* A command, for as long as the scenario runs. */
typedef struct {
    ScarpCmd cmd;
    uint8_t *data;
    uint64_t room; /* bytes at data */
    int64_t submit_ns;
    uint64_t number;
    uint32_t id; /* the model's */
    bool flying, open;
    uint8_t lane;
    uint64_t commands, sectors; /* in flight when it came, and it */
    uint64_t before; /* units that were to be read when it came, and its own */
} Slot;

/* What a drive was made or loaded with, last. */
typedef struct {
    char *scheme, *params, *keys; /* NULL: none; keys: beyond the scenario's */
    uint64_t seed;
} As;

/* A scenario that runs. */
typedef struct {
    const Scenario *s;
    ScarpDrive *drive;
    Model *model;
    ScarpContract *contract; /* of a drive whose power may fail, or NULL */
    RunResult *result;
    GPtrArray *idle, *all; /* Slot */
    uint32_t in_flight, depth;
    bool open;
    int64_t submitted_ns, completed_ns;
    int64_t held_ns; /* until then no collection begins by itself */
    Bound bound;
    int64_t waits_ns;    /* a policy's own, and deadlines: the longest */
    uint64_t passes;     /* commands that may go before each older one, and 1 */
    int64_t progress_ns; /* when something completed, or was idle, last */
    int64_t latest_ns;   /* some command has ended by then */
    uint64_t outstanding_sectors;
    uint64_t read_units; /* that all commands that ever came read */
    uint64_t most_commands, most_sectors; /* in flight, of this pace */
    uint64_t outstanding_units, units, block_units;
    uint64_t steps_left; /* until something must have come of them */
    uint32_t drives;     /* loaded from images */
    As as;
    bool is_twin;        /* only there to be compared with another one */
    bool ended;          /* every step has been made */
    Own own;
} Run;

/* Of a new drive, which has these keys besides: its sizes and times. */
void host_know(Run *r, const char *keys);
/* It has this scheme now, whose times and bounds are among the drive's. */
void host_know_scheme(Run *r, const char *scheme, const char *params);
void host_forget(As *as);
/* Sectors that commands go to. */
uint64_t host_sectors(const Run *r);

/* A command, when there is room for it and its time has come. */
bool host_command(Run *r, const Step *step, GError **error);
/* What happens up to then. */
bool host_run_until(Run *r, int64_t ns, GError **error);
/* What has completed. */
bool host_reap(Run *r, GError **error);
/* Every event, and then no command may be left. */
bool host_rest(Run *r, GError **error);
/* The same, and what is buffered is written. */
bool host_drain(Run *r, GError **error);
/* Only at rest. */
bool host_check(Run *r, GError **error);

/* What the drive has counted, since its statistics began. */
void host_count(Run *r);
/* And the marks, since it began. */
void host_count_marks(Run *r);

/* The steps from this one on; run.c. */
bool run_steps(Run *r, guint from, GError **error);
/* STEP_RELOAD: a drive from an image; next: the step behind it. */
bool reload(Run *r, const Step *step, guint next, GError **error);
/* STEP_POWER_CUT: the power fails; cut.c. */
bool cut_step(Run *r, const Step *step, GError **error);
/* A drive at rest has other keys: what is there is where it begins. */
bool cut_reloaded(Run *r, GError **error);
/* Of the drive as it is now: the key is given, and not 0. */
bool host_is_set(const Run *r, const char *key);
/* NULL: the drive's power does not fail, or it stores nothing. */
ScarpContract *cut_contract(const Run *r);
/* Deallocations are zeroes. */
bool cut_deallocates(const Scenario *s);
/* Of a step's text, "scheme params seed keys", g_free() it; NULL: none. */
char *step_word(const Run *r, const Step *step, guint i);

#endif /* HUNT_HOST_H */
