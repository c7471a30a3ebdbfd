/*
 * Episodes group the commands asked about by the chains of collections that
 * these commands waited behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_WHY_EPISODES_H
#define SCARP_WHY_EPISODES_H

#include "why/branch.h"

/*
 * Returns the rows (guint) of the n commands that took longest, the slowest
 * first. Only commands count whose completion the guest saw, and which were
 * submitted from from_ns to to_ns. The caller frees the array.
 */
GArray *why_slowest(const RerunRecord *record, guint n, int64_t from_ns,
                    int64_t to_ns);
/*
 * Returns the rows (guint) of the commands whose numbers of submission are in
 * `orders`. Returns NULL, with *error set, if a number names no command, names
 * a command whose completion the guest did not see, or is given twice.
 */
GArray *why_numbered(const RerunRecord *record, char **orders, GError **error);

/*
 * Returns an array of WhyEpisode, in the order of their instants. at_ns is the
 * instant of all episodes. If at_ns is SCARP_TIME_NEVER, the instant of an
 * episode is a nanosecond before its chain begins, or, without a chain, before
 * its command is submitted. There are at most `most` episodes (0: no limit).
 * Commands of further episodes are left out. Returns NULL, with *error set, if
 * a command had ended at at_ns or before.
 */
GArray *why_episodes(const WhySurvey *survey, const RerunRecord *record,
                     int64_t at_ns, guint most, GError **error);

/* Writes a line of JSON about the episode in the recorded run. */
void why_tell_episode(const WhyEpisode *episode, const WhySurvey *survey,
                      const RerunRecord *record, FILE *out);

#endif /* SCARP_WHY_EPISODES_H */
