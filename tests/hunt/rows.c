/*
 * What commands met, and whether others have met the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rows.h"
#include "fail.h"

bool rows_same(const GArray *is, const GArray *should, uint32_t first,
               int64_t k, uint32_t missing, const char *what, GError **error)
{
    const Row *last = missing < should->len
                          ? &g_array_index(should, Row, missing) : NULL;

    for (guint i = first; i < MIN(is->len, missing); i++) {
        const Row *a = &g_array_index(is, Row, i);
        const Row *b = i < should->len ? &g_array_index(should, Row, i) : NULL;

        if (a->lost || (b && b->lost)) {
            continue; /* the other one may have gone on without the cut */
        }
        if (last && (b->drive > last->drive ||
                     (b->drive == last->drive &&
                      b->submit_ns + b->latency_ns >= last->submit_ns))) {
            continue;
        }
        if (!b || a->submit_ns != b->submit_ns * k ||
            a->latency_ns != b->latency_ns * k) {
            return fail(error, "%s: command %u comes at %" G_GINT64_FORMAT
                        " ns and takes %" G_GINT64_FORMAT " ns, should be %"
                        G_GINT64_FORMAT " and %" G_GINT64_FORMAT, what, i,
                        a->submit_ns, a->latency_ns, b ? b->submit_ns * k : -1,
                        b ? b->latency_ns * k : -1);
        }
        for (int c = 0; c < SCARP_CAUSE__ALL; c++) {
            if (a->cause_ns[c] != b->cause_ns[c] * k) {
                return fail(error, "%s: command %u has %" G_GINT64_FORMAT
                            " ns of %s, should be %" G_GINT64_FORMAT, what, i,
                            a->cause_ns[c], scarp_cause_name(c),
                            b->cause_ns[c] * k);
            }
        }
    }
    return missing < UINT32_MAX || is->len == should->len ||
           fail(error, "%s: %u commands, should be %u", what, is->len,
                should->len);
}
