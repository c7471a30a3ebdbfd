/*
 * Power cuts, counted by the kind of drive that had them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "kinds.h"
#include "schemes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *kind_of_drive(const Run *r)
{
    const char *scheme = scarp_drive_scheme(r->drive);
    const char *cache = !host_is_set(r, "controller.buffer_bytes") ? "off"
                        : host_is_set(r, "controller.plp_bytes")   ? "PLP"
                                                                   : "on";
    const char *reads = host_is_set(r, "ftl.checkpoint_pages") ? "checkpoint"
                        : cut_deallocates(r->s)                ? "records"
                                                               : "scan";

    return g_strdup_printf("%s %s %s %s %s", scenario_mapping(r->s),
                           schemes_choice(scheme, "pacing"),
                           schemes_choice(scheme, "relocation placement"),
                           cache, reads);
}

void kinds_count(CutKind *kinds, const char *name, uint64_t cuts)
{
    guint at = g_str_hash(name) % MOST_CUT_KINDS;

    while (*kinds[at].name && strcmp(kinds[at].name, name)) {
        at = (at + 1) % MOST_CUT_KINDS;
    }
    g_strlcpy(kinds[at].name, name, sizeof(kinds[at].name));
    kinds[at].cuts += cuts;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const CutKind *)a)->name, ((const CutKind *)b)->name);
}

void kinds_tell(const CutKind *kinds, bool all)
{
    g_autofree CutKind *sorted = g_memdup2(kinds,
                                           MOST_CUT_KINDS * sizeof(*kinds));
    const CutKind *fewest = NULL;
    uint64_t cuts = 0, n = 0;

    qsort(sorted, MOST_CUT_KINDS, sizeof(*sorted), by_name);
    for (unsigned i = 0; i < MOST_CUT_KINDS; i++) {
        const CutKind *kind = &sorted[i];

        if (!*kind->name) {
            continue;
        }
        n++;
        cuts += kind->cuts;
        if (!fewest || kind->cuts < fewest->cuts) {
            fewest = kind;
        }
        if (all) {
            printf("# cuts: %s: %" G_GUINT64_FORMAT "\n", kind->name,
                   kind->cuts);
        }
    }
    if (n) {
        printf("# %" G_GUINT64_FORMAT " cuts were judged, of %" G_GUINT64_FORMAT
               " kinds of drives; the fewest, %" G_GUINT64_FORMAT ", of '%s'\n",
               cuts, n, fewest->cuts, fewest->name);
    }
}
