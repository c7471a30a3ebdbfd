/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "options.h"
#include "../scarp.h"

#include <glib/gstdio.h>
#include <string.h>

static bool is_same_file(const char *one, const char *two)
{
    g_autofree char *whole_one = g_canonicalize_filename(one, NULL);
    g_autofree char *whole_two = g_canonicalize_filename(two, NULL);
    GStatBuf x, y;

    if (g_stat(one, &x) || g_stat(two, &y)) {
        return !strcmp(whole_one, whole_two);
    }
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool options_apart(const OptionFile *files, size_t n, GError **error)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            const OptionFile *out = &files[i], *other = &files[k];

            if (k != i && out->written && out->path && other->path &&
                strcmp(out->path, "-") && strcmp(other->path, "-") &&
                is_same_file(out->path, other->path)) {
                g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                            "%s=%s: is also %s; must be another file",
                            out->name, out->path, other->name);
                return false;
            }
        }
    }
    return true;
}

bool options_in_range(const OptionRange *ranges, size_t n, GError **error)
{
    for (size_t i = 0; i < n; i++) {
        const OptionRange *r = &ranges[i];

        if (*r->value < r->min || *r->value > r->max) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "--%s=%" G_GINT64_FORMAT ": must be from %"
                        G_GINT64_FORMAT " to %" G_GINT64_FORMAT, r->name,
                        *r->value, r->min, r->max);
            return false;
        }
    }
    return true;
}

bool option_one_of(const char *name, const char *value,
                   const char *const *names, uint32_t n, uint32_t *index,
                   GError **error)
{
    g_autoptr(GString) allowed = g_string_new(NULL);

    for (*index = 0; *index < n; (*index)++) {
        if (!strcmp(value, names[*index])) {
            return true;
        }
        g_string_append_printf(allowed, "%s %s", *index ? "," : "",
                               names[*index]);
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "--%s=%s: allowed:%s",
                name, value, allowed->str);
    return false;
}
