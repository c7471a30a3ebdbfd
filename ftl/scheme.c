/*
 * Schemes: a choice on each axis, by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

static const ScarpScheme schemes[] = {
    { "baseline", "greedy, blocking garbage collection", &scarp_hil_fifo,
      &scarp_victim_greedy, &scarp_pacing_blocking },
    { "ideal", "garbage collection that costs no time", &scarp_hil_fifo,
      &scarp_victim_greedy, &scarp_pacing_ideal },
};

const ScarpScheme *scarp_scheme_find(const char *name, GError **error)
{
    g_autoptr(GString) allowed = g_string_new(NULL);

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        if (!g_strcmp0(schemes[i].name, name)) {
            return &schemes[i];
        }
        g_string_append_printf(allowed, "%s%s", i ? ", " : "", schemes[i].name);
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_KEY,
                "scheme=%s: unknown; allowed: %s", name ? name : "",
                allowed->str);
    return NULL;
}
