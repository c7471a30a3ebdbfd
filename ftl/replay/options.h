/*
 * Checks of option values, and their error lines, that the replayer and
 * guest/array/sim share.
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

/* A file that an option names, such as "--json"; path NULL and "-" are none. */
typedef struct {
    const char *name, *path;
    bool written; /* true: its old contents are lost */
} OptionFile;

/*
 * False and *error set: a written file is also another option's, by whatever
 * name. Files that are not regular, such as /dev/null, may be both.
 */
bool options_apart(const OptionFile *files, size_t n, GError **error);
/* False and *error set: the first value outside its range. */
bool options_in_range(const OptionRange *ranges, size_t n, GError **error);
/*
 * Sets *index to the value's among n names; false and *error set: it is none of
 * them.
 */
bool option_one_of(const char *name, const char *value,
                   const char *const *names, uint32_t n, uint32_t *index,
                   GError **error);

#endif /* REPLAY_OPTIONS_H */
