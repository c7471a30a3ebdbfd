/*
 * The survey is the first repetition of a recorded run. The survey checks that
 * the run goes as recorded, and lists the collections of each die. For each
 * command that the user asks about, it finds the die that the command waited
 * for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_WHY_SURVEY_H
#define SCARP_WHY_SURVEY_H

#include "rerun/rerun.h"

#define WHY_NOWHERE UINT32_MAX

/*
 * A chain is a row of collections of one die, each of which began before the
 * earlier collections of the chain had ended, or at their end.
 */
typedef struct {
    int64_t begin_ns, end_ns;
    uint32_t die, n_runs;
    uint32_t moved_units;
} WhyChain;

/* A command that the user asks about. */
typedef struct {
    guint row;
    uint32_t die;  /* die that the command waited for; WHY_NOWHERE: none */
    int chain;     /* index in WhySurvey.chains; -1: waited behind no chain */
} WhyAsked;

typedef struct {
    GArray *asked;  /* WhyAsked */
    GArray *chains; /* WhyChain, by die, then by time */
    guint *by_end;  /* rows in the order of completion */
    uint32_t most_in_flight; /* most commands under way at one time */
    int64_t end_ns; /* time of the last completion */
} WhySurvey;

/*
 * Repeats the whole run on the drive of `config`, and fills *survey, which
 * why_survey_clear() frees. `rows` (guint) are the commands that the user asks
 * about. Returns false, with *error set and *survey empty, if the drive does
 * not repeat the recorded run.
 */
bool why_survey(WhySurvey *survey, const RerunRecord *record,
                const ScarpConfig *config, const GArray *rows, GError **error);
void why_survey_clear(WhySurvey *survey);

#endif /* SCARP_WHY_SURVEY_H */
