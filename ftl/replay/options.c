/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "options.h"
#include "../scarp.h"

#include <string.h>

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
