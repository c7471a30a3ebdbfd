/*
 * How long a drive takes to get ready after its power has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ready.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool get_ready(ScarpDrive *drive, GError **error)
{
    while (!scarp_is_ready(drive)) {
        int64_t next_ns = scarp_next_event_ns(drive);

        if (next_ns == SCARP_TIME_NEVER) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "stuck: it does not get ready after a power cut");
            return false;
        }
        scarp_run(drive, next_ns);
    }
    return true;
}

static bool write_report(const ScarpDrive *drive, bool is_clean,
                         const ScarpStats *before, int64_t ready_ns,
                         const char *path, GError **error)
{
    const ScarpStats *after = scarp_stats(drive);
    bool file = strcmp(path, "-");
    FILE *out = file ? fopen(path, "w") : stdout;

    if (out) {
        fprintf(out, "{\"shut_down\": %s, \"ready_ns\": %" G_GINT64_FORMAT
                ", \"bound_ns\": %" G_GINT64_FORMAT ", \"page_reads\": %"
                G_GUINT64_FORMAT ", \"page_programs\": %" G_GUINT64_FORMAT
                "}\n", is_clean ? "true" : "false", ready_ns,
                scarp_recovery_bound_ns(drive),
                after->recovery_page_reads - before->recovery_page_reads,
                after->recovery_page_programs -
                    before->recovery_page_programs);
    }
    if (!out || ferror(out) || (file ? fclose(out) : fflush(out))) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "--power-cut=%s: %s",
                    path, g_strerror(errno));
        return false;
    }
    return true;
}

bool ready_report(ScarpDrive **drive, bool is_clean, const char *path,
                  GError **error)
{
    ScarpStats before;
    ScarpDrive *up;
    int64_t failed_ns;

    if (is_clean && !scarp_shut_down(*drive, error)) {
        return false;
    }
    before = *scarp_stats(*drive);
    failed_ns = scarp_now_ns(*drive);
    up = scarp_power_cut(*drive, error);
    if (!up) {
        return false;
    }
    *drive = up;
    return get_ready(up, error) &&
           write_report(up, is_clean, &before, scarp_now_ns(up) - failed_ns,
                        path, error);
}
