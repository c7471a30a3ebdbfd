/*
 * The schemes that the engine has, as it tells of them itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_SCHEMES_H
#define HUNT_SCHEMES_H

#include "draw.h"

/* A scheme and its parameters (g_free() both; params may be NULL). */
void schemes_draw(Draw *draw, char **scheme, char **params);
/* Only parameters, of that scheme. */
char *schemes_draw_params(Draw *draw, const char *scheme);
/* A mapping: what ftl.mapping may say. */
const char *schemes_draw_mapping(Draw *draw);
/*
 * All parameters that are times, of those choices, times k, and the others as
 * they are.  NULL: one of them is not to be seen from outside.
 */
char *schemes_times(const char *scheme, const char *params, uint64_t k);
/* The sum of the times that a scheme's parameters name. */
int64_t schemes_waits_ns(const char *scheme, const char *params);
/*
 * How often each command before another may become one that goes first, by the
 * parameters that count commands: 1: not at all.
 */
uint64_t schemes_passes(const char *scheme, const char *params);
/* Of choices joined by '+' the first that does not exist, or NULL; g_free(). */
char *schemes_unknown(const char *scheme);
/* Of choices joined by '+' the one on that axis, or what is without one. */
const char *schemes_choice(const char *scheme, const char *axis);
/* Whether a word of text is the name of a choice, or of a parameter. */
bool schemes_named(const char *text);

#endif /* HUNT_SCHEMES_H */
