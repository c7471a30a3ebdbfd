/*
 * The first repetition of a run: checks that it goes as recorded, and lists the
 * collections of each die. For each command that the user asks about, finds the
 * die that the command waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_WHY_SURVEY_H
#define SCARP_WHY_SURVEY_H

#include "rerun/rerun.h"

#define WHY_NOWHERE UINT32_MAX

/*
 * A chain: collections of one die, each begun no later than the one before had
 * ended.
 */
typedef struct {
    int64_t begin_ns, end_ns;
    uint32_t die, n_runs;
    uint32_t moved_units;
} WhyChain;

/* A command that the user asks about. */
typedef struct {
    guint row;
    uint32_t die;  /* the die that it waited for; WHY_NOWHERE: none */
    int chain;     /* in WhySurvey.chains; -1: behind none */
} WhyAsked;

typedef struct {
    GArray *asked;  /* WhyAsked */
    GArray *chains; /* WhyChain, by die, then by time */
    guint *by_end;  /* the rows in the order of completion */
    uint32_t most_in_flight;
    int64_t end_ns; /* the last completion */
} WhySurvey;

/*
 * Repeats the whole run on the drive of config. rows: the commands asked for.
 * False, with *error set: it is not the recorded run.
 */
bool why_survey(WhySurvey *survey, const RerunRecord *record,
                const ScarpConfig *config, const GArray *rows, GError **error);
void why_survey_clear(WhySurvey *survey);

#endif /* SCARP_WHY_SURVEY_H */
