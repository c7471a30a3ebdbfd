/*
 * Reads the log of changes, and makes the changes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "changes.h"

#include <string.h>

#define CHANGES_HEAD "time_ns,next_command,change,scheme,params"

enum { COLUMN_TIME, COLUMN_COMMAND, COLUMN_CHANGE, COLUMN_SCHEME, COLUMN_PARAMS,
       COLUMNS };

static void clear_change(gpointer change)
{
    g_free(((Change *)change)->scheme);
    g_free(((Change *)change)->params);
}

/* Parses the columns that say what was changed. */
static bool parse_kind(char **column, Change *change)
{
    static const char *const names[CHANGE__COUNT] = {
        [CHANGE_SCHEME] = "scheme",
        [CHANGE_CLOSE_UNITS] = "close_units",
        [CHANGE_POWER_CUT] = "power_cut",
        [CHANGE_SANITIZE] = "sanitize",
    };
    const char *what = column[COLUMN_SCHEME], *params = column[COLUMN_PARAMS];
    uint64_t stream;

    while (change->kind < CHANGE__COUNT &&
           strcmp(column[COLUMN_CHANGE], names[change->kind])) {
        change->kind++;
    }
    switch (change->kind) {
    case CHANGE_SCHEME:
        change->scheme = g_strdup(what);
        change->params = *params ? g_strdelimit(g_strdup(params), ";", ',')
                                 : NULL;
        return *what;
    case CHANGE_CLOSE_UNITS:
        if (!g_ascii_string_to_unsigned(what, 10, 0, UINT16_MAX, &stream,
                                        NULL)) {
            return false;
        }
        change->stream = (uint16_t)stream;
        return true;
    default:
        return change->kind < CHANGE__COUNT;
    }
}

/*
 * Parses the columns of a line into *change. Returns false if they describe no
 * change; *change must be cleared even then.
 */
static bool parse(char **column, Change *change)
{
    uint64_t time_ns;

    *change = (Change) { .next_command = CHANGE_AFTER_ALL };
    if (!g_ascii_string_to_unsigned(column[COLUMN_TIME], 10, 0,
                                    SCARP_TIME_LAST, &time_ns, NULL) ||
        (*column[COLUMN_COMMAND] &&
         !g_ascii_string_to_unsigned(column[COLUMN_COMMAND], 10, 0,
                                     CHANGE_AFTER_ALL - 1,
                                     &change->next_command, NULL))) {
        return false;
    }
    change->time_ns = time_ns;
    return parse_kind(column, change);
}

static bool add_line(GArray *changes, const char *line)
{
    g_auto(GStrv) column = g_strsplit(line, ",", -1);
    Change change;

    if (g_strv_length(column) != COLUMNS) {
        return false;
    }
    if (!parse(column, &change)) {
        clear_change(&change);
        return false;
    }
    g_array_append_val(changes, change);
    return changes->len == 1 ||
           g_array_index(changes, Change, changes->len - 2).time_ns <=
               change.time_ns;
}

GArray *changes_read(const char *path, GError **error)
{
    g_autoptr(GArray) changes = g_array_new(false, false, sizeof(Change));
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    GError *problem = NULL;

    g_array_set_clear_func(changes, clear_change);
    if (!g_file_get_contents(path, &text, NULL, &problem)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE, "%s",
                    problem->message);
        g_error_free(problem);
        return NULL;
    }
    lines = g_strsplit(text, "\n", -1);
    if (!*lines || strcmp(*lines, CHANGES_HEAD)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "%s: no log of changes: its head is not '" CHANGES_HEAD
                    "'", path);
        return NULL;
    }
    for (guint i = 1; lines[i]; i++) {
        if (*lines[i] && !add_line(changes, lines[i])) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                        "%s:%u: no change of a scheme, or not in the order of "
                        "the times", path, i + 1);
            return NULL;
        }
    }
    return g_steal_pointer(&changes);
}

bool change_is_due(const Change *change, uint64_t sent, int64_t event_ns,
                   int64_t next_ns)
{
    return event_ns > change->time_ns &&
           (next_ns > change->time_ns ||
            (next_ns == change->time_ns && sent >= change->next_command));
}

bool change_fits(const Change *change, uint64_t sent, const ScarpDrive *drive,
                 GError **error)
{
    int64_t now_ns = scarp_now_ns(drive);

    if (now_ns > change->time_ns) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "--changes: a change at %" G_GINT64_FORMAT " ns, and the "
                    "drive's clock is at %" G_GINT64_FORMAT " ns by then: the "
                    "log is of another run", change->time_ns, now_ns);
        return false;
    }
    if (change->next_command != CHANGE_AFTER_ALL &&
        sent != change->next_command) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "--changes: a change at %" G_GINT64_FORMAT " ns, before "
                    "command %" G_GUINT64_FORMAT ": here %" G_GUINT64_FORMAT
                    " commands have come by then; the log is of another run",
                    change->time_ns, change->next_command, sent);
        return false;
    }
    return true;
}

const char *change_end(const Change *change)
{
    return change->kind == CHANGE_SANITIZE    ? "drive was sanitized"
           : change->kind == CHANGE_POWER_CUT ? "power was cut" : NULL;
}

static bool close_units(const Change *change, ScarpDrive *drive, GError **error)
{
    if (!scarp_unit_stats(drive) ||
        change->stream >= scarp_drive_streams(drive)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "--changes: reclaim units of stream %u are closed at %"
                    G_GINT64_FORMAT " ns: the drive has no such units "
                    "(ftl.reclaim_planes, ftl.streams)", change->stream,
                    change->time_ns);
        return false;
    }
    scarp_run(drive, change->time_ns);
    scarp_close_units(drive, change->stream);
    return true;
}

bool change_make(const Change *change, ScarpDrive *drive, GError **error)
{
    switch (change->kind) {
    case CHANGE_SCHEME:
        scarp_run(drive, change->time_ns);
        return scarp_drive_set_scheme(drive, change->scheme, change->params,
                                      error);
    case CHANGE_CLOSE_UNITS:
        return close_units(change, drive, error);
    default:
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "the %s at %" G_GINT64_FORMAT " ns: the log does not tell "
                    "how the drive went on", change_end(change),
                    change->time_ns);
        return false;
    }
}
