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

/* A file that is named, as "--json"; path NULL and "-" are none. */
typedef struct {
    const char *name, *path;
    bool written; /* from its beginning: what was in it is lost */
} OptionFile;

/*
 * False and *error set: one that is written is also another's, by whatever
 * name.  What is no regular file, such as /dev/null, may be both.
 */
bool options_apart(const OptionFile *files, size_t n, GError **error);
/* False and *error set: the first whose value is outside its range. */
bool options_in_range(const OptionRange *ranges, size_t n, GError **error);
/* *index is the value's among n names; false and *error set: it is none. */
bool option_one_of(const char *name, const char *value,
                   const char *const *names, uint32_t n, uint32_t *index,
                   GError **error);

#endif /* REPLAY_OPTIONS_H */
