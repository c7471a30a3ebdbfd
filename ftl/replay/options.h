/*
 * Values of options: the checks, and the one line each says, that the
 * replayer and guest/array/sim have in common
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *name;
    const int64_t *value;
    int64_t min, max;
} OptionRange;

/* False and *error set: the first whose value is outside its range. */
bool options_in_range(const OptionRange *ranges, size_t n, GError **error);
/* *index is the value's among n names; false and *error set: it is none. */
bool option_one_of(const char *name, const char *value,
                   const char *const *names, uint32_t n, uint32_t *index,
                   GError **error);

#endif /* REPLAY_OPTIONS_H */
