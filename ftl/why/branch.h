/*
 * Branches. A branch is the run from an instant on, with another scheme,
 * without collections, or with a larger buffer. Each branch runs in a process
 * of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_WHY_BRANCH_H
#define SCARP_WHY_BRANCH_H

#include "why/survey.h"

typedef enum {
    WHY_CONTROL, /* nothing changes: repeats the recorded run */
    WHY_UNDER,   /* another scheme */
    /* no collection begins by itself until the commands asked about end */
    WHY_WITHOUT,
    WHY_WITH,    /* a larger write buffer */
} WhyKind;

typedef struct {
    WhyKind kind;
    const char *text;   /* as the user asked for it */
    const char *scheme; /* WHY_UNDER */
    const char *params; /* WHY_UNDER, or NULL */
    uint64_t bytes;     /* WHY_WITH */
} WhyBranch;

/*
 * An episode is the commands that waited behind one chain of collections, or a
 * single command. Each branch shows how its change affects all of these
 * commands.
 */
typedef struct {
    guint number;       /* from 1 on */
    int chain;          /* index in WhySurvey.chains; -1: none */
    GArray *asked;      /* WhyAsked: the commands of the episode */
    /* the instant from which on branches differ from the run */
    int64_t at_ns;
    int64_t until_ns;   /* end of the window in which commands are compared */
} WhyEpisode;

/* The survey, which all branches share, and the places for their outputs. */
typedef struct {
    const WhySurvey *survey;
    const char *logs;  /* folder for the branches' logs, or NULL */
    const char *trace; /* start of the paths of timelines, or NULL */
    bool strips;       /* true: each line has a strip of the episode's die */
} WhyHow;

/*
 * Continues the run, which is at the episode's instant, and writes a line of
 * JSON about the branch. docs/why.md describes the members of the line. The
 * branch's files have `number` in their names. If the branch fails, the line's
 * member "error" has the reason.
 */
void why_branch(Rerun *run, const WhyEpisode *episode, const WhyBranch *branch,
                const WhyHow *how, guint number, FILE *out);

const char *why_kind_name(WhyKind kind);

#endif /* SCARP_WHY_BRANCH_H */
