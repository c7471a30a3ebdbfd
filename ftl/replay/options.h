/*
 * Checks of option values, with their error lines, for the replayer and
 * guest/array/sim.
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

/*
 * A file that an option names, such as "--json". There is no file if `path` is
 * NULL or "-".
 */
typedef struct {
    const char *name, *path;
    bool written; /* the option's file is written, not read */
} OptionFile;

/*
 * Returns false, with *error set, if a file that is written is also the file of
 * another option, even under another name. Files that are not regular, such as
 * /dev/null, may be used twice.
 */
bool options_apart(const OptionFile *files, size_t n, GError **error);
/*
 * Returns false if a value is outside its range. *error then names the first
 * such value.
 */
bool options_in_range(const OptionRange *ranges, size_t n, GError **error);
/*
 * Sets *index to the place of `value` among n names. Returns false, with *error
 * set, if `value` is none of the names.
 */
bool option_one_of(const char *name, const char *value,
                   const char *const *names, uint32_t n, uint32_t *index,
                   GError **error);

#endif /* REPLAY_OPTIONS_H */
