/*
 * What a hunt has to say of itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_TELL_H
#define HUNT_TELL_H

#include "child.h"

/*
 * Scenarios, drives, commands, rates, power cuts (of each kind of drives), and
 * the marks that were not met (or all of them).  False: a long hunt did not meet one.
 */
bool tell_sums(const Report *reports, unsigned jobs, double wall_s,
               bool all_marks, bool all_kinds);

#endif /* HUNT_TELL_H */
