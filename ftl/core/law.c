/*
 * Makes the error message for a law (an invariant of the engine) that does not
 * hold.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/ops.h"

bool scarp_law_differs(GError **error, const char *what, uint64_t where,
                       uint64_t is, uint64_t should)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "%s %" G_GUINT64_FORMAT ": is %" G_GUINT64_FORMAT
                ", should be %" G_GUINT64_FORMAT, what, where, is, should);
    return false;
}
