/*
 * A scenario: an array, and what happens to it.  A number draws one; a file
 * says it in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ARRAY_SCENARIO_H
#define HUNT_ARRAY_SCENARIO_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    STEP_WRITE,   /* sector, sectors, fua */
    STEP_READ,    /* sector, sectors */
    STEP_FLUSH,
    STEP_DISCARD, /* sector, sectors */
    STEP_END,     /* so many turns of the server */
    STEP_ERR,     /* drive, permille */
    STEP_STALL,   /* drive, 0 or 1 */
    STEP_CHECK,   /* everything is read */
    STEP_STOP,
    STEP_KILL,
    STEP_CUT,     /* power */
    STEP_START,   /* keep (0: none), the I/O it dies at (0: none), 1: by cut */
    STEP_RECOVER, /* keep: a start that is to go on with what was served */
    STEP_OLDER,   /* keep, which: recovers a device that is not the last one */
    STEP_VAIN,    /* keep, 1: killed; a start that comes to nothing */
    STEP_BAD,     /* keep, permille of I/O that fails, 1: no room */
    STEP_TAMPER,  /* keep, what, where: see run.c */
    STEP_FORMAT,  /* the I/O at which power is cut (0: none) */
    STEP_KINDS
} StepOp;

typedef struct {
    StepOp op;
    uint64_t value[3];
} ArrayStep;

typedef enum {
    TAMPER_OLD,     /* drive: with the contents of an earlier time */
    TAMPER_OTHER,   /* drive: one of another array in its place */
    TAMPER_ORDER,   /* named in another order */
    TAMPER_TWICE,
    TAMPER_MISSING,
    TAMPER_SIZE,    /* drive: larger or smaller */
    TAMPER_LABEL,   /* byte of a label */
    TAMPER_RUN,     /* byte of what it says of runs */
    TAMPER_FORGED,  /* number in all labels is 0, and the sums are right */
    TAMPER_KEEP_CUT, /* at any byte */
    TAMPER_KEEP_OTHER, /* of another array */
    TAMPER_KEEP_LATER, /* than all drives, which are put back together */
    TAMPER_KEEP_HISTORY, /* and have run again, to the cache's run or beyond */
    TAMPER_HISTORY, /* drive: not put back, as all others, which ran again */
    TAMPER__COUNT
} Tamper;

typedef struct {
    uint64_t seed;   /* of the order in which things end */
    uint64_t drives, stripes; /* striping units of a drive */
    uint64_t keep;   /* where the server keeps its cache when nothing says so */
    GPtrArray *keys; /* "key=value" */
    GArray *steps;   /* ArrayStep */
} ArrayScenario;

ArrayScenario *array_scenario_draw(uint64_t number);
ArrayScenario *array_scenario_copy(const ArrayScenario *s);
void array_scenario_free(ArrayScenario *s);
/* As a file; g_free() it. */
char *array_scenario_text(const ArrayScenario *s);
/* NULL: error is one line. */
ArrayScenario *array_scenario_parse(const char *text, char **error);
/* A key's value, or its default. */
uint64_t array_scenario_key(const ArrayScenario *s, const char *name);
/* Keys joined, with those of the layout or without; g_free() it. */
char *array_scenario_keys(const ArrayScenario *s, bool layout);

#endif /* HUNT_ARRAY_SCENARIO_H */
