/*
 * Episodes: the commands asked for, by the chains of collections that they were
 * behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_WHY_EPISODES_H
#define SCARP_WHY_EPISODES_H

#include "why/branch.h"

/*
 * Returns the rows of the n commands that took longest, of those that the guest
 * saw end and that were submitted from from_ns to to_ns: these first.
 */
GArray *why_slowest(const RerunRecord *record, guint n, int64_t from_ns,
                    int64_t to_ns);
/*
 * Returns the rows of these orders of submission. False and *error set: one is
 * not there, or never ended in the guest.
 */
GArray *why_numbered(const RerunRecord *record, char **orders, GError **error);

/*
 * Returns an array of WhyEpisode, in the order of their instants. at_ns: the
 * instant of all; SCARP_TIME_NEVER: a nanosecond before each chain begins, or
 * before the command. NULL and *error set: at_ns comes too late for one.
 */
GArray *why_episodes(const WhySurvey *survey, const RerunRecord *record,
                     int64_t at_ns, GError **error);

/* Writes a line of JSON: what happened in fact. */
void why_tell_episode(const WhyEpisode *episode, const WhySurvey *survey,
                      const RerunRecord *record, FILE *out);

#endif /* SCARP_WHY_EPISODES_H */
